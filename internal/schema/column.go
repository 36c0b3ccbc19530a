package schema

import (
	"cmp"
	"slices"
)

// Type is the logical type of a column. Types are declared and never inferred from data, so a
// column has the same type in every file.
type Type uint8

const (
	// Text is a UTF-8 string.
	Text Type = iota + 1
	// Word is a UTF-8 string with few distinct values, stored with a dictionary.
	Word
	// JSON is the text of one JSON value, as the service sent it.
	JSON
	// Int32 is a signed 32-bit integer.
	Int32
	// Int64 is a signed 64-bit integer.
	Int64
	// Bool is true or false.
	Bool
	// Timestamp is an instant, in microseconds since 1970-01-01 UTC. In this program it is in
	// milliseconds.
	Timestamp
	// Exact is DECIMAL(38,18): a number with every digit that the service sent.
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

// Column is one declared column of a table, with the place of its value in the service's JSON. A
// column without a place is our own: a derived value, or data about a fetch.
type Column struct {
	// Name is the field's name in v3 of the API, or our name for a derived value.
	Name string
	// ID is the column's field id in Parquet. It is unique in its table and permanent: an id that
	// was ever used is never given to another column. Columns are in the order of their ids.
	ID int
	// Type is the logical type.
	Type Type
	// Required columns are never null.
	Required bool
	// Doc describes the column. Unit is its unit: ms, s, money, count, percent, or none.
	Doc, Unit string

	// V3 and V2 are the field's places in the JSON of each version: names, joined by a point for a
	// member of an object. A field with a place in only one version is read from that place in both.
	// If both places were sent, the place of the object's version wins, unless it has no value.
	V3, V2 string
	// Known are the known words of the field. Unknown words are stored too, and counted.
	Known []string
	// Amount is a number that the service writes as a decimal string.
	Amount bool
	// AnyValue is JSON of any type; other JSON columns normally hold an object.
	AnyValue bool
	// Later means that the field is filled in some time after a call's end. A later null does not
	// clear it.
	Later bool
	// Withheld fields must be removed if a caller opts out of storage.
	Withheld bool
	// Mask determines which parts of the field may be masked.
	Mask Masking
	// Phone is a phone number of the call. If it is masked, it is masked wherever it occurs.
	Phone bool
	// Link is a signed URL. Its query changes although the call does not.
	Link bool
	// Made are the columns from which this one is derived, of the same row or of another table,
	// such as transcript_turns.content. A user who may not see one of them may not see this one.
	Made []string
	// Fetch describes how the row was fetched; it is not part of the row's content.
	Fetch bool
	// Parent is the column of the parent's row that this one repeats. Position stands for the row's
	// own place among its parent's rows.
	Parent string

	// List marks a field that is a list of objects, each a row of this table. Such a field is not a
	// column.
	List *Table
	// Count is set on two fields with the same List, which v2 sends twice: once whole, and once
	// with some of the objects, as Short. v3 sends the whole list under the name of the field that
	// is Short. The column Count holds the number of rows; null if the list is unknown.
	Count string
	Short bool
	// Between are two columns with instants. If the field is not sent, its value is the time
	// from the first to the second.
	Between [2]string
	// OptOut is the flag with which a caller forbids storing Withheld fields. Anything but a plain
	// false counts as true, since stored data cannot be unstored.
	OptOut bool
}

// Knows reports whether a word is one of the field's known words, if these are known.
func (c *Column) Knows(word []byte) bool {
	return c.Known == nil || slices.ContainsFunc(c.Known, func(w string) bool { return w == string(word) })
}

// Position stands for a column of the parent in Column.Parent.
const Position = "#"

// Masking determines which parts of a field may be masked.
type Masking uint8

const (
	// NeverMasked is a field that decides a call's life cycle, or that identifies nobody.
	NeverMasked Masking = iota
	// MaskWhole is a field that is masked as a whole only.
	MaskWhole
	// MaskInside is a field of which single parts may be masked as well.
	MaskInside
)

// Table is one declared table. Its rows are in files under a folder of the same name in every
// snapshot.
type Table struct {
	Name    string
	Columns []Column

	// Fields are the columns in the order of the JSON, and the lists, which are not columns.
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

// Column returns the position of the column called name, or -1.
func (t *Table) Column(name string) int {
	for i := range t.Columns {
		if t.Columns[i].Name == name {
			return i
		}
	}
	return -1
}
