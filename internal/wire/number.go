package wire

import (
	"math"
	"strconv"
	"time"

	"callhouse/internal/schema"
	"callhouse/internal/schema/decimal"
	"callhouse/internal/wire/scan"
)

// integer returns the value of a JSON number's text if it is a 64-bit integer.
func integer(text []byte) (int64, bool) {
	d, ok := decimal.Parse(text, 0)
	n, fits := d.Int64()
	return n, ok && fits
}

// instant returns the exact time in text, the content of a string, and how it departs from a count
// of milliseconds: another count, or a date and time, in UTC if it has no zone. DriftMisfit means
// that it is none of these.
func instant(text []byte) (ms int64, kind DriftKind) {
	if scan.IsJSONNumber(text) {
		return count(text, DriftConverted)
	}
	if len(text) > len(time.RFC3339Nano) {
		return 0, DriftMisfit
	}
	for _, form := range [...]struct {
		layout string
		kind   DriftKind
	}{{time.RFC3339Nano, DriftConverted}, {"2006-01-02T15:04:05", DriftZone}, {time.DateTime, DriftZone}} {
		if t, err := time.Parse(form.layout, string(text)); err == nil && t.Nanosecond()%int(time.Millisecond) == 0 {
			return t.UnixMilli(), form.kind
		}
	}
	return 0, DriftMisfit
}

// count returns the milliseconds of a JSON number's text. A count that must be in another unit is
// converted to milliseconds, rounded down; a count of seconds may have decimals. kind is the drift
// of any other departure.
func count(text []byte, kind DriftKind) (ms int64, _ DriftKind) {
	if n, ok := integer(text); ok {
		if in, other := schema.InMillis(n); other {
			return in, DriftUnit
		}
		return n, kind
	}
	seconds, err := strconv.ParseFloat(string(text), 64)
	if in, other := schema.InMillis(int64(seconds)); err == nil && other && in == int64(seconds)*1000 {
		return int64(math.Round(seconds*1e6)) / 1000, DriftUnit
	}
	return 0, DriftMisfit
}
