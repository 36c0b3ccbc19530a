package plan

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"callhouse/internal/analytics/question"
	sqlfiles "callhouse/sql"
)

// kindColumns are the columns that define a kind of calls: they determine how a call ended. name is
// the column of tallied; of is its expression over the view calls.
var kindColumns = []struct{ name, of string }{
	{"is_started", "start_at IS NOT NULL"},
	{"status", "status"},
	{"disconnection_reason", "disconnection_reason"},
	{"settlement", "settlement"},
	{"transcript_state", "transcript_state"},
	{"caller_spoke", "user_turns > 0"},
	{"short_step", "short_step_of(duration_ms)"},
}

// kindFacts are the columns of the view calls that are equal for all calls of a kind.
var kindFacts = []string{"is_connected", "is_voicemail", "is_conversed", "is_answered", "outcome", "outcome_kind", "is_completed"}

// readsEnds finds the kindFacts that are slow to compute.
var readsEnds = regexp.MustCompile(`\b(outcome|outcome_kind|is_completed)\b`)

// decides reports whether a report reads how each of many calls ended. There are about a hundred
// kinds of calls: looking up a call's kind takes a tenth of the time of computing its outcome. A
// report that also reads tallies reads few calls.
func decides(q question.Question) bool {
	asked := q.Report.SQL
	if slices.Contains(q.Report.Reads, "tallied_moves") {
		asked += sqlfiles.Relation("tallied_moves")
	}
	for _, d := range q.Asked() {
		asked += " " + d.InCalls()
	}
	return q.Report.Grouped() && readsEnds.MatchString(asked) && !slices.Contains(q.Report.Reads, "tallied") &&
		slices.ContainsFunc(q.Report.Reads, func(r string) bool { return r == surrounding || strings.HasPrefix(r, "selected") })
}

// decided returns the FROM item for the view calls, with the kindFacts taken from the table kinds
// if that is faster.
func decided(q question.Question) string {
	if !decides(q) {
		return "calls"
	}
	var on, facts []string
	for _, c := range kindColumns {
		on = append(on, fmt.Sprintf("(%s) IS NOT DISTINCT FROM kind_%s", c.of, c.name))
	}
	for _, name := range kindFacts {
		facts = append(facts, fmt.Sprintf("kind_%s AS %s", name, name))
	}
	return fmt.Sprintf("(SELECT calls.* REPLACE (%s) FROM calls JOIN kinds ON %s) calls", strings.Join(facts, ", "), strings.Join(on, " AND "))
}

// kinds returns the statement that creates the table kinds for a report, from tallies as far as
// possible. It is no relation of the report's own statement, because DuckDB would take that for
// larger than the calls and choose the wrong join order.
func (p *Planner) kinds(q question.Question) string {
	if !decides(q) {
		return ""
	}
	of := narrowed(question.Question{Params: question.Params{Since: p.historyOf(q), Until: q.Until}, Filters: q.Filters})
	if before, compares := q.Previous(); compares {
		of.Since = before.Since
	}
	if slices.Contains(q.Report.Reads, surrounding) {
		of = wider(of)
	}
	var columns, kinds []string
	for _, c := range kindColumns {
		columns = append(columns, c.name)
		kinds = append(kinds, c.name+" AS kind_"+c.name)
	}
	for _, name := range kindFacts {
		kinds = append(kinds, name+" AS kind_"+name)
	}
	counted := p.counted(columns, nil, question.Question{Params: of, Report: q.Report})
	return fmt.Sprintf("CREATE OR REPLACE TEMP TABLE kinds AS SELECT %s FROM (%s);\n", strings.Join(kinds, ", "),
		withFacts(columns, "SELECT DISTINCT "+strings.Join(columns, ", ")+" FROM ("+counted+")"))
}
