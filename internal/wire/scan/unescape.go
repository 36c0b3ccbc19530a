package scan

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Escape measures the escape at the beginning of b: n bytes, 0 if there is none. half reports
// whether it is one half of a surrogate pair without the other.
func Escape(b []byte) (n int, half bool) {
	if len(b) < 2 {
		return 0, false
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2, false
	case 'u':
	default:
		return 0, false
	}
	r, ok := hex4(b)
	if !ok {
		return 0, false
	}
	if !utf16.IsSurrogate(r) {
		return 6, false
	}
	if low, ok := hex4(b[6:]); ok && utf16.DecodeRune(r, low) != utf8.RuneError {
		return 12, false
	}
	return 6, true
}

// hex4 returns the number in an escape of the form \uXXXX at b's beginning.
func hex4(b []byte) (r rune, ok bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	return rune(n), err == nil
}

// AppendUnescaped appends the text of a string, given between its quotes and
// already scanned. Each escaped half of a surrogate pair becomes U+FFFD.
func AppendUnescaped(dst, b []byte) []byte {
	for p := 0; p < len(b); {
		if b[p] != '\\' {
			from := p
			p = plain(b, p)
			dst = append(dst, b[from:p]...)
			continue
		}
		n, _ := Escape(b[p:])
		switch c := b[p+1]; c {
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		case 'u':
			r, _ := hex4(b[p:])
			if n == 12 {
				low, _ := hex4(b[p+6:])
				r = utf16.DecodeRune(r, low)
			}
			dst = utf8.AppendRune(dst, r)
		default:
			dst = append(dst, c)
		}
		p += n
	}
	return dst
}

// AppendWhole appends JSON text, already scanned, with every escaped half of a surrogate pair
// replaced by U+FFFD, so that any reader accepts it.
func AppendWhole(dst, b []byte) []byte {
	for p := 0; p < len(b); {
		if b[p] != '\\' {
			dst = append(dst, b[p])
			p++
			continue
		}
		n, half := Escape(b[p:])
		if half {
			dst = utf8.AppendRune(dst, utf8.RuneError)
		} else {
			dst = append(dst, b[p:p+n]...)
		}
		p += n
	}
	return dst
}

// Valid returns b with every invalid UTF-8 byte replaced by U+FFFD.
func Valid(b []byte) []byte { return []byte(string([]rune(string(b)))) }

// AppendString appends text as a JSON string. It escapes only where necessary.
func AppendString(dst, text []byte) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for p := 0; p < len(text); {
		from := p
		p = plain(text, p)
		dst = append(dst, text[from:p]...)
		if p == len(text) {
			break
		}
		switch c := text[p]; c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
		p++
	}
	return append(dst, '"')
}

// Comma appends a comma unless dst ends where a list or object begins.
func Comma(dst []byte, from int) []byte {
	if len(dst) == from {
		return dst
	}
	return append(dst, ',')
}

// AppendMember appends a member with a key as it was spelled, and a value.
func AppendMember(dst []byte, from int, key Value, raw []byte) []byte {
	dst = append(append(Comma(dst, from), key.Raw...), ':')
	return append(dst, raw...)
}
