package schema

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"
)

// A value of type Exact is a count of 10^-ExactPlaces, of ExactBytes bytes in two's complement, the
// highest first.
const (
	ExactPlaces = 18
	ExactBytes  = 16
)

// maxDigits is the number of digits that a column holds: with 15 whole digits, the sum of many
// numbers still fits the 20 whole digits of the type.
const maxDigits = 15 + ExactPlaces

// wrapped is what two's complement adds to a negative number.
var wrapped = new(big.Int).Lsh(big.NewInt(1), 8*ExactBytes)

// ParseNumber returns the value of a JSON number's text in units of 10^-places. It fails if that is
// not an integer of at most maxDigits digits.
func ParseNumber(text []byte, places int) (*big.Int, bool) {
	mantissa, exponent, scientific := strings.Cut(strings.ToLower(string(text)), "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "-0")
	short := strings.TrimRight(digits, "0")
	zeros := places - len(fraction) + len(digits) - len(short)
	if scientific {
		e, err := strconv.Atoi(exponent)
		if err != nil {
			return nil, false
		}
		zeros += e
	}
	if short == "" {
		return new(big.Int), true
	}
	if zeros < 0 || zeros > maxDigits-len(short) {
		return nil, false
	}
	n, ok := new(big.Int).SetString(short+strings.Repeat("0", zeros), 10)
	if ok && text[0] == '-' {
		n.Neg(n)
	}
	return n, ok
}

// ExactValue returns a number of so many units as a value.
func ExactValue(n *big.Int) parquet.Value {
	return parquet.FixedLenByteArrayValue(new(big.Int).Mod(n, wrapped).FillBytes(make([]byte, ExactBytes)))
}

// ExactOf returns the units of a value.
func ExactOf(v parquet.Value) *big.Int {
	n := new(big.Int).SetBytes(v.ByteArray())
	if n.Bit(8*ExactBytes-1) == 1 {
		n.Sub(n, wrapped)
	}
	return n
}

// AppendExact appends the number of a value without an exponent, with its decimals, but at least
// the given number of decimals.
func AppendExact(dst []byte, v parquet.Value, least int) []byte {
	n := ExactOf(v)
	if n.Sign() < 0 {
		dst = append(dst, '-')
	}
	digits := fmt.Sprintf("%0*d", ExactPlaces+1, n.Abs(n))
	whole := len(digits) - ExactPlaces
	end := max(len(strings.TrimRight(digits, "0")), whole+least)
	if end <= whole {
		return append(dst, digits[:whole]...)
	}
	return append(append(append(dst, digits[:whole]...), '.'), digits[whole:end]...)
}
