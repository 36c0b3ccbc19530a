package scan

// PlainInt returns the value of digits with an optional sign: the usual spelling of an integer,
// which strconv reproduces.
func PlainInt(text []byte) (n int64, ok bool) {
	d := text
	if d[0] == '-' {
		d = d[1:]
	}
	if len(d) > 18 || len(d) < len(text) && d[0] == '0' {
		return 0, false
	}
	for _, c := range d {
		if c -= '0'; c > 9 {
			return 0, false
		}
		n = n*10 + int64(c)
	}
	if len(d) < len(text) {
		n = -n
	}
	return n, true
}

// IsJSONNumber reports whether text is spelled as a JSON number.
func IsJSONNumber(text []byte) bool {
	s := Scanner{b: text}
	return s.number() && s.p == len(text)
}
