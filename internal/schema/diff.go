package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/parquet-go/parquet-go"
)

// Differences lists the columns in which two states of an object differ, of its table or of another,
// such as "transcript_turns[3].content"; a table with more rows in one of them by its name. It
// follows the rules of [SameObject], except that it ignores the spelling of JSON, such as the order
// of an object's members.
func Differences(a, b *Object) (out []string) {
	if SameObject(a, b) {
		return nil
	}
	out = differing(nil, "", a.Of.Table, a.Row, b.Row)
	for l, t := range a.Of.Lists {
		x, y := &a.Lists[l], &b.Lists[l]
		for i := range min(x.Len(), y.Len()) {
			out = differing(out, fmt.Sprintf("%s[%d].", t.Name, i), t, x.At(i), y.At(i))
		}
		if x.Len() != y.Len() {
			out = append(out, t.Name)
		}
	}
	return out
}

// differing compares two rows of a table.
func differing(out []string, at string, t *Table, a, b parquet.Row) []string {
	for i := range t.Columns {
		if col := &t.Columns[i]; col.Compared() && !SameValue(col.Type, col.Content(a[i]), col.Content(b[i])) {
			out = append(out, at+col.Name)
		}
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
