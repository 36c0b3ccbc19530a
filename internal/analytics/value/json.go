package value

import (
	"encoding/json"
	"time"
	"unicode/utf8"
)

// AppendJSON appends a value as JSON. Numbers keep every digit. Values without a JSON form are
// strings: NaN, Infinity, dates, times, intervals, bytes.
func (v *Value) AppendJSON(dst []byte, loc *time.Location) []byte {
	switch v.Kind {
	case Null:
		return append(dst, "null"...)
	case Text:
		return AppendString(dst, v.Text)
	case Float:
		if v.Odd() {
			break
		}
		return v.AppendText(dst, loc)
	case Bool, Integer, Exact:
		return v.AppendText(dst, loc)
	case Document:
		if !json.Valid([]byte(v.Text)) { // impossible in our own columns
			return AppendString(dst, v.Text)
		}
		return append(dst, v.Text...)
	case Bytes:
		return AppendString(dst, string(v.AppendText(nil, loc)))
	case List:
		dst = append(dst, '[')
		for i := range v.Nest.Values {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = v.Nest.Values[i].AppendJSON(dst, loc)
		}
		return append(dst, ']')
	case Struct, Map:
		return v.appendObject(dst, loc)
	}
	return append(v.AppendText(append(dst, '"'), loc), '"') // without characters to escape
}

// appendObject writes an object; the names in a Map are its keys' text.
func (v *Value) appendObject(dst []byte, loc *time.Location) []byte {
	dst = append(dst, '{')
	for i := range v.Nest.Values {
		if i > 0 {
			dst = append(dst, ',')
		}
		if v.Kind == Map {
			dst = AppendString(dst, string(v.Nest.Keys[i].AppendText(nil, loc)))
		} else {
			dst = AppendString(dst, v.Nest.Names[i])
		}
		dst = v.Nest.Values[i].AppendJSON(append(dst, ':'), loc)
	}
	return append(dst, '}')
}

const hexDigits = "0123456789abcdef"

// AppendString appends s as a JSON string. Invalid UTF-8 becomes U+FFFD; only what JSON requires is escaped.
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
