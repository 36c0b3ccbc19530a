package schema

import (
	"cmp"
	"slices"
)

// Type is the logical type of a column. Types are declared here and never
// inferred from data, so that no file's column can flip.
type Type uint8

const (
	// Text is a UTF-8 string.
	Text Type = iota + 1
	// Word is a UTF-8 string out of few values, stored through a dictionary.
	Word
	// JSON is the text of one JSON value, as the service sent it.
	JSON
	// Int32 is a signed 32-bit integer.
	Int32
	// Int64 is a signed 64-bit integer.
	Int64
	// Bool is true or false.
	Bool
	// Timestamp is an instant, in microseconds since 1970-01-01 UTC. Here it is
	// held in milliseconds.
	Timestamp
	// Exact is DECIMAL(38,18): a number with every digit that was sent.
	Exact
	// Percent is DECIMAL(18,4), held as an integer count of 1/10,000.
	Percent
)

// DuckDB returns the type's name in DuckDB's SQL, as read_parquet reports it.
func (t Type) DuckDB() string {
	switch t {
	case Text, Word:
		return "VARCHAR"
	case JSON:
		return "JSON"
	case Int32:
		return "INTEGER"
	case Int64:
		return "BIGINT"
	case Bool:
		return "BOOLEAN"
	case Timestamp:
		return "TIMESTAMP WITH TIME ZONE"
	case Exact:
		return "DECIMAL(38,18)"
	case Percent:
		return "DECIMAL(18,4)"
	}
	return "VARCHAR"
}

// Column is one declared column of a table, and where its value stands in the
// JSON of the service. One that stands in none is ours: what we derive, or note of
// a fetch.
type Column struct {
	// Name is the API's v3 name of the field, or ours for what we derive.
	Name string
	// ID is the column's field id in Parquet. It is unique in its table and
	// permanent: a number that was ever used is never given to another column.
	// Columns stand in the order of their ids.
	ID int
	// Type is the logical type.
	Type Type
	// Required columns are never null.
	Required bool
	// Doc says what the column means, and Unit what it counts: ms, s, money, count,
	// percent, or nothing.
	Doc, Unit string
	// Since is the version of callhouse that the column came with, where that is
	// later than the format version of its table: then older files lack it. Only a
	// nullable column may be added so; older programs read the newer files, but do
	// not write.
	Since string

	// V3 and V2 are the places in the JSON of either version: names, with a point
	// between that of an object and that of its member. A "?" at the end says that the
	// field is left out where it is null. One without a place in a version is taken
	// from where the other has it, and not expected. Of two places that were both sent,
	// that of the object's version counts, unless it gives no value: then the other does.
	V3, V2 string
	// Known are the words that are known for the field. Others are kept, and counted.
	Known []string
	// Amount is a number that the service writes as a string with decimals.
	Amount bool
	// AnyValue is JSON of any type; other JSON is an object as a rule.
	AnyValue bool
	// Later is filled in some time after a call's end: null never takes it back.
	Later bool
	// Withheld must not outlive a caller's opt-out of storage.
	Withheld bool
	// Mask says what of the field may be masked.
	Mask Masking
	// Phone is a phone number of the call: masked, it is masked wherever it stands.
	Phone bool
	// Link is a signed URL, whose query changes without the call.
	Link bool
	// Made are the columns of the row that this one is made of: nobody may see it who may not
	// see one of them.
	Made []string
	// Fetch is about how we came by the row, and no part of what it says.
	Fetch bool
	// Parent is the column of the parent's row that this one repeats; Position
	// is the row's own place among its parent's.
	Parent string

	// List says that the field is a list of objects, each a row of this table. It is
	// no column.
	List *Table
	// Count is set on two fields with the same List, which v2 sends twice: as a whole, and
	// once more with none but the objects whose first field is one of Only. v3 sends the
	// whole under the name of the field that has Only. The column Count has the number of
	// rows; null: nothing is known of the list.
	Count string
	Only  []string
	// With are the words of the object's first field with which the service sends this
	// one even where it is null. Nil: with any.
	With []string
	// Between are two columns with instants: where nothing is sent, the value is the
	// time from the first to the second.
	Between [2]string
	// OptOut is the flag by which a caller forbids that what is Withheld is stored. What
	// is not plainly false counts as true: data that was stored cannot be unstored.
	OptOut bool
}

// Knows says whether a word is among those known for the field.
func (c *Column) Knows(word []byte) bool {
	if c.Known == nil {
		return true
	}
	for _, w := range c.Known {
		if w == string(word) {
			return true
		}
	}
	return false
}

// Position stands for a column of the parent in Column.Parent.
const Position = "#"

// Masking says what of a field may be masked.
type Masking uint8

const (
	// NeverMasked is what a call's life goes by, or what tells of nobody.
	NeverMasked Masking = iota
	// MaskWhole is a field that is masked as a whole.
	MaskWhole
	// MaskInside is one of which parts may be masked as well.
	MaskInside
)

// Table is one declared table: its rows live in files under a folder of the
// same name in every snapshot.
type Table struct {
	Name    string
	Columns []Column

	// Fields are the columns in the order of the JSON, with the lists that are none.
	Fields []Column
}

// NewTable declares a table by its fields in the order of the service's JSON.
func NewTable(name string, fields ...Column) Table {
	t := Table{Name: name, Fields: fields}
	for _, c := range fields {
		if c.ID > 0 {
			t.Columns = append(t.Columns, c)
		}
	}
	slices.SortStableFunc(t.Columns, func(a, b Column) int { return cmp.Compare(a.ID, b.ID) })
	return t
}

// ListOf is the field of an object that holds a list of objects, each a row of t.
func ListOf(t *Table, path string) Column { return Column{List: t, V3: path, V2: path} }

// Column returns the position of the column called name, or -1.
func (t *Table) Column(name string) int {
	for i := range t.Columns {
		if t.Columns[i].Name == name {
			return i
		}
	}
	return -1
}
