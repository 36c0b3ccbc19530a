package sandbox

import "strconv"

// appendEscaped writes s as the inside of a JSON string.
func appendEscaped(dst []byte, s string) []byte {
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

func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	dst = appendEscaped(dst, s)
	return append(dst, '"')
}

// appendOptional writes s, or null for the empty string.
func appendOptional(dst []byte, s string) []byte {
	if s == "" {
		return append(dst, "null"...)
	}
	return appendString(dst, s)
}

// appendTime writes a time in unix milliseconds, or null for zero.
func appendTime(dst []byte, ms int64) []byte {
	if ms == 0 {
		return append(dst, "null"...)
	}
	return strconv.AppendInt(dst, ms, 10)
}

// appendDecimal writes hundredths as a decimal number with two places.
func appendDecimal(dst []byte, hundredths int64) []byte {
	dst = strconv.AppendInt(dst, hundredths/100, 10)
	return append(dst, '.', byte('0'+hundredths/10%10), byte('0'+hundredths%10))
}

// appendPadded writes n with leading zeros.
func appendPadded(dst []byte, n, width int) []byte {
	for p := pow10(width - 1); p > 0; p /= 10 {
		dst = append(dst, byte('0'+n/p%10))
	}
	return dst
}

func pow10(n int) int {
	p := 1
	for range n {
		p *= 10
	}
	return p
}

// appendHex writes n as 16 hexadecimal digits.
func appendHex(dst []byte, n uint64) []byte {
	const digits = "0123456789abcdef"
	for shift := 60; shift >= 0; shift -= 4 {
		dst = append(dst, digits[n>>shift&15])
	}
	return dst
}
