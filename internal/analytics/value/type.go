// Package value holds query results: typed columns, values that keep every digit, and their exact
// text and JSON.
//
// A value is one of: nil, bool, int64, uint64, *big.Int, float32, float64, [Decimal], string,
// [JSON], []byte, [Date], [Clock], [ZonedClock], [LocalTime], time.Time (an instant), [Infinity],
// [Interval], [List], [Struct], [Map] and [Union]. The package opens nothing and does not depend on
// DuckDB or the terminal.
package value

// Kind classifies a column's values for writers.
type Kind uint8

const (
	Other    Kind = iota // other text
	Bool                 // bool
	Integer              // int64, uint64, *big.Int
	Float                // float32, float64
	Exact                // Decimal
	Text                 // string
	Document             // JSON
	Bytes                // []byte
	Day                  // Date
	Local                // LocalTime: a date and time without a zone
	Instant              // time.Time
	Nested               // List, Struct, Map, Union
	Drawing              // multi-line string, such as a query plan
)

// Numeric reports whether values of the kind are numbers.
func (k Kind) Numeric() bool { return k == Integer || k == Float || k == Exact }

// Unit is a number's unit, as spelled in the headers of the .sql files.
type Unit string

const (
	NoUnit  Unit = ""
	Millis  Unit = "ms"      // shown as 1m 23s
	Percent Unit = "percent" // 0 to 100; drawn as a bar on a terminal
	Count   Unit = "count"   // shown with thousands separators
	Money   Unit = "money"   // like Count, with two to four decimals
	Number  Unit = "number"  // such as a mean: one decimal
	Points  Unit = "points"  // a difference or score: its sign and one decimal
)

// Column is a column of a result.
type Column struct {
	Name string
	Type string // in DuckDB's spelling
	Kind Kind
	Unit Unit
	// Fields are those of a struct.
	Fields []Column

	// For tables that people read:
	Label string // the heading; empty: Name
	Null  string // text for null
	Key   bool   // the group of a report, equal in neighbouring rows
	Wrap  bool   // wrapped, not cut, on a narrow terminal
}
