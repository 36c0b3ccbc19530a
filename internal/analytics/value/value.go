package value

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Value is one value of a result. Text may alias memory that the next row reuses; [Value.Keep] and [Value.Go] copy it.
type Value struct {
	Kind Kind
	// Scale is the number of decimals of an Exact, of bits of a Float, or of decimals of the unit
	// of a Local, an Instant or a Clock. For an Integer it is the Go type.
	Scale uint8
	// High and Low are the bits of a number or time; High extends the sign of a shorter one.
	High int64
	Low  uint64
	Text string
	Nest *Nest
}

// Types of an Integer in Go.
const (
	Long     uint8 = iota // int64
	Unsigned              // uint64
	Huge                  // *big.Int
)

// Nest holds the parts of a nested value.
type Nest struct {
	Names  []string // of a Struct's fields; Values may share them
	Keys   []Value  // of a Map
	Values []Value
}

// Decimal is Units / 10^Scale.
type Decimal struct {
	Units *big.Int
	Scale uint8
}

// JSON is the text of one JSON value.
type JSON string

// Date is a day, at midnight UTC.
type Date time.Time

// LocalTime is a date and time without a zone, held as UTC.
type LocalTime time.Time

// Of converts a Go value: nil, bool, int64, uint64, *big.Int, float32, float64, [Decimal], string,
// [JSON], []byte, [Date], [LocalTime], time.Time, []any or a Value.
func Of(x any) Value {
	switch x := x.(type) {
	case nil:
		return Value{}
	case Value:
		return x
	case bool:
		v := Value{Kind: Bool}
		if x {
			v.Low = 1
		}
		return v
	case int64:
		return Int(Integer, x)
	case uint64:
		return Value{Kind: Integer, Scale: Unsigned, Low: x}
	case *big.Int:
		return ofBig(Integer, Huge, x)
	case float32:
		return Value{Kind: Float, Scale: 32, Low: math.Float64bits(float64(x))}
	case float64:
		return Value{Kind: Float, Scale: 64, Low: math.Float64bits(x)}
	case Decimal:
		return ofBig(Exact, x.Scale, x.Units)
	case string:
		return Value{Kind: Text, Text: x}
	case JSON:
		return Value{Kind: Document, Text: string(x)}
	case []byte:
		return Value{Kind: Bytes, Text: string(x)}
	case Date:
		return Int(Day, time.Time(x).Unix()/86_400)
	case LocalTime:
		return ofTime(Local, time.Time(x))
	case time.Time:
		return ofTime(Instant, x)
	case []any:
		n := &Nest{Values: make([]Value, len(x))}
		for i, e := range x {
			n.Values[i] = Of(e)
		}
		return Value{Kind: List, Nest: n}
	}
	return Value{Kind: Text, Text: fmt.Sprint(x)}
}

// Int returns an Integer or Day, or a time in microseconds.
func Int(k Kind, n int64) Value {
	v := Value{Kind: k, High: n >> 63, Low: uint64(n)}
	if k == Local || k == Instant || k == Clock {
		v.Scale = 6
	}
	return v
}

// ofBig converts a number. One beyond 128 bits, which no type of ours holds, becomes a text.
func ofBig(k Kind, scale uint8, n *big.Int) Value {
	if n.BitLen() > 127 && n.Cmp(smallest) != 0 {
		return Value{Kind: Text, Text: n.String()}
	}
	return Value{Kind: k, Scale: scale, High: new(big.Int).Rsh(n, 64).Int64(), Low: new(big.Int).And(n, lowest64).Uint64()}
}

var (
	lowest64 = new(big.Int).SetUint64(math.MaxUint64)
	smallest = new(big.Int).Lsh(big.NewInt(-1), 127) // of 128 bits
)

func negated(high int64, low uint64) (int64, uint64) {
	low, borrow := bits.Sub64(0, low, 0)
	h, _ := bits.Sub64(0, uint64(high), borrow)
	return int64(h), low
}

func ofTime(k Kind, t time.Time) Value {
	v := Int(k, t.UnixMicro())
	if t.Nanosecond()%1000 != 0 {
		v = Int(k, t.UnixNano())
		v.Scale = 9
	}
	return v
}

// Int returns a number that fits in an int64.
func (v *Value) Int() int64 { return int64(v.Low) }

// Float returns a number as the nearest float64, and 0 for other values.
func (v *Value) Float() float64 {
	switch v.Kind {
	case Float:
		return math.Float64frombits(v.Low)
	case Integer, Exact:
		f, _ := strconv.ParseFloat(string(v.AppendNumber(nil, 0)), 64)
		return f
	}
	return 0
}

// Sign returns -1, 0 or 1 for a number, and 0 for other values.
func (v *Value) Sign() int {
	switch f := v.Float(); {
	case f < 0:
		return -1
	case f > 0:
		return 1
	}
	return 0
}

// Time returns a Day, a Local or an Instant, in UTC.
func (v *Value) Time() time.Time {
	n := v.Int()
	switch {
	case v.Kind == Day:
		return time.Unix(n*86_400, 0).UTC()
	case v.Scale == 0:
		return time.Unix(n, 0).UTC()
	case v.Scale == 3:
		return time.UnixMilli(n).UTC()
	case v.Scale == 9:
		return time.Unix(0, n).UTC()
	}
	return time.UnixMicro(n).UTC()
}

// Go returns the Go value, which [Of] converts back. Kinds without one are the value itself.
func (v *Value) Go() any {
	switch v.Kind {
	case Null:
		return nil
	case Bool:
		return v.Low != 0
	case Integer:
		switch {
		case v.Scale == Long:
			return v.Int()
		case v.Scale == Unsigned:
			return v.Low
		}
		return v.Big()
	case Float:
		if v.Scale == 32 {
			return float32(v.Float())
		}
		return v.Float()
	case Exact:
		return Decimal{v.Big(), v.Scale}
	case Text:
		return strings.Clone(v.Text)
	case UUID:
		return string(v.AppendText(nil, nil))
	case Document:
		return JSON(strings.Clone(v.Text))
	case Bytes:
		return []byte(v.Text)
	case Day:
		return Date(v.Time())
	case Local:
		return LocalTime(v.Time())
	case Instant:
		return v.Time()
	}
	return v.Keep()
}

// Keep returns a copy that stays valid.
func (v *Value) Keep() Value {
	out := *v
	out.Text = strings.Clone(v.Text)
	if v.Nest != nil {
		out.Nest = &Nest{Names: v.Nest.Names, Keys: KeepAll(v.Nest.Keys), Values: KeepAll(v.Nest.Values)}
	}
	return out
}

// KeepAll copies values.
func KeepAll(values []Value) []Value {
	out := slices.Clone(values)
	for i := range out {
		out[i] = out[i].Keep()
	}
	return out
}

// GoAll appends the Go values of a row.
func GoAll(dst []any, row []Value) []any {
	for i := range row {
		dst = append(dst, row[i].Go())
	}
	return dst
}

// Big returns an Integer, or the units of an Exact.
func (v *Value) Big() *big.Int {
	n := big.NewInt(v.High)
	return n.Add(n.Lsh(n, 64), new(big.Int).SetUint64(v.Low))
}

// Digits appends the digits of an Integer or Exact, with at least one before the decimal point, and returns the number of digits
// after it. dst must be empty.
func (v *Value) Digits(dst []byte) (digits []byte, decimals int, negative bool) {
	const tenTo19 = 10_000_000_000_000_000_000
	high, low := v.High, v.Low
	if negative = high < 0; negative {
		high, low = negated(high, low)
	}
	if high == 0 {
		digits = strconv.AppendUint(dst, low, 10)
	} else {
		first, rest := bits.Div64(uint64(high), low, tenTo19)
		digits = strconv.AppendUint(dst, first, 10)
		at := len(digits)
		digits = strconv.AppendUint(digits, rest, 10)
		digits = slices.Insert(digits, at, zeros(19-(len(digits)-at))...)
	}
	if v.Kind == Exact {
		decimals = int(v.Scale)
	}
	if missing := decimals + 1 - len(digits); missing > 0 {
		digits = slices.Insert(digits, 0, zeros(missing)...)
	}
	return digits, decimals, negative
}

var manyZeros = []byte(strings.Repeat("0", math.MaxUint8+1))

func zeros(n int) []byte { return manyZeros[:n] }

// String returns the exact text, with times in UTC.
func (v Value) String() string { return string(v.AppendText(nil, time.UTC)) }

func (d Decimal) String() string { return Of(d).String() }

// Float returns the nearest float64.
func (d Decimal) Float() float64 {
	v := Of(d)
	return v.Float()
}
