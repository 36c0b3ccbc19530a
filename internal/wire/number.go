package wire

import (
	"time"

	"callhouse/internal/schema/decimal"
	"callhouse/internal/wire/scan"
)

// integer returns the value of a JSON number's text, if it is an integer of 64
// bits.
func integer(text []byte) (int64, bool) {
	d, ok := decimal.Parse(text, 0)
	n, fits := d.Int64()
	return n, ok && fits
}

// instant returns the time that text, the content of a string, names exactly:
// a count of milliseconds, or a date and time with its offset (RFC 3339).
func instant(text []byte) (ms int64, ok bool) {
	if scan.IsJSONNumber(text) {
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
