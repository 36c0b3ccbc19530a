package schema

import (
	"bytes"
	"math"
	"math/bits"
	"strconv"
	"time"
)

// Bounds of what the columns take. An instant outside of the years 1 to 9999
// would have no day to lie under, and DuckDB, which counts microseconds, could
// not read the file at all.
const (
	minInstant = -62135596800000 // 0001-01-01T00:00:00.000Z
	maxInstant = 253402300799999 // 9999-12-31T23:59:59.999Z
)

// decimal returns the value of a JSON number's text in units of 10^-places. It
// fails where that is no integer, or one of 2^127 or more.
func decimal(text []byte, places int) (n Decimal, ok bool) {
	p, negative := 0, false
	if text[0] == '-' {
		p, negative = 1, true
	}
	var (
		mantissa magnitude // the digits so far, without the zeros at their end
		zeros    int       // how many of those there are
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
		if !mantissa.zero() {
			if mantissa, ok = mantissa.shift(zeros); !ok {
				return Decimal{}, false
			}
		}
		zeros = 0
		if mantissa, ok = mantissa.digit(c - '0'); !ok {
			return Decimal{}, false
		}
	}
	if mantissa.zero() {
		return Decimal{}, true
	}
	scale += zeros
	if p < len(text) { // at the e
		e, err := strconv.Atoi(string(text[p+1:]))
		if err != nil || e > 1e6 || e < -1e6 {
			return Decimal{}, false
		}
		scale += e
	}
	if scale < 0 {
		return Decimal{}, false
	}
	if mantissa, ok = mantissa.shift(scale); !ok {
		return Decimal{}, false
	}
	return mantissa.signed(negative), true
}

// integer returns the value of a JSON number's text, if it is an integer of 64
// bits.
func integer(text []byte) (int64, bool) {
	d, ok := decimal(text, 0)
	n := int64(d.lo)
	return n, ok && d.hi == n>>63 && n != math.MinInt64
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

// appendMoney appends an amount in the spelling that the service uses: at least
// two decimals, as in 200.00 and 150.1234.
func appendMoney(dst []byte, n Decimal) []byte { return appendDecimal(dst, n, 2) }

// appendPlain appends a JSON number, as short as it goes without an exponent.
func appendPlain(dst []byte, n Decimal) []byte {
	return bytes.TrimSuffix(appendDecimal(dst, n, 0), []byte("."))
}

// appendDecimal appends a number within maxExact with the decimals that it has,
// and at least some.
func appendDecimal(dst []byte, n Decimal, least int) []byte {
	if n.hi < 0 {
		dst = append(dst, '-')
	}
	a := n.abs()
	const unit = 1_000_000_000_000_000_000
	whole, rest := bits.Div64(uint64(a.hi), a.lo, unit)
	dst = strconv.AppendUint(dst, whole, 10)
	dst = append(dst, '.')
	for power, places := uint64(unit/10), 0; rest > 0 || places < least; places++ {
		dst = append(dst, '0'+byte(rest/power))
		rest %= power
		power /= 10
	}
	return dst
}
