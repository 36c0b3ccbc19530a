package personal

import (
	"strings"

	"callhouse/internal/phone"
)

// phoneNormal returns the E.164 form of digits that are a number of the configured countries or,
// with a plus, of any country.
func (r *reader) phoneNormal(d string, plus bool) (string, bool) {
	if plus {
		return r.lookUp("+"+d, "")
	}
	if strings.HasPrefix(d, "00") {
		if len(d) < 11 {
			return "", false
		}
		return r.lookUp(d, "")
	}
	for _, c := range r.f.countries {
		if c == "US" && d[0] == '0' || c == "KR" && d[0] == '0' && !koreanArea(d) {
			continue
		}
		if n, ok := r.national(d, c); ok {
			return n, true
		}
		if c == "KR" && len(d) >= 11 && strings.HasPrefix(d, "82") {
			if n, ok := r.national("0"+strings.TrimPrefix(d[2:], "0"), c); ok {
				return n, true
			}
		}
	}
	return "", false
}

// national returns the E.164 form of digits that are a valid number of a country. The usual forms
// of Korean and American numbers are checked first.
func (r *reader) national(d, country string) (string, bool) {
	switch {
	case country == "KR" && len(d) == 11 && d[:3] == "010":
		return "+82" + d[1:], true
	case country == "US":
		n := strings.TrimPrefix(d, "1")
		if len(n) != 10 || n[0] < '2' || n[3] < '2' {
			return "", false
		}
		// The area and the next digit decide which numbers are in use, except on some islands.
		if _, ok := r.lookUp(n[:4]+"345678", country); ok {
			return "+1" + n, true
		}
	}
	return r.lookUp(d, country)
}

// mostPhones is the maximum number of cached numbers of a reader.
const mostPhones = 8192

// lookUp uses the library, which takes some microseconds. It caches the results, since a number
// often occurs several times in a call.
func (r *reader) lookUp(d, country string) (string, bool) {
	key := [2]string{d, country}
	n, known := r.phones[key]
	if !known {
		n, _ = phone.Normal(d, country)
		if len(r.phones) >= mostPhones || r.phones == nil {
			r.phones = map[[2]string]string{}
		}
		r.phones[[2]string{strings.Clone(d), country}] = n
	}
	return n, n != ""
}

// koreanArea reports whether digits begin with the code of a Korean area, mobile network or
// service. It is cheap, and most digits are not a telephone number.
func koreanArea(d string) bool {
	switch d[1] {
	case '1':
		return strings.IndexByte("016789", d[2]) >= 0
	case '2', '3', '4', '5', '6':
		return true
	case '7', '8':
		return d[2] == '0'
	}
	return false
}
