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
	if f, ok := sqlfiles.Report(name); ok {
		return f, nil
	}
	return nil, Unknown("report", name, names(sqlfiles.Reports()))
}

// Table returns the table called name, or an *UnknownError.
func Table(name string) (*sqlfiles.File, error) {
	if f, ok := sqlfiles.View(name); ok {
		return f, nil
	}
	return nil, Unknown("table", name, names(sqlfiles.ViewsByName()))
}

// Describe returns the report or table called name, or both, the report first;
// or an *UnknownError.
func Describe(name string) (found []*sqlfiles.File, err error) {
	all := slices.Concat(sqlfiles.Reports(), sqlfiles.ViewsByName())
	for _, f := range all {
		if f.Name == name {
			found = append(found, f)
		}
	}
	if len(found) == 0 {
		err = Unknown("report or table", name, names(all))
	}
	return found, err
}

func names(files []*sqlfiles.File) (out []string) {
	for _, f := range files {
		out = append(out, f.Name)
	}
	return out
}

// Related are the relations of what belongs to the selected calls, and the
// views that they are parts of.
func Related() map[string]string {
	return map[string]string{
		"selected_turns":      "transcript_turns",
		"selected_tool_calls": "tool_calls",
		"selected_items":      "analysis_items",
	}
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
		case Related()[name] != "":
			out = append(out, schema.Calls.Name, Related()[name])
		case name == beside.Name, slices.ContainsFunc(resource.All, func(r *resource.Resource) bool { return r.Name == of }):
			out = append(out, schema.Calls.Name, of)
		case name == "selected_speech": // which reads the turns where their facts are not stored
			out = append(out, schema.Calls.Name, schema.Turns.Name)
		case isSelected, name == "selected", name == "surrounding", name == "tallied":
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
