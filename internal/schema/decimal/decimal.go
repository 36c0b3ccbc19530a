// Package decimal implements exact decimal numbers, the values of columns of type Exact. They keep
// exactly the digits that were sent.
package decimal

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"
)

// Number is an exact decimal number: a count of 10^-18, in two's complement.
// The zero value is 0, and equal numbers are equal in Go.
type Number struct {
	hi int64
	lo uint64
}

// Equal reports whether two numbers are equal.
func (d Number) Equal(e Number) bool { return d == e }

// String returns the number in its shortest form.
func (d Number) String() string { return string(Append(nil, d)) }

// Places are the decimal places of columns of type Exact.
const Places = 18

// Bounds of a Number. A column holds numbers of less than 15.5 whole digits, so that the sum of
// many still fits the 20 whole digits of its type.
var (
	MaxSum = unitsOf(1, 38).Plus(Number{-1, 1<<64 - 1}) // 38 nines
	Max    = unitsOf(1, 15+Places).Plus(Number{-1, 1<<64 - 1})
)

// unitsOf returns n * 10^zeros units. It must fit.
func unitsOf(n int64, zeros int) Number {
	m := magnitude{0, uint64(n)}
	if n < 0 {
		m.lo = -m.lo
	}
	m, _ = m.shift(zeros)
	return m.signed(n < 0)
}

// FromUnits returns a number given as a count of 10^-places; places is at most 18.
func FromUnits(units int64, places int) Number { return unitsOf(units, Places-places) }

// Plus returns the sum. It wraps around beyond 2^127.
func (d Number) Plus(e Number) Number {
	lo, carry := bits.Add64(d.lo, e.lo, 0)
	return Number{d.hi + e.hi + int64(carry), lo}
}

// minus returns -d.
func (d Number) minus() Number {
	lo, borrow := bits.Sub64(0, d.lo, 0)
	return Number{-d.hi - int64(borrow), lo}
}

// Int64 returns the number of units. ok is false if it does not fit in an int64, or is the lowest
// int64.
func (d Number) Int64() (n int64, ok bool) {
	n = int64(d.lo)
	return n, d.hi == n>>63 && n != math.MinInt64
}

// abs returns the absolute value.
func (d Number) abs() Number {
	if d.hi < 0 {
		return d.minus()
	}
	return d
}

// Within reports whether the absolute value of a number is at most limit.
func (d Number) Within(limit Number) bool {
	a := d.abs()
	return a.hi >= 0 && (a.hi < limit.hi || a.hi == limit.hi && a.lo <= limit.lo)
}

// Bytes is the size of a Number in a file.
const Bytes = 16

// Compare orders numbers.
func (d Number) Compare(e Number) int {
	return cmp.Or(cmp.Compare(d.hi, e.hi), cmp.Compare(d.lo, e.lo))
}

// AppendBytes appends the number's bytes in a file, the highest first.
func (d Number) AppendBytes(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(d.hi))
	return binary.BigEndian.AppendUint64(dst, d.lo)
}

// FromBytes reads what AppendBytes wrote.
func FromBytes(b []byte) Number {
	return Number{int64(binary.BigEndian.Uint64(b)), binary.BigEndian.Uint64(b[8:])}
}

// magnitude is a number without a sign, below 2^127.
type magnitude struct{ hi, lo uint64 }

// digit appends a decimal digit if it fits.
func (m magnitude) digit(c byte) (magnitude, bool) {
	over, hi := bits.Mul64(m.hi, 10)
	carried, lo := bits.Mul64(m.lo, 10)
	lo, carry := bits.Add64(lo, uint64(c), 0)
	hi, wrapped := bits.Add64(hi, carried, carry)
	return magnitude{hi, lo}, over|wrapped == 0 && hi>>63 == 0
}

// shift appends zeros.
func (m magnitude) shift(zeros int) (_ magnitude, ok bool) {
	for ok = true; zeros > 0 && ok; zeros-- {
		m, ok = m.digit(0)
	}
	return m, ok
}

func (m magnitude) zero() bool { return m.hi|m.lo == 0 }

func (m magnitude) signed(negative bool) Number {
	d := Number{int64(m.hi), m.lo}
	if negative {
		return d.minus()
	}
	return d
}

// Parse returns the value of a JSON number's text in units of 10^-places. It fails if that is not
// an integer, or if it is 2^127 or more.
func Parse(text []byte, places int) (n Number, ok bool) {
	p, negative := 0, false
	if text[0] == '-' {
		p, negative = 1, true
	}
	var (
		mantissa magnitude // the digits so far, without trailing zeros
		zeros    int       // number of trailing zeros
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
				return Number{}, false
			}
		}
		zeros = 0
		if mantissa, ok = mantissa.digit(c - '0'); !ok {
			return Number{}, false
		}
	}
	if mantissa.zero() {
		return Number{}, true
	}
	scale += zeros
	if p < len(text) { // at the e
		e, err := strconv.Atoi(string(text[p+1:]))
		if err != nil || e > 1e6 || e < -1e6 {
			return Number{}, false
		}
		scale += e
	}
	if scale < 0 {
		return Number{}, false
	}
	if mantissa, ok = mantissa.shift(scale); !ok {
		return Number{}, false
	}
	return mantissa.signed(negative), true
}

// AppendAmount appends an amount as the service spells it, with at least two decimals: 200.00,
// 150.1234.
func AppendAmount(dst []byte, n Number) []byte { return AppendPlaces(dst, n, 2) }

// Append appends a JSON number in its shortest form without an exponent.
func Append(dst []byte, n Number) []byte {
	return bytes.TrimSuffix(AppendPlaces(dst, n, 0), []byte("."))
}

// AppendPlaces appends a number within Max with its decimals, but at least the given number of
// decimals.
func AppendPlaces(dst []byte, n Number, least int) []byte {
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
