package value

import (
	"time"
	"unicode/utf8"
)

func appendList(dst []byte, l []any, loc *time.Location) []byte {
	dst = append(dst, '[')
	for i, v := range l {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = AppendJSON(dst, v, loc)
	}
	return append(dst, ']')
}

func appendObject(dst []byte, names []string, values []any, loc *time.Location) []byte {
	dst = append(dst, '{')
	for i, v := range values {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = AppendString(dst, names[i])
		dst = append(dst, ':')
		dst = AppendJSON(dst, v, loc)
	}
	return append(dst, '}')
}

// appendMap writes an object with its keys as text.
func appendMap(dst []byte, m Map, loc *time.Location) []byte {
	names := make([]string, len(m.Keys))
	for i, k := range m.Keys {
		names[i] = string(AppendText(nil, k, loc))
	}
	return appendObject(dst, names, m.Values, loc)
}

const hexDigits = "0123456789abcdef"

// AppendString appends s as a JSON string. Invalid UTF-8 becomes U+FFFD; only what JSON requires is
// escaped.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				dst = append(append(dst, s[start:i]...), `\ufffd`...)
				start = i + 1
			}
			i += n
			continue
		}
		if c >= ' ' && c != '"' && c != '\\' && c != 0x7f {
			i++
			continue
		}
		dst = append(dst, s[start:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		start = i
	}
	return append(append(dst, s[start:]...), '"')
}
