package form

import "strings"

// PassportAt returns the end of the passport number that begins with a letter; 0 if there is none.
func PassportAt(text string, at int) (end int) {
	end = at + 1
	for end < len(text) && end <= at+passportLength && isAlnum(text[end]) {
		end++
	}
	if end-at != passportLength || end < len(text) && text[end] == '_' || !IsPassport(strings.ToUpper(text[at:end])) {
		return 0
	}
	return end
}

// IBANAt returns the end of the IBAN that begins with two letters; 0 if there is none.
func IBANAt(text string, at int) (end int) {
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
	if n < want || p < len(text) && isAlnum(text[p]) || !IsIBAN(string(b[:n])) {
		return 0
	}
	return p
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
func isAlnum(c byte) bool  { return isLetter(c) || isDigit(c) }
