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

// Describe returns the report or table called name; if both exist, both, the report first; if neither, an *UnknownError.
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

// Related maps the relations with rows of the selected calls to the views that these rows come from.
var Related = map[string]string{
	"selected_turns":      "transcript_turns",
	"selected_tool_calls": "tool_calls",
	"selected_items":      "analysis_items",
	"selected_values":     "analysis_items", // with the costs of their calls
}

// Accompanying are the tables whose data only accompanies an answer: it is left out if the reader may not see them.
var Accompanying = []string{schema.Runs.Name, resource.AgentVersions.Name, resource.Changes.Name, schema.Recordings.Name}

// Views returns the views that a report reads, except those that only accompany it.
func Views(f *sqlfiles.File) (out []string) {
	for _, name := range f.Reads {
		_, isView := sqlfiles.View(name)
		of, isSelected := strings.CutPrefix(name, "selected_")
		switch {
		case slices.Contains(Accompanying, name), name == "produced": // made of these
		case isView:
			out = append(out, name)
		case Related[name] != "":
			out = append(out, schema.Calls.Name, Related[name])
		case name == SelectedChanges, slices.ContainsFunc(resource.All, func(r *resource.Resource) bool { return r.Name == of }):
			out = append(out, schema.Calls.Name, of)
		case isSelected, name == "selected", name == "surrounding", name == "counted_calls":
			out = append(out, schema.Calls.Name)
		default:
			panic("the tables behind " + name + " are not declared") // a test runs every report
		}
	}
	return out
}

// IsAgent reports whether a column of a report holds agents, such as agent_id or inbound_agent_id.
func IsAgent(column string) bool { return strings.HasSuffix(column, "agent_id") }

// KeyName returns the name of a group's column: that of its dimension, unless the report already has a column of that name.
func KeyName(by string, f *sqlfiles.File) string {
	if _, taken := f.Column(by); taken {
		return "by_" + by
	}
	return by
}

// SelectedChanges is the relation of the changes that a question selects. A report of them shows the
// calls around them: those of the requested time, and of some weeks before and days after.
const SelectedChanges = "selected_changes"

// OfChanges reports whether a report is one of changes.
func OfChanges(f *sqlfiles.File) bool { return slices.Contains(f.Reads, SelectedChanges) }
