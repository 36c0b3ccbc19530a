// Package value holds what a query gives: columns with their types, values
// that keep every digit, and their exact text and JSON.
//
// A value is one of: nil, bool, int64, uint64, *big.Int, float32, float64,
// [Decimal], string, [JSON], []byte, [Date], [Clock], [ZonedClock], [LocalTime],
// time.Time (an instant), [Infinity], [Interval], [List], [Struct], [Map] and
// [Union]. The package opens nothing and knows neither DuckDB nor the terminal.
package value

// Kind says what a column's values are, as far as writers care.
type Kind uint8

const (
	Other    Kind = iota // text of some kind
	Bool                 // bool
	Integer              // int64, uint64, *big.Int
	Float                // float32, float64
	Exact                // Decimal
	Text                 // string
	Document             // JSON
	Bytes                // []byte
	Day                  // Date
	Local                // LocalTime: a time of day in no stated zone
	Instant              // time.Time
	Nested               // List, Struct, Map, Union
	Drawing              // string of several lines that belong together, as a query's plan
)

// Numeric reports whether values of the kind are numbers.
func (k Kind) Numeric() bool { return k == Integer || k == Float || k == Exact }

// Unit says what a number counts, as the headers of the .sql files spell it.
type Unit string

const (
	NoUnit  Unit = ""
	Millis  Unit = "ms"      // people read it as 1m 23s
	Percent Unit = "percent" // 0 to 100; a terminal draws it as a bar
	Count   Unit = "count"   // people read it with thousands separators
	Money   Unit = "money"   // as Count, with two decimals, or what matters of four
	Number  Unit = "number"  // a mean and the like: one decimal
	Points  Unit = "points"  // a difference or score: its sign and one decimal
)

// Column is a column of a result.
type Column struct {
	Name string
	Type string // as DuckDB spells it
	Kind Kind
	Unit Unit
	// Fields are those of a struct.
	Fields []Column

	// What follows is for tables that people read.
	Label string // the heading; empty: Name
	Null  string // what stands for null
	Key   bool   // the group of a report, alike in neighbouring rows
	Wrap  bool   // broken into lines where a terminal has no room, not cut
}
