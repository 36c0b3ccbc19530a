package schema

import (
	"cmp"
	"encoding/binary"
	"math/bits"
)

// Decimal is an exact decimal number: a count of 10^-18, in two's complement.
// The zero value is 0, and equal numbers are equal in Go.
type Decimal struct {
	hi int64
	lo uint64
}

// Equal says whether two numbers are the same.
func (d Decimal) Equal(e Decimal) bool { return d == e }

// String returns the number, as short as it goes.
func (d Decimal) String() string { return string(appendPlain(nil, d)) }

// exactPlaces are the decimal places of columns of type Exact.
const exactPlaces = 18

// Bounds of a Decimal. A column holds numbers of less than 15 whole digits and
// a half, so that the sum of many still has the 20 whole digits of its type.
var (
	maxSum   = decimalOf(1, 38).plus(Decimal{-1, 1<<64 - 1}) // 38 nines
	maxExact = decimalOf(1, 15+exactPlaces).plus(Decimal{-1, 1<<64 - 1})
)

// decimalOf returns n * 10^zeros units. It must fit.
func decimalOf(n int64, zeros int) Decimal {
	m := magnitude{0, uint64(n)}
	if n < 0 {
		m.lo = -m.lo
	}
	m, _ = m.shift(zeros)
	return m.signed(n < 0)
}

// DecimalFrom returns the number of units of 10^-places, which are at most 18.
func DecimalFrom(units int64, places int) Decimal { return decimalOf(units, exactPlaces-places) }

// plus returns the sum. It wraps around beyond 2^127.
func (d Decimal) plus(e Decimal) Decimal {
	lo, carry := bits.Add64(d.lo, e.lo, 0)
	return Decimal{d.hi + e.hi + int64(carry), lo}
}

// minus returns -d.
func (d Decimal) minus() Decimal {
	lo, borrow := bits.Sub64(0, d.lo, 0)
	return Decimal{-d.hi - int64(borrow), lo}
}

// abs returns how large a number is without its sign.
func (d Decimal) abs() Decimal {
	if d.hi < 0 {
		return d.minus()
	}
	return d
}

// within says whether a number is at most limit, whatever its sign.
func (d Decimal) within(limit Decimal) bool {
	a := d.abs()
	return a.hi >= 0 && (a.hi < limit.hi || a.hi == limit.hi && a.lo <= limit.lo)
}

// exactBytes is how many bytes a Decimal has in a file.
const exactBytes = 16

// compare orders numbers.
func (d Decimal) compare(e Decimal) int {
	return cmp.Or(cmp.Compare(d.hi, e.hi), cmp.Compare(d.lo, e.lo))
}

// append16 appends the bytes of a file, the highest first.
func (d Decimal) append16(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(d.hi))
	return binary.BigEndian.AppendUint64(dst, d.lo)
}

// decimalIn reads what append16 wrote.
func decimalIn(b []byte) Decimal {
	return Decimal{int64(binary.BigEndian.Uint64(b)), binary.BigEndian.Uint64(b[8:])}
}

// magnitude is a number without a sign, below 2^127.
type magnitude struct{ hi, lo uint64 }

// digit appends a decimal digit, as long as there is room.
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

func (m magnitude) signed(negative bool) Decimal {
	d := Decimal{int64(m.hi), m.lo}
	if negative {
		return d.minus()
	}
	return d
}
