package schema

import (
	"bytes"
	"math"
	"strconv"
	"time"
)

// Bounds of what the columns take. An instant outside of the years 1 to 9999
// would have no day to lie under, and DuckDB, which counts microseconds, could
// not read the file at all.
const (
	minInstant = -62135596800000 // 0001-01-01T00:00:00.000Z
	maxInstant = 253402300799999 // 9999-12-31T23:59:59.999Z
	maxDecimal = 999_999_999_999_999_999
)

// Decimal places of the columns of types Money and Seconds.
const (
	moneyPlaces   = 4
	secondsPlaces = 3
)

// decimal returns the value of a JSON number's text in units of 10^-places.
// It fails where that is no integer, or one beyond limit.
func decimal(text []byte, places int, limit uint64) (n int64, ok bool) {
	p, negative := 0, false
	if text[0] == '-' {
		p, negative = 1, true
	}
	var (
		mantissa uint64 // the digits so far, without the zeros at their end
		zeros    int    // how many of those there are
		scale    = places
		point    bool
	)
	for ; p < len(text); p++ {
		c := text[p]
		if c == '.' {
			point = true
			continue
		}
		if c-'0' > 9 {
			break
		}
		if point {
			scale--
		}
		if c == '0' {
			zeros++
			continue
		}
		if mantissa != 0 {
			if mantissa, ok = shift(mantissa, zeros+1); !ok {
				return 0, false
			}
		}
		zeros = 0
		if mantissa += uint64(c - '0'); mantissa > limit {
			return 0, false
		}
	}
	if mantissa == 0 {
		return 0, true
	}
	scale += zeros
	if p < len(text) { // at the e
		e, err := strconv.Atoi(string(text[p+1:]))
		if err != nil || e > 1e6 || e < -1e6 {
			return 0, false
		}
		scale += e
	}
	if scale < 0 {
		return 0, false
	}
	if mantissa, ok = shift(mantissa, scale); !ok || mantissa > limit {
		return 0, false
	}
	if negative {
		return -int64(mantissa), true
	}
	return int64(mantissa), true
}

// shift multiplies by 10^by, as long as that stays below 2^63.
func shift(n uint64, by int) (uint64, bool) {
	if by > 18 {
		return 0, false
	}
	for ; by > 0; by-- {
		if n > math.MaxInt64/10 {
			return 0, false
		}
		n *= 10
	}
	return n, true
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
		return decimal(text, 0, math.MaxInt64)
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

// appendMoney appends an amount in the spelling that the service uses: two to
// four decimals, as in 200.00 and 150.1234.
func appendMoney(dst []byte, n int64) []byte {
	dst = appendFixed(dst, n, moneyPlaces)
	for range 2 {
		dst = bytes.TrimSuffix(dst, []byte("0"))
	}
	return dst
}

// appendPlain appends n units of 10^-places as a JSON number, as short as it
// goes without an exponent.
func appendPlain(dst []byte, n int64, places int) []byte {
	dst = appendFixed(dst, n, places)
	for range places {
		dst = bytes.TrimSuffix(dst, []byte("0"))
	}
	return bytes.TrimSuffix(dst, []byte("."))
}

// appendFixed appends n units of 10^-places with all its decimals.
func appendFixed(dst []byte, n int64, places int) []byte {
	u := uint64(n)
	if n < 0 {
		dst = append(dst, '-')
		u = -u
	}
	unit := uint64(1)
	for range places {
		unit *= 10
	}
	dst = strconv.AppendUint(dst, u/unit, 10)
	dst = append(dst, '.')
	for rest := u % unit; places > 0; places-- {
		unit /= 10
		dst = append(dst, '0'+byte(rest/unit))
		rest %= unit
	}
	return dst
}
