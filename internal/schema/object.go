package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"reflect"
	"slices"

	"github.com/parquet-go/parquet-go"
)

// Row is one row of a table: a value for each of its columns, or null. Instants are in microseconds
// since 1970 UTC, as in files.
type Row = parquet.Row

// Rows are rows of one table, in their order.
type Rows struct {
	width int
	cells []parquet.Value // null from their length to their capacity
}

// Len returns the number of rows.
func (r *Rows) Len() int {
	if r.width == 0 {
		return 0
	}
	return len(r.cells) / r.width
}

// AddRow adds a row of a file. Its texts alias the row's values.
func (r *Rows) AddRow(row Row) { SetRow(r.Add(), row) }

// SetRow fills a row of nulls with the values of a row of a file. Texts alias the row's values: clone
// those that must outlive the reader's buffers.
func SetRow(to, row Row) {
	for _, v := range row {
		to[v.Column()] = v
	}
}

// At returns a row. It is valid until a row is added.
func (r *Rows) At(i int) Row { return Row(r.cells[i*r.width : (i+1)*r.width : (i+1)*r.width]) }

// Add adds a row of nulls.
func (r *Rows) Add() Row {
	n := len(r.cells)
	r.cells = slices.Grow(r.cells, r.width)[:n+r.width]
	return Row(r.cells[n:len(r.cells):len(r.cells)])
}

// Cells returns the values of all rows, row after row.
func (r *Rows) Cells() []parquet.Value { return r.cells }

// Cut keeps the first n rows only.
func (r *Rows) Cut(n int) {
	clear(r.cells[n*r.width:])
	r.cells = r.cells[:n*r.width]
}

// Empty removes all rows and sets their table.
func (r *Rows) Empty(t *Table) {
	r.Cut(0)
	r.width = len(t.Columns)
}

// Set makes the rows a copy of of.
func (r *Rows) Set(of *Rows) {
	r.Cut(0)
	r.width, r.cells = of.width, append(r.cells, of.cells...)
}

// Object is one object of a resource: its row, and the rows of its lists. Texts may alias the body
// from which they were decoded.
type Object struct {
	Of    *Resource
	Row   Row
	Lists []Rows // as Of.Lists
	// Sent has a bit for each column, and after these for each list, that the response had from
	// which the object was decoded, if only as null. It is not stored: nothing is sent in an object
	// that was read.
	Sent uint64
}

// Begin makes the object an empty one of a resource, reusing its memory.
func (o *Object) Begin(of *Resource) {
	o.Of, o.Sent = of, 0
	if n := len(of.Table.Columns); cap(o.Row) < n {
		o.Row = make(Row, n)
	} else {
		o.Row = o.Row[:n]
		clear(o.Row)
	}
	if len(o.Lists) != len(of.Lists) {
		o.Lists = make([]Rows, len(of.Lists))
	}
	for i, t := range of.Lists {
		o.Lists[i].Empty(t)
	}
}

// Set makes the object a copy of another, reusing its memory. Both share the same texts.
func (o *Object) Set(of *Object) {
	o.Begin(of.Of)
	copy(o.Row, of.Row)
	o.Sent = of.Sent
	for i := range o.Lists {
		o.Lists[i].Set(&of.Lists[i])
	}
}

// cells calls do for all values of the object.
func (o *Object) cells(do func(values []parquet.Value)) {
	do(o.Row)
	for i := range o.Lists {
		do(o.Lists[i].cells)
	}
}

// Own makes the object a deep copy that shares no memory with the original. All its bytes are in
// one allocation.
func (o *Object) Own() {
	n := 0
	o.cells(func(values []parquet.Value) {
		for _, v := range values {
			if v.Kind() == parquet.ByteArray || v.Kind() == parquet.FixedLenByteArray {
				n += len(v.ByteArray())
			}
		}
	})
	arena := make([]byte, 0, n)
	o.Row = append(Row(nil), o.Row...)
	lists := o.Lists
	o.Lists = make([]Rows, len(lists))
	for i := range lists {
		o.Lists[i].Set(&lists[i])
	}
	o.cells(func(values []parquet.Value) {
		for i, v := range values {
			from := len(arena)
			switch v.Kind() {
			case parquet.ByteArray:
				arena = append(arena, v.ByteArray()...)
				values[i] = TextValue(arena[from:len(arena):len(arena)])
			case parquet.FixedLenByteArray:
				arena = append(arena, v.ByteArray()...)
				values[i] = parquet.FixedLenByteArrayValue(arena[from:len(arena):len(arena)])
			}
		}
	})
}

// SameObject reports whether two objects have the same content. It ignores columns that describe a
// fetch, and the query of a signed link.
func SameObject(a, b *Object) bool {
	for i := range a.Lists {
		if a.Lists[i].Len() != b.Lists[i].Len() {
			return false
		}
	}
	if !SameRow(a.Of.Table, a.Row, b.Row) {
		return false
	}
	for i, t := range a.Of.Lists {
		for n := range a.Lists[i].Len() {
			if !SameRow(t, a.Lists[i].At(n), b.Lists[i].At(n)) {
				return false
			}
		}
	}
	return true
}

// SameRow reports whether two rows of a table are equal in the compared columns.
func SameRow(t *Table, a, b Row) bool {
	for i := range t.Columns {
		if c := &t.Columns[i]; c.Compared() && !parquet.Equal(c.Content(a[i]), c.Content(b[i])) {
			return false
		}
	}
	return true
}

// Compared reports whether a column is part of its row's content.
func (c *Column) Compared() bool { return !c.Fetch && c.Parent == "" }

// Content returns the part of a value that is compared.
func (c *Column) Content(v parquet.Value) parquet.Value {
	if c.Link && !v.IsNull() {
		url, _, _ := bytes.Cut(v.ByteArray(), []byte("?"))
		return TextValue(url)
	}
	return v
}

// repeat sets the columns of the lists' rows that repeat the object's own.
func (o *Object) repeat() {
	for l, parents := range o.Of.repeats {
		rows := &o.Lists[l]
		for col, from := range parents {
			for n := range rows.Len() {
				switch from {
				default:
					rows.At(n)[col] = o.Row[from]
				case OwnPlace:
					rows.At(n)[col] = parquet.Int32Value(int32(n))
				case OwnValue:
				}
			}
		}
	}
}

// Rows yields the rows of the object, each with its table. It first fills the list columns that
// repeat the object's own.
func (o *Object) Rows() iter.Seq2[*Table, Row] {
	o.repeat()
	return func(yield func(*Table, Row) bool) {
		if !yield(o.Of.Table, o.Row) {
			return
		}
		for i, t := range o.Of.Lists {
			for n := range o.Lists[i].Len() {
				if !yield(t, o.Lists[i].At(n)) {
					return
				}
			}
		}
	}
}

// AppendRow appends the values of a row with their levels and columns, in the form of the Parquet
// library.
func (t *Table) AppendRow(dst, row Row) Row {
	for i, v := range row {
		level := 1
		if v.IsNull() || t.Columns[i].Required {
			level = 0
		}
		dst = append(dst, v.Level(0, level, i))
	}
	return dst
}

// Resource is one kind of the service's objects, and the tables for its JSON: one row of Table, and
// rows of each of Lists.
type Resource struct {
	Table *Table
	Lists []*Table

	source int // the column for the source version of the API, or -1
	// repeats holds, for each column of each list, the column of Table that it repeats, or OwnPlace
	// for the row's position, or OwnValue.
	repeats [][]int
}

// Values of Resource.Repeats for columns that do not repeat one of Table.
const (
	OwnValue = -1 // it has a value of its own
	OwnPlace = -2 // it is the row's position
)

// NewResource declares a resource by its tables.
func NewResource(t *Table, lists ...*Table) *Resource {
	r := &Resource{Table: t, Lists: lists, source: t.Column("source")}
	for _, l := range lists {
		from := make([]int, len(l.Columns))
		for i, c := range l.Columns {
			switch c.Parent {
			case "":
				from[i] = OwnValue
			case Position:
				from[i] = OwnPlace
			default:
				from[i] = t.Column(c.Parent)
			}
		}
		r.repeats = append(r.repeats, from)
	}
	return r
}

// Repeats returns, for each column of a list, the column of Table that it repeats,
// or one of OwnValue and OwnPlace.
func (r *Resource) Repeats(list int) []int { return r.repeats[list] }

// CallResource has the tables of a call's JSON, and that of its recording.
var CallResource = NewResource(&Calls, &Turns, &Items, &Recordings)

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
