package personal

import (
	"strconv"
	"strings"
	"time"

	"callhouse/internal/phone"
)

// luhn reports whether the last digit is the check digit of the others (ISO/IEC 7812).
func luhn(d string) bool {
	sum := 0
	for i := range len(d) {
		n := int(d[len(d)-1-i] - '0')
		if i%2 == 1 {
			if n *= 2; n > 9 {
				n -= 9
			}
		}
		sum += n
	}
	return sum%10 == 0
}

// isCard reports whether digits are a payment card's: known prefix, its length, Luhn.
func isCard(d string) bool {
	if len(d) < 14 || len(d) > 19 {
		return false
	}
	p2, _ := strconv.Atoi(d[:2])
	p3, _ := strconv.Atoi(d[:3])
	p4, _ := strconv.Atoi(d[:4])
	var ok bool
	switch n := len(d); {
	case n == 14:
		ok = p2 == 36 || p2 == 38 || p2 == 39 || p3 >= 300 && p3 <= 305 // Diners Club
	case n == 15:
		ok = p2 == 34 || p2 == 37 // American Express
	case n == 16:
		ok = d[0] == '4' || p2 >= 51 && p2 <= 55 || p4 >= 2221 && p4 <= 2720 || // Visa, Mastercard
			p4 == 6011 || p2 == 65 || p3 >= 644 && p3 <= 649 || // Discover
			p4 >= 3528 && p4 <= 3589 || p2 == 62 || p2 == 94 // JCB, UnionPay, Korean domestic
	default:
		ok = p2 == 62 // UnionPay
	}
	return ok && luhn(d)
}

// birth returns the date of six digits YYMMDD in a century, if there is one.
func birth(d string, century int) (time.Time, bool) {
	y, _ := strconv.Atoi(d[:2])
	m, _ := strconv.Atoi(d[2:4])
	day, _ := strconv.Atoi(d[4:6])
	return date(century+y, m, day)
}

func date(y, m, d int) (time.Time, bool) {
	t := time.Date(y, time.Month(m), d, 0, 0, 0, 0, time.UTC)
	return t, m >= 1 && m <= 12 && d >= 1 && t.Day() == d
}

// noChecksum is when registration numbers began to be issued without a checksum.
var noChecksum = time.Date(2020, 10, 1, 0, 0, 0, 0, time.UTC)

// isRRN reports whether digits are a Korean registration number: of a resident or, from 5 to 8 in
// the seventh place, of a foreigner. sure says that its form or context shows what it is, so that
// one without a checksum is accepted if it may have been issued since October 2020.
func isRRN(d string, sure bool) bool {
	if len(d) != 13 {
		return false
	}
	century := 1900
	switch d[6] {
	case '3', '4', '7', '8':
		century = 2000
	case '9', '0':
		century = 1800
	}
	born, ok := birth(d, century)
	if !ok || century == 1800 || born.Year() < 1915 || born.Year() > 2040 {
		return false
	}
	sum := 0
	for i, w := range "234567892345" {
		sum += int(d[i]-'0') * int(w-'0')
	}
	check, foreign := (11-sum%11)%10, d[6] >= '5'
	if foreign {
		check = (check + 2) % 10
	}
	if int(d[12]-'0') == check {
		return sure || born.Year() >= 1930
	}
	return sure && (foreign || !born.Before(noChecksum))
}

// isBusiness reports whether digits are a Korean business registration number.
func isBusiness(d string) bool {
	if len(d) != 10 || d[0] == '0' {
		return false
	}
	sum := 0
	for i, w := range "137137135" {
		sum += int(d[i]-'0') * int(w-'0')
	}
	sum += int(d[8]-'0') * 5 / 10
	return (10-sum%10)%10 == int(d[9]-'0')
}

// isSSN reports whether digits may be a US social security number.
func isSSN(d string) bool {
	return len(d) == 9 && d[:3] != "000" && d[:3] != "666" && d[0] != '9' && d[3:5] != "00" && d[5:] != "0000"
}

// isLicence reports whether digits are in the form of a Korean driving licence's.
func isLicence(d string) bool {
	if len(d) != 12 {
		return false
	}
	region, _ := strconv.Atoi(d[:2])
	return region >= 11 && region <= 28
}

// ibanLength is the length of an IBAN by country.
var ibanLength = func() map[string]int {
	out := map[string]int{}
	for _, s := range strings.Fields("AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DK18 DO28 " +
		"EE20 EG29 ES24 FI18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 " +
		"LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MR27 MT31 MU30 NL18 NO15 PK24 PL28 PS29 PT25 QA29 RO24 RS22 SA24 SC31 SE24 " +
		"SI19 SK24 SM27 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20") {
		out[s[:2]], _ = strconv.Atoi(s[2:])
	}
	return out
}()

// isIBAN reports whether upper-case letters and digits are an IBAN: its country's length, mod 97.
func isIBAN(s string) bool {
	if len(s) < 5 || ibanLength[s[:2]] != len(s) {
		return false
	}
	rest := 0
	for i := range len(s) {
		switch c := s[(i+4)%len(s)]; {
		case c >= '0' && c <= '9':
			rest = (rest*10 + int(c-'0')) % 97
		case c >= 'A' && c <= 'Z':
			rest = (rest*100 + int(c-'A') + 10) % 97
		}
	}
	return rest == 1
}

// phoneNormal returns the E.164 form of digits if they are a number of the countries, or, with a
// plus, of any.
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

// national returns the E.164 form of digits if they are a valid number of a country. The usual forms
// of Korea and America are looked at first.
func (r *reader) national(d, country string) (string, bool) {
	switch {
	case country == "KR" && len(d) == 11 && d[:3] == "010":
		return "+82" + d[1:], true
	case country == "US":
		n := strings.TrimPrefix(d, "1")
		if len(n) != 10 || n[0] < '2' || n[3] < '2' {
			return "", false
		}
		// Which numbers are in use is decided by the area and the next digit, except on some islands.
		if _, ok := r.lookUp(n[:4]+"345678", country); ok {
			return "+1" + n, true
		}
	}
	return r.lookUp(d, country)
}

// mostPhones bounds the numbers that a reader remembers.
const mostPhones = 8192

// lookUp asks the library, which takes some microseconds, once for each number of a call: it is often
// in several places.
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

// koreanArea reports whether digits begin with an area code of Korea, or that of a mobile network or
// service. It is cheap, and most digits are no number.
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
