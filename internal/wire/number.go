package wire

import (
	"bytes"
	"math/big"
	"strconv"
	"strings"
	"time"

	"callhouse/internal/schema"
	"callhouse/internal/wire/scan"
)

// longestTime is the length of the longest text that is read as a time.
const longestTime = 64

// integer returns the value of a JSON number's text if it is a 64-bit integer.
func integer(text []byte) (int64, bool) {
	if n, err := strconv.ParseInt(string(text), 10, 64); err == nil {
		return n, true
	}
	n, ok := schema.ParseNumber(text, 0) // such as 150.00
	if !ok || !n.IsInt64() {
		return 0, false
	}
	return n.Int64(), true
}

// instant returns the time in text, the content of a string, in milliseconds rounded down, and how it
// departs from a count of milliseconds: another count, or a date and time, in UTC if it has no zone.
// DriftMismatch means that it is none of these.
func instant(text []byte) (ms int64, kind DriftKind) {
	if scan.IsJSONNumber(text) {
		return count(text, DriftConverted)
	}
	t, zoned, ok := ParseTime(string(text))
	switch {
	case !ok:
		return 0, DriftMismatch
	case !zoned:
		return t.UnixMilli(), DriftZone
	}
	return t.UnixMilli(), DriftConverted
}

// ParseTime parses a date and time of ISO 8601 as programs write it: T or a space between them,
// seconds and their fractions optional, and a zone as Z, UTC, +09, +0900 or +09:00, also after a
// space. zoned is false if there is no zone; then t is in UTC.
func ParseTime(text string) (t time.Time, zoned, ok bool) {
	const date = len(time.DateOnly)
	if len(text) <= date || len(text) > longestTime || !strings.ContainsRune("Tt ", rune(text[date])) {
		return t, false, false
	}
	clock, zone := text[date+1:], ""
	if end := strings.IndexFunc(clock, func(r rune) bool { return !strings.ContainsRune("0123456789:.,", r) }); end >= 0 {
		clock, zone = clock[:end], clock[end:]
	}
	offset, zoned, ok := offsetOf(zone)
	for _, layout := range [...]string{time.TimeOnly, "15:04"} {
		if at, err := time.Parse(time.DateOnly+"T"+layout, text[:date]+"T"+clock); ok && err == nil {
			return at.Add(-offset), zoned, true
		}
	}
	return t, false, false
}

// offsetOf returns the offset from UTC of a time's zone, which may be empty.
func offsetOf(zone string) (offset time.Duration, zoned, ok bool) {
	switch name := strings.TrimPrefix(zone, " "); {
	case zone == "":
		return 0, false, true
	case strings.EqualFold(name, "Z"), name == "UTC", name == "GMT":
		return 0, true, true
	default:
		for _, layout := range [...]string{"-07:00", "-0700", "-07"} {
			if at, err := time.Parse(layout, name); err == nil {
				_, seconds := at.Zone()
				return time.Duration(seconds) * time.Second, true, true
			}
		}
	}
	return 0, false, false
}

// count returns the milliseconds of a JSON number's text, rounded down. A count that must be in
// another unit is converted. kind is the drift of any other departure.
func count(text []byte, kind DriftKind) (ms int64, _ DriftKind) {
	if n, ok := integer(text); ok {
		if in, other := schema.InMillis(n); other {
			return in, DriftUnit
		}
		return n, kind
	}
	if len(text) > longestTime || bytes.ContainsAny(text, "eE") { // an exponent could make it huge
		return 0, DriftMismatch
	}
	exact, _ := new(big.Rat).SetString(string(text)) // it is a number
	whole := floor(exact)
	if !whole.IsInt64() {
		return 0, DriftMismatch
	}
	in, other := schema.InMillis(whole.Int64())
	switch {
	case !other:
		return in, DriftConverted
	case in == whole.Int64()*1000: // seconds
		in = floor(exact.Mul(exact, big.NewRat(1000, 1))).Int64()
	}
	return in, DriftUnit
}

// floor returns the largest integer that is not above x.
func floor(x *big.Rat) *big.Int { return new(big.Int).Div(x.Num(), x.Denom()) }
