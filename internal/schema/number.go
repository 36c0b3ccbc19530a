package schema

import (
	"time"

	"callhouse/internal/schema/decimal"
)

// Bounds of what the columns take. An instant outside of the years 1 to 9999
// would have no day to lie under, and DuckDB, which counts microseconds, could
// not read the file at all.
const (
	minInstant = -62135596800000 // 0001-01-01T00:00:00.000Z
	maxInstant = 253402300799999 // 9999-12-31T23:59:59.999Z
)

// integer returns the value of a JSON number's text, if it is an integer of 64
// bits.
func integer(text []byte) (int64, bool) {
	d, ok := decimal.Parse(text, 0)
	n, fits := d.Int64()
	return n, ok && fits
}

// plainInt returns the value of digits with at most a sign: the spelling in
// which nearly every integer comes, and which strconv gives back.
func plainInt(text []byte) (n int64, ok bool) {
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

// isJSONNumber says whether text is spelled as a JSON number.
func isJSONNumber(text []byte) bool {
	s := scanner{b: text}
	return s.number() && s.p == len(text)
}

// instant returns the time that text, the content of a string, names exactly:
// a count of milliseconds, or a date and time with its offset (RFC 3339).
func instant(text []byte) (ms int64, ok bool) {
	if isJSONNumber(text) {
		return integer(text)
	}
	if len(text) > len(time.RFC3339Nano) {
		return 0, false
	}
	t, err := time.Parse(time.RFC3339Nano, string(text))
	if err != nil || t.Nanosecond()%int(time.Millisecond) != 0 {
		return 0, false
	}
	return t.UnixMilli(), true
}
