package personal

import (
	"strings"

	"callhouse/internal/phone"
)

// isPhone reports whether digits are a number of the configured countries or, after 00, of any country.
func (f *Finder) isPhone(d string) bool {
	if strings.HasPrefix(d, "00") {
		return len(d) >= 11 && isNumber(d, "")
	}
	for _, c := range f.countries {
		if c == "US" && d[0] == '0' || c == "KR" && d[0] == '0' && !koreanArea(d) {
			continue
		}
		if national(d, c) {
			return true
		}
		if c == "KR" && len(d) >= 11 && strings.HasPrefix(d, "82") {
			if national("0"+strings.TrimPrefix(d[2:], "0"), c) {
				return true
			}
		}
	}
	return false
}

// national reports whether digits are a valid number of a country. The usual forms of Korean and
// American numbers are checked first.
func national(d, country string) bool {
	switch {
	case country == "KR" && len(d) == 11 && d[:3] == "010":
		return true
	case country == "US":
		n := strings.TrimPrefix(d, "1")
		if len(n) != 10 || n[0] < '2' || n[3] < '2' {
			return false
		}
		// The area and the next digit decide which numbers are in use, except on some islands.
		if isNumber(n[:4]+"345678", country) {
			return true
		}
	}
	return isNumber(d, country)
}

// koreanArea reports whether digits begin with the code of a Korean area, mobile network or
// service that people have: others in use, such as 012 of machines, look like any digits.
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

func isNumber(d, country string) bool {
	_, ok := phone.Normal(d, country)
	return ok
}
