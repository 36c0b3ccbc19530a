// Package value holds query results: typed columns, values that keep every digit, their exact text and
// JSON, and their text for people. It opens nothing and does not depend on DuckDB or the terminal.
package value

// Kind classifies values, and the values of a column.
type Kind uint8

// The kinds.
const (
	Null Kind = iota
	Bool
	Integer
	Float
	Exact // a decimal
	Text
	UUID
	Document // JSON
	Bytes
	Day
	Local    // a date and time without a zone
	Instant  // a point in time
	Infinite // a date or time before (-1) or after (+1) all others
	Clock    // a time of day
	Zoned    // a time of day; High: its offset from UTC in seconds
	Span     // an interval of microseconds; High: months << 32 | days
	List     // or an ARRAY
	Struct
	Map
	Drawing // of a column: multi-line text, such as a query plan
)

// Numeric reports whether values of the kind are numbers.
func (k Kind) Numeric() bool { return k == Integer || k == Float || k == Exact }

// Nested reports whether values of the kind have parts.
func (k Kind) Nested() bool { return k >= List && k <= Map }

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
	Short bool   // instants have no fractions of a second
}
