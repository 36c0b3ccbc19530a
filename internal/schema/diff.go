package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"time"

	"github.com/parquet-go/parquet-go"
)

// Difference is one value in which two states of an object differ.
type Difference struct {
	// Field is a column of the object's table, or of another one, such as
	// "transcript_turns[3].content".
	Field string
	// A and B are the values as text, "null" for none. Both are empty if the column holds text or
	// JSON, which may be long or private.
	A, B string
}

// String describes the difference briefly.
func (d Difference) String() string {
	if d.A == "" && d.B == "" {
		return d.Field + " differs"
	}
	return fmt.Sprintf("%s: %s, and %s", d.Field, d.A, d.B)
}

// Differences lists the columns in which two states of an object differ. It follows the rules of
// [SameObject], except that it ignores the spelling of JSON, such as the order of an object's
// members.
func Differences(a, b *Object) (out []Difference) {
	if SameObject(a, b) {
		return nil
	}
	out = differing(nil, "", a.Of.Table, a.Row, b.Row)
	for l, t := range a.Of.Lists {
		x, y := &a.Lists[l], &b.Lists[l]
		for i := range min(x.Len(), y.Len()) {
			out = differing(out, fmt.Sprintf("%s[%d].", t.Name, i), t, x.At(i), y.At(i))
		}
		out = lengths(out, t.Name, x.Len(), y.Len())
	}
	return out
}

func lengths(out []Difference, table string, a, b int) []Difference {
	if a == b {
		return out
	}
	return append(out, Difference{Field: table, A: strconv.Itoa(a), B: strconv.Itoa(b)})
}

// differing compares two rows of a table.
func differing(out []Difference, at string, t *Table, a, b parquet.Row) []Difference {
	for i := range t.Columns {
		col := &t.Columns[i]
		if !col.Compared() || SameValue(col.Type, col.Content(a[i]), col.Content(b[i])) {
			continue
		}
		d := Difference{Field: at + col.Name}
		if col.Type != Text && col.Type != JSON {
			d.A, d.B = shown(col.Type, a[i]), shown(col.Type, b[i])
		}
		out = append(out, d)
	}
	return out
}

// SameValue reports whether two values of a type are equal. JSON may be spelled differently.
func SameValue(t Type, a, b parquet.Value) bool {
	if a.IsNull() || b.IsNull() {
		return a.IsNull() && b.IsNull()
	}
	return parquet.Equal(a, b) || t == JSON && sameJSON(a.ByteArray(), b.ByteArray())
}

// sameJSON reports whether two texts are JSON of the same value. Numbers are equal only if spelled
// alike.
func sameJSON(a, b []byte) bool {
	x, err := parseJSON(a)
	if err != nil {
		return false
	}
	y, err := parseJSON(b)
	return err == nil && reflect.DeepEqual(x, y)
}

func parseJSON(text []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return v, d.Decode(&v)
}

// shown formats a value of a short type.
func shown(t Type, v parquet.Value) string {
	if v.IsNull() {
		return "null"
	}
	switch t {
	case Timestamp:
		return time.UnixMicro(v.Int64()).UTC().Format("2006-01-02T15:04:05.000Z07:00")
	case Exact:
		return string(AppendExact(nil, v, 0))
	}
	return v.String()
}
