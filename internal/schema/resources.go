package schema

import "github.com/parquet-go/parquet-go"

// NewTable declares a table by its fields, in the order of the service's JSON.
func NewTable(name string, fields ...Column) Table { return table(name, fields...) }

// NewResource compiles what the fields of a table, and of its lists, say of the JSON.
func NewResource(t *Table, lists ...*Table) *Resource { return resource(t, lists...) }

// ListOf is the field of an object that holds a list of objects, each a row of t.
func ListOf(t *Table, path string) Column { return Column{list: t, V3: path, V2: path} }

// DecodeObject decodes the JSON of one object of a resource; see [Decoder.Decode]. The
// object's texts alias the body and the decoder's memory until it decodes again.
func (d *Decoder) DecodeObject(of *Resource, body []byte, o *Object) error {
	return d.decode(of, body, KindItem, o)
}

// Begin makes the object an empty one of a resource, in the room that it has.
func (o *Object) Begin(of *Resource) { o.begin(of) }

// Own makes the object a copy that shares no memory with what it was.
func (o *Object) Own() { o.own() }

// SameObject says whether two objects are the same in all that their rows say of
// them: not in what columns say of a fetch.
func SameObject(a, b *Object) bool { return sameObject(a, b) }

// Compared says whether a column is a part of what its row says.
func (c *Column) Compared() bool { return c.compared() }

// TextOf returns the text of a value; nil is null.
func TextOf(v parquet.Value) []byte { return textOf(v) }

// TextValue returns a text as a value; nil is null.
func TextValue(b []byte) parquet.Value { return textValue(b) }

// InstantValue returns an instant, in ms since 1970 UTC, as a value.
func InstantValue(ms int64) parquet.Value { return instantValue(ms) }

// MillisOf returns the instant of a value in ms since 1970 UTC; 0 is null.
func MillisOf(v parquet.Value) int64 {
	if v.IsNull() {
		return 0
	}
	return floorDiv(v.Int64(), micros)
}

// SameValue says whether two values of a type say the same; JSON does where it is
// spelled in another way.
func SameValue(t Type, a, b parquet.Value) bool { return sameValue(t, a, b) }

// Object fills o from a row of a resource's table; see [RowReader.Call]. Its lists are
// emptied.
func (r *RowReader) Object(row parquet.Row, of *Resource, o *Object) error {
	o.begin(of)
	o.Lacks = r.lacking(of)
	return r.read(row, o.Row)
}
