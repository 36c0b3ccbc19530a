package schema

import "slices"

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

// Column is one declared column of a table.
type Column struct {
	// Name is the API's v3 name of the field, or ours for what we derive.
	Name string
	// ID is the column's field id in Parquet. It is unique in its table and
	// permanent: a number that was ever used is never given to another column.
	ID int
	// Type is the logical type.
	Type Type
	// Required columns are never null.
	Required bool
}

// Table is one declared table: its rows live in files under a folder of the
// same name in every snapshot.
type Table struct {
	Name    string
	Columns []Column
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

// Month is the column that readers make of the name of the folder in which a file
// of [CallTables] lies, as in month=2026-11: the UTC month of start_at, or of
// first_seen_at for a call that has no start yet. The files themselves have it up
// to version 2 only (field ids 32, 12 and 8), since many readers refuse a column
// that is in both.
const Month = "month"

// Calls holds one row per call. Sorted by start_at (nulls last), then call_id.
// user_turns is counted from the call's turns: see [Call.UserTurns].
var Calls = Table{Name: "calls", Columns: []Column{
	{"call_id", 1, Text, true},
	{"agent_id", 2, Word, false},
	{"agent_version", 3, Word, false},
	{"call_type", 4, Word, false},
	{"status", 5, Word, false},
	{"disconnection_reason", 6, Word, false},
	{"from_number", 7, Text, false},
	{"to_number", 8, Text, false},
	{"presentation_number", 9, Word, false},
	{"start_at", 10, Timestamp, false},
	{"end_at", 11, Timestamp, false},
	{"duration_ms", 12, Int64, false},
	{"total_cost", 13, Exact, false},
	{"credits_used", 14, Exact, false},
	{"billed_seconds", 15, Exact, false},
	{"summary", 16, Text, false},
	{"user_sentiment", 17, Word, false},
	{"evaluation", 18, JSON, false},
	{"metadata", 19, JSON, false},
	{"dynamic_variables", 20, JSON, false},
	{"variant_label", 21, Word, false},
	{"recording_url", 22, Text, false},
	{"opt_out_sensitive_data_storage", 23, Bool, false},
	{"turn_count", 24, Int32, false},
	{"transcript_state", 25, Word, true},
	{"settlement", 26, Word, true},
	{"source", 27, Word, true},
	{"extra", 28, JSON, false},
	{"first_seen_at", 29, Timestamp, true},
	{"fetched_at", 30, Timestamp, true},
	{"run_id", 31, Word, true},
	{userTurns, 33, Int32, false},
}}

// Turns holds one row per transcript item, in the order of its call's time
// line. Sorted as Calls, then by turn. arguments and extra are JSON; a
// tool result's content is kept as the service sent it, a string. fetched_at is
// the call's.
var Turns = Table{Name: "transcript_turns", Columns: []Column{
	{"call_id", 1, Text, true},
	{"turn", 2, Int32, true},
	{"role", 3, Word, false},
	{"content", 4, Text, false},
	{"start_at", 5, Timestamp, false},
	{"end_at", 6, Timestamp, false},
	{"tool_call_id", 7, Text, false},
	{"tool_name", 8, Word, false},
	{"arguments", 9, JSON, false},
	{"extra", 10, JSON, false},
	{"call_start_at", 11, Timestamp, false},
	{"fetched_at", 13, Timestamp, false},
}}

// Items holds one row per custom analysis item, in the order sent.
// Sorted as Calls, then by position.
var Items = Table{Name: "analysis_items", Columns: []Column{
	{"call_id", 1, Text, true},
	{"position", 2, Int32, true},
	{"name", 3, Word, false},
	{"type", 4, Word, false},
	{"value", 5, JSON, false},
	{"extra", 6, JSON, false},
	{"call_start_at", 7, Timestamp, false},
	{"fetched_at", 9, Timestamp, false},
}}

// Runs holds one row per run of extract, in the order in which they started.
// It is one file, runs/runs.parquet, in every snapshot.
var Runs = Table{Name: "runs", Columns: []Column{
	{"run_id", 1, Text, true},
	{"started_at", 2, Timestamp, true},
	{"ended_at", 3, Timestamp, false},
	{"outcome", 4, Word, true},
	{"error", 5, Text, false},
	{"version", 6, Word, false},
	{"requests", 7, Int64, true},
	{"page_requests", 8, Int64, true},
	{"detail_requests", 9, Int64, true},
	{"retries", 10, Int64, true},
	{"rate_limited", 11, Int64, true},
	{"server_errors", 12, Int64, true},
	{"network_errors", 13, Int64, true},
	{"pages", 14, Int64, true},
	{"calls_listed", 15, Int64, true},
	{"calls_new", 16, Int64, true},
	{"calls_changed", 17, Int64, true},
	{"calls_settled", 18, Int64, true},
	{"calls_pending", 19, Int64, true},
	{"calls_missing", 20, Int64, true},
	{"calls_set_aside", 21, Int64, true},
	{"transcripts", 22, Int64, true},
	{"turns", 23, Int64, true},
	{"drift", 24, Int64, true},
	{"drift_fields", 25, JSON, false},
	{"total_count", 26, Int64, false},
	{"budget_used_percent", 27, Percent, false},
	{"commits", 28, Int64, true},
}}

// WordTallies holds, of one file of calls, how many there are for each
// combination of these words, and sums over them. caller_spoke says whether
// user_turns is above 0, and is null where that is. short_step is the step of 5
// seconds that a call lasted, from 0 to 10 seconds, which stands for all longer
// ones; null where the duration is not known. Sums are null where nothing
// was summed; timed_cost is the cost of calls whose duration is known, costed_ms
// the duration of those whose cost is. unheld_costs is [Call.CostUnheld]; files
// before version 3 have none.
var WordTallies = Table{Name: "word_tallies", Columns: append([]Column{
	{"agent_id", 1, Word, false},
	{"agent_version", 2, Word, false},
	{"call_type", 3, Word, false},
	{"status", 4, Word, false},
	{"disconnection_reason", 5, Word, false},
	{"user_sentiment", 6, Word, false},
	{"variant_label", 7, Word, false},
	{"transcript_state", 8, Word, true},
	{"settlement", 9, Word, true},
	{"opted_out", 10, Bool, true},
	{"is_started", 11, Bool, true},
	{"caller_spoke", 12, Bool, false},
	{"short_step", 13, Int64, false},
}, tallied...)}

// QuarterTallies holds the same numbers for each quarter of an hour in which
// calls started, and few words. start_at is its beginning; null: calls without a
// start. Sorted by it, nulls last.
var QuarterTallies = Table{Name: "quarter_tallies", Columns: append([]Column{
	{"start_at", 1, Timestamp, false},
	{"status", 2, Word, false},
	{"disconnection_reason", 3, Word, false},
	{"user_sentiment", 4, Word, false},
	{"settlement", 5, Word, true},
	{"transcript_state", 6, Word, true},
	{"caller_spoke", 7, Bool, false},
	{"short_step", 8, Int64, false},
}, tallied...)}

// LengthTallies holds the same numbers for each step of 5 seconds that calls last.
// duration_step is its beginning in ms; null: calls whose duration is not known.
var LengthTallies = Table{Name: "length_tallies", Columns: append([]Column{
	{"duration_step", 1, Int64, false},
	{"status", 2, Word, false},
	{"disconnection_reason", 3, Word, false},
	{"is_started", 4, Bool, true},
}, tallied...)}

// tallied are the numbers of a row of tallies.
var tallied = []Column{
	{"calls", 101, Int64, true},
	{"timed_calls", 102, Int64, true},
	{"total_ms", 103, Int64, false},
	{"max_ms", 104, Int64, false},
	{"costed_calls", 105, Int64, true},
	{"total_cost", 106, Exact, false},
	{"timed_cost", 107, Exact, false},
	{"costed_ms", 108, Int64, false},
	{"unheld_costs", 109, Int64, false},
}

// CallTables are the tables whose files are partitioned by month and day, in
// the order in which they are written.
var CallTables = []*Table{&Calls, &Turns, &Items}

// TallyTables are counted from the calls of a month when it is compacted, so that
// reports need not read these: see [Tallies].
var TallyTables = []*Table{&WordTallies, &LengthTallies, &QuarterTallies}

// Tables are all tables of a warehouse but for the tallies.
var Tables = []*Table{&Calls, &Turns, &Items, &Runs}

// Added are the columns that came after the format version of [Calls] and its like,
// oldest first, each with the version of callhouse that it came with. A nullable
// column may be added so: older files lack it, and older programs read the newer
// files, but do not write.
var Added []AddedColumn

// AddedColumn is a column of a table that came later.
type AddedColumn struct {
	Table  *Table
	Column string
	Since  string
}

// PeriodTables are the tables with a file for each period, calls first; AllTables
// are all that have files.
var (
	PeriodTables = slices.Concat(CallTables, TallyTables)
	AllTables    = slices.Concat(Tables, TallyTables)
)
