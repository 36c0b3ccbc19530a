package question

import (
	"slices"
	"strings"

	"callhouse/internal/resource"
	"callhouse/internal/schema"
	sqlfiles "callhouse/sql"
)

// Report returns the report called name, or an *UnknownError.
func Report(name string) (*sqlfiles.File, error) {
	return first(lookUp("report", name, sqlfiles.Reports()))
}

// Table returns the table called name, or an *UnknownError.
func Table(name string) (*sqlfiles.File, error) {
	return first(lookUp("table", name, sqlfiles.ViewsByName()))
}

// Describe returns the report or table called name, or both, the report first;
// or an *UnknownError.
func Describe(name string) ([]*sqlfiles.File, error) {
	return lookUp("report or table", name, slices.Concat(sqlfiles.Reports(), sqlfiles.ViewsByName()))
}

func first(files []*sqlfiles.File, err error) (*sqlfiles.File, error) {
	if err != nil {
		return nil, err
	}
	return files[0], nil
}

func lookUp(what, name string, in []*sqlfiles.File) (found []*sqlfiles.File, err error) {
	var known []string
	for _, f := range in {
		if known = append(known, f.Name); f.Name == name {
			found = append(found, f)
		}
	}
	if len(found) == 0 {
		err = Unknown(what, name, known)
	}
	return found, err
}

// Related are the relations of what belongs to the selected calls, and the
// views that they are parts of.
var Related = map[string]string{
	"selected_turns":      "transcript_turns",
	"selected_tool_calls": "tool_calls",
	"selected_items":      "analysis_items",
}

// Views returns the views that a report reads, except runs: what reports show of these is
// beside their answer, and left out where they are closed.
func Views(f *sqlfiles.File) (out []string) {
	beside, _ := BesideOf(f)
	for _, name := range f.Reads {
		other, isReport := sqlfiles.Report(name)
		_, isView := sqlfiles.View(name)
		of, isSelected := strings.CutPrefix(name, "selected_")
		switch {
		case name == schema.Runs.Name:
		case isView:
			out = append(out, name)
		case isReport:
			out = append(out, Views(other)...)
		case Related[name] != "":
			out = append(out, schema.Calls.Name, Related[name])
		case name == beside.As, slices.ContainsFunc(resource.All, func(r *resource.Resource) bool { return r.Name == of }):
			out = append(out, schema.Calls.Name, of)
		case name == "counted_tools":
			out = append(out, schema.Calls.Name, schema.ToolCalls.Name)
		case name == "tallied_items":
			out = append(out, schema.Calls.Name, schema.Items.Name)
		case name == "selected_speech", name == "counted_speech", // which read the turns where their facts are not stored
			name == "tallied_first_words", name == "tallied_transfers":
			out = append(out, schema.Calls.Name, schema.Turns.Name)
		case name == "selected_moves": // which reads the tool calls where files lack them
			out = append(out, schema.Calls.Name, schema.ToolCalls.Name)
		case isSelected, name == "selected", name == "surrounding", strings.HasPrefix(name, "tallied"), name == "lasting":
			out = append(out, schema.Calls.Name)
		default:
			panic("the tables behind " + name + " are not declared") // a test asks for every report
		}
	}
	return out
}

// IsAgent reports whether a column of a report is an agent, as agent_id or inbound_agent_id.
func IsAgent(column string) bool { return strings.HasSuffix(column, "agent_id") }

// KeyName is the name of a group's column: that of its dimension, unless the
// report has a column of that name.
func KeyName(by string, f *sqlfiles.File) string {
	if _, taken := f.Column(by); taken {
		return "by_" + by
	}
	return by
}

// Beside is what was seen of the organisation in the time that is asked for. A report of
// it has calls beside it: those of that time, and of some weeks before and days after.
type Beside struct {
	As        string // the name of the relation
	Rows      string // its SELECT
	Since, At string // between these two it came to be
	OfAgents  bool   // the column agent_id is whose it is
	are       string // what --since and --until choose, in words
}

// besides are all of these.
var besides = []Beside{
	// What was there when its list was first read is not new, nor is what was only looked at more closely.
	{As: "selected_changes", are: "changes seen",
		Rows: `SELECT *, CASE WHEN resource IN ('agents', 'agent_versions') THEN url_decode(split_part(key, '/', 1)) END AS agent_id
FROM changes
WHERE since_at IS NOT NULL AND kind <> 'completed' AND resource NOT IN ('customers', 'incidents')`,
		Since: "since_at", At: "seen_at", OfAgents: true},
	{As: "selected_incidents", are: "incidents raised", Rows: "SELECT * FROM incidents", Since: "created_at", At: "created_at"},
}

// BesideOf returns what a report reads of that kind.
func BesideOf(f *sqlfiles.File) (Beside, bool) {
	for _, b := range besides {
		if slices.Contains(f.Reads, b.As) {
			return b, true
		}
	}
	return Beside{}, false
}

// Chosen describes what the bounds of a report's time choose, and whose agent it asks for.
func Chosen(f *sqlfiles.File) (inTime, ofAgent string) {
	b, ok := BesideOf(f)
	switch {
	case !ok:
		return "calls that start", "calls"
	case b.OfAgents:
		return b.are, "changes"
	}
	return b.are, "calls"
}
