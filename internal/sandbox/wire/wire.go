// Package wire appends strings and numbers in the service's JSON.
package wire

import (
	"encoding/binary"
	"encoding/hex"
	"strconv"
)

// AppendEscaped writes s as the inside of a JSON string.
func AppendEscaped(dst []byte, s string) []byte {
	const digits = "0123456789abcdef"
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, '\\', 'n')
		case c == '\t':
			dst = append(dst, '\\', 't')
		case c < 0x20:
			dst = append(dst, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

// AppendString writes s as a JSON string.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	dst = AppendEscaped(dst, s)
	return append(dst, '"')
}

// AppendOptional writes s, or null for the empty string.
func AppendOptional(dst []byte, s string) []byte {
	if s == "" {
		return append(dst, "null"...)
	}
	return AppendString(dst, s)
}

// AppendTime writes a time in unix milliseconds, or null for zero.
func AppendTime(dst []byte, ms int64) []byte {
	if ms == 0 {
		return append(dst, "null"...)
	}
	return strconv.AppendInt(dst, ms, 10)
}

// AppendDecimal writes hundredths as a decimal number with two places.
func AppendDecimal(dst []byte, hundredths int64) []byte {
	dst = strconv.AppendInt(dst, hundredths/100, 10)
	return append(dst, '.', byte('0'+hundredths/10%10), byte('0'+hundredths%10))
}

// AppendHex writes n as 16 hexadecimal digits.
func AppendHex(dst []byte, n uint64) []byte {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], n)
	return hex.AppendEncode(dst, b[:])
}
