package value

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"time"
)

// AppendText appends a value's exact text for CSV. Instants are RFC 3339 in loc; null is empty;
// nested values are JSON.
func AppendText(dst []byte, v any, loc *time.Location) []byte {
	switch v := v.(type) {
	case nil:
		return dst
	case string:
		return append(dst, v...)
	case JSON:
		return append(dst, v...)
	case []byte:
		return appendBlob(dst, v)
	case float32:
		if f := float64(v); odd(f) {
			return append(dst, oddFloat(f)...)
		}
		return strconv.AppendFloat(dst, float64(v), 'g', -1, 32)
	case float64:
		if odd(v) {
			return append(dst, oddFloat(v)...)
		}
		return appendFloat(dst, v)
	case time.Time:
		return appendInstant(dst, v, loc)
	case Date:
		return appendDate(dst, time.Time(v))
	case LocalTime:
		return appendLocal(dst, time.Time(v), 'T')
	case Union:
		return AppendText(dst, v.Value, loc)
	case List, Struct, Map:
		return AppendJSON(dst, v, loc)
	}
	return appendPlain(dst, v)
}

// AppendJSON appends a value as JSON. Numbers keep every digit. Values without a JSON form are
// strings: NaN, Infinity, dates, times, intervals, bytes.
func AppendJSON(dst []byte, v any, loc *time.Location) []byte {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...)
	case bool, int64, uint64, *big.Int, Decimal:
		return appendPlain(dst, v)
	case float32:
		if f := float64(v); odd(f) {
			return AppendString(dst, oddFloat(f))
		}
		return AppendText(dst, v, loc)
	case float64:
		if odd(v) {
			return AppendString(dst, oddFloat(v))
		}
		return appendFloat(dst, v)
	case string:
		return AppendString(dst, v)
	case JSON:
		if !json.Valid([]byte(v)) { // impossible in our own columns
			return AppendString(dst, string(v))
		}
		return append(dst, v...)
	case List:
		return appendList(dst, v, loc)
	case Struct:
		return appendObject(dst, v.Names, v.Values, loc)
	case Map:
		return appendMap(dst, v, loc)
	case Union:
		return appendObject(dst, []string{v.Tag}, []any{v.Value}, loc)
	}
	return AppendString(dst, string(AppendText(nil, v, loc)))
}

func appendPlain(dst []byte, v any) []byte {
	switch v := v.(type) {
	case bool:
		return strconv.AppendBool(dst, v)
	case int64:
		return strconv.AppendInt(dst, v, 10)
	case uint64:
		return strconv.AppendUint(dst, v, 10)
	case *big.Int:
		return v.Append(dst, 10)
	case fmt.Stringer:
		return append(dst, v.String()...)
	}
	return fmt.Append(dst, v)
}

// appendFloat writes the shortest text that parses to the same number, and ordinary whole numbers
// without an exponent.
func appendFloat(dst []byte, f float64) []byte {
	if a := math.Abs(f); a == 0 || a >= 1e-6 && a < 1e17 {
		return strconv.AppendFloat(dst, f, 'f', -1, 64)
	}
	return strconv.AppendFloat(dst, f, 'g', -1, 64)
}

func odd(f float64) bool { return math.IsNaN(f) || math.IsInf(f, 0) }

func oddFloat(f float64) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case f > 0:
		return "Infinity"
	}
	return "-Infinity"
}

// appendBlob writes printable ASCII unchanged and other bytes as \xFF, like DuckDB.
func appendBlob(dst, b []byte) []byte {
	for _, c := range b {
		if c < ' ' || c > '~' || c == '\\' || c == '"' || c == '\'' {
			dst = fmt.Appendf(dst, `\x%02X`, c)
		} else {
			dst = append(dst, c)
		}
	}
	return dst
}

// appendInstant writes RFC 3339. Offsets with seconds, which RFC 3339 does not have (historic local
// mean times), become UTC.
func appendInstant(dst []byte, t time.Time, loc *time.Location) []byte {
	t = t.In(loc)
	_, offset := t.Zone()
	if offset%60 != 0 {
		t = t.UTC()
	}
	dst = appendLocal(dst, t, 'T')
	return t.AppendFormat(dst, "Z07:00")
}

func appendLocal(dst []byte, t time.Time, sep byte) []byte {
	dst = appendDay(dst, t)
	dst = append(dst, sep)
	dst = t.AppendFormat(dst, time.TimeOnly)
	dst = append(dst, fraction(t.Nanosecond())...)
	return appendEra(dst, t)
}

func appendDate(dst []byte, t time.Time) []byte { return appendEra(appendDay(dst, t), t) }

// appendDay writes a day; before 1 AD comes 1 BC, not year 0.
func appendDay(dst []byte, t time.Time) []byte {
	y := t.Year()
	if y < 1 {
		y = 1 - y
	}
	return fmt.Appendf(dst, "%04d-%02d-%02d", y, t.Month(), t.Day())
}

func appendEra(dst []byte, t time.Time) []byte {
	if t.Year() < 1 {
		dst = append(dst, " (BC)"...)
	}
	return dst
}

// HumanInstant returns an instant in loc with its offset, for people.
func HumanInstant(t time.Time, loc *time.Location) string {
	t = t.In(loc)
	return string(t.AppendFormat(appendLocal(nil, t, ' '), "Z07:00"))
}

// HumanLocal returns a date and time, for people.
func HumanLocal(t LocalTime) string { return string(appendLocal(nil, time.Time(t), ' ')) }
