package schema

import "github.com/parquet-go/parquet-go"

// Opt is a value that may be null.
type Opt[T any] struct {
	V  T
	OK bool // false for null
}

// Some returns a value that is not null.
func Some[T any](v T) Opt[T] { return Opt[T]{V: v, OK: true} }

// micros are the microseconds of a millisecond.
const micros = 1000

// Bounds of the columns' values. An instant outside the years 1 to 9999 would have no day under
// which to store it, and DuckDB, which counts microseconds, could not read the file at all.
const (
	MinInstant = -62135596800000 // 0001-01-01T00:00:00.000Z
	MaxInstant = 253402300799999 // 9999-12-31T23:59:59.999Z
)

// The years 2000 and 2100 in seconds. The service has no calls before or after.
const (
	minSecond = 946684800
	maxSecond = 4102444800
)

// InMillis returns n as an instant in milliseconds since 1970. If n can only be a count of seconds,
// microseconds or nanoseconds, it is converted, and other is true.
func InMillis(n int64) (ms int64, other bool) {
	switch {
	case n < minSecond || n >= maxSecond*1000 && n < minSecond*1e6:
	case n < maxSecond:
		return n * 1000, true
	case n >= minSecond*1e6 && n < maxSecond*1e6:
		return n / 1e3, true
	case n >= minSecond*1e9 && n < maxSecond*1e9:
		return n / 1e6, true
	}
	return n, false
}

// TextValue returns a text, which may be empty; nil is null.
func TextValue(b []byte) parquet.Value {
	if b == nil {
		return parquet.Value{}
	}
	return parquet.ByteArrayValue(b)
}

// TextOf returns the text of a value; nil is null.
func TextOf(v parquet.Value) []byte {
	if v.IsNull() {
		return nil
	}
	return NotNil(v.ByteArray())
}

// InstantValue returns an instant, from milliseconds.
func InstantValue(ms int64) parquet.Value { return parquet.Int64Value(ms * micros) }

// LongOf returns the integer of a value.
func LongOf(v parquet.Value) Opt[int64] {
	if v.IsNull() {
		return Opt[int64]{}
	}
	return Some(v.Int64())
}

// MillisOf returns the instant of a value in milliseconds since 1970 UTC.
func MillisOf(v parquet.Value) Opt[int64] {
	if v.IsNull() {
		return Opt[int64]{}
	}
	return Some(floorDiv(v.Int64(), micros))
}

// LongValue returns an integer.
func LongValue(o Opt[int64]) parquet.Value {
	if !o.OK {
		return parquet.Value{}
	}
	return parquet.Int64Value(o.V)
}

// MillisValue returns an instant, from milliseconds.
func MillisValue(o Opt[int64]) parquet.Value {
	if !o.OK {
		return parquet.Value{}
	}
	return InstantValue(o.V)
}

// BoolValue returns true or false.
func BoolValue(o Opt[bool]) parquet.Value {
	if !o.OK {
		return parquet.Value{}
	}
	return parquet.BooleanValue(o.V)
}

// floorDiv divides and rounds down.
func floorDiv(n, by int64) int64 {
	q := n / by
	if n%by < 0 {
		q--
	}
	return q
}

// NotNil returns b, or an empty text for nil, so that it is not null.
func NotNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
