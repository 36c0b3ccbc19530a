package personal

import (
	"regexp"
	"strconv"
	"strings"
	"time"
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

// isCard reports whether 14 or more digits are a payment card number: a known prefix, its length, Luhn.
func isCard(d string) bool {
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
	case n <= 19:
		ok = p2 == 62 // UnionPay
	}
	return ok && luhn(d)
}

// birth returns the date of six digits YYMMDD in a century, if it exists.
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

// noChecksum is the start of registration numbers without a checksum.
var noChecksum = time.Date(2020, 10, 1, 0, 0, 0, 0, time.UTC)

// isRRN reports whether 13 digits are a Korean registration number: of a resident or, with 5 to 8 in
// the seventh place, of a foreigner. sure means that its form or context identifies it, so that it
// is accepted without a checksum if it may have been issued since October 2020.
func isRRN(d string, sure bool) bool {
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

// isBusiness reports whether 10 digits are a Korean business registration number.
func isBusiness(d string) bool {
	if d[0] == '0' {
		return false
	}
	sum := 0
	for i, w := range "137137135" {
		sum += int(d[i]-'0') * int(w-'0')
	}
	sum += int(d[8]-'0') * 5 / 10
	return (10-sum%10)%10 == int(d[9]-'0')
}

// isSSN reports whether 9 digits may be a US social security number.
func isSSN(d string) bool {
	return d[:3] != "000" && d[:3] != "666" && d[0] != '9' && d[3:5] != "00" && d[5:] != "0000"
}

// isLicence reports whether 12 digits have the form of a Korean driving licence number.
func isLicence(d string) bool {
	region, _ := strconv.Atoi(d[:2])
	return region >= 11 && region <= 28
}

// ibanLength maps countries to the lengths of their IBANs.
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

// isIBAN reports whether upper-case letters and digits are an IBAN, by its country's length and mod
// 97.
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

// passportLength is the length of a Korean passport number.
const passportLength = 9

// passportRE matches words with the form of a Korean passport number: M12345678, or since 2021
// M123A4567.
var passportRE = regexp.MustCompile(`^[MSRGD]\d{3}[\dA-Z]\d{4}$`)

// isBirthday reports whether digits may be a date of birth: YYMMDD, YYYYMMDD, MMDDYYYY, DDMMYYYY and
// so on, given the lengths of their groups.
func isBirthday(d string, shape []int) bool {
	if len(shape) == 3 && max(shape[0], shape[1], shape[2]) <= 4 {
		a, b, c := d[:shape[0]], d[shape[0]:shape[0]+shape[1]], d[shape[0]+shape[1]:]
		switch {
		case len(a) == 4 && len(b) <= 2 && len(c) <= 2:
			return isDate(a, b, c)
		case len(a) <= 2 && len(b) <= 2 && (len(c) == 4 || len(c) == 2):
			if ok := isDate(c, a, b) || isDate(c, b, a); ok || len(a) < 2 {
				return ok
			}
		}
	}
	switch len(d) {
	case 6:
		return isDate(d[:2], d[2:4], d[4:]) || isDate(d[4:], d[:2], d[2:4]) || isDate(d[4:], d[2:4], d[:2])
	case 7: // 3 15 1992
		return isDate(d[3:], d[:1], d[1:3])
	case 8:
		return isDate(d[:4], d[4:6], d[6:]) || isDate(d[4:], d[:2], d[2:4]) || isDate(d[4:], d[2:4], d[:2])
	}
	return false
}

// isDate reports whether digits may be a date of birth.
func isDate(y, m, d string) bool {
	year, _ := strconv.Atoi(y)
	month, _ := strconv.Atoi(m)
	day, _ := strconv.Atoi(d)
	return isBorn(year, month, day, len(y) == 2)
}

// isBorn reports whether a day is a possible date of birth. short: the year lacks its century.
func isBorn(year, month, day int, short bool) bool {
	if short {
		if year += 1900; year < 1930 {
			year += 100
		}
	}
	_, ok := date(year, month, day)
	return ok && year >= 1900 && year <= 2040
}

// passportAt returns the end of the passport number that begins with a letter; 0 if there is none.
func passportAt(text string, at int) (end int) {
	end = at + 1
	for end < len(text) && end <= at+passportLength && isAlnum(text[end]) {
		end++
	}
	if end-at != passportLength || end < len(text) && text[end] == '_' || !passportRE.MatchString(strings.ToUpper(text[at:end])) {
		return 0
	}
	return end
}

// ibanAt returns the end of the IBAN that begins with two letters; 0 if there is none.
func ibanAt(text string, at int) (end int) {
	first := at + 2
	if first < len(text) && (text[first] == ' ' || text[first] == '-') {
		first++
	}
	if first >= len(text) || !isDigit(text[first]) {
		return 0
	}
	want := ibanLength[string([]byte{text[at] &^ 0x20, text[at+1] &^ 0x20})]
	if want == 0 || len(text)-at < want || at > 0 && (isAlnum(text[at-1]) || text[at-1] == '_') {
		return 0
	}
	var b [40]byte
	n, p := 0, at
	for p < len(text) && n < want {
		switch c := text[p]; {
		case isDigit(c):
			b[n] = c
			n++
		case isLetter(c):
			b[n] = c &^ 0x20
			n++
		case (c == ' ' || c == '-') && isAlnum(text[p-1]):
		default:
			return 0
		}
		p++
		if n == 4 && (!isDigit(b[2]) || !isDigit(b[3])) {
			return 0
		}
	}
	if n < want || p < len(text) && isAlnum(text[p]) || !isIBAN(string(b[:n])) {
		return 0
	}
	return p
}
