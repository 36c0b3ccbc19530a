package plan

import (
	"fmt"
	"slices"
	"strings"

	"callhouse/internal/analytics/question"
	"callhouse/internal/resource"
	sqlfiles "callhouse/sql"
)

// Plan is how a report is answered: the statements that set the variables of a connection, and
// then the SELECT.
type Plan struct {
	Variables string
	SQL       string
	Report    *sqlfiles.File // with the columns that the answer has
	// Small is set for an answer that may be held as a whole: it has groups, and
	// these are by what the organisation has few of. A document may have another value in
	// each call, and a month has 43,000 minutes.
	Small bool
}

// Report plans a report.
func (p *Planner) Report(q question.Question) (out Plan, err error) {
	previous, compares := q.Previous()
	f := shown(q.Report, q.Field != "", compares)
	out = Plan{Report: f, SQL: f.SQL, Small: f.Grouped() && q.Every != "minute" && !strings.Contains(q.By, ".")}
	if f.Selects() {
		q.Report, previous.Report = f, f
		out.Variables, out.SQL = p.variables(q), withList(p.relations(q), f.SQL)
		if compares {
			out.Variables = p.variables(previous)
			out.Report = compared(f, out.SQL, withList(p.relations(previous), f.SQL), q.Params)
			out.SQL = out.Report.SQL
		}
	}
	if f.Arguments != "" {
		out.Variables += arguments(q)
	}
	if len(q.Columns) > 0 {
		out.SQL = "SELECT key, " + strings.Join(q.Columns, ", ") + " FROM (" + out.SQL + ")"
	}
	out.SQL, err = inOrder(out.Report, out.SQL, q)
	return out, err
}

// shown returns a report without the columns that only --field gives it, and without those for
// comparisons alone.
func shown(f *sqlfiles.File, withField, compares bool) *sqlfiles.File {
	var without []string
	if !withField {
		without = f.Fielded
	}
	out := *f
	out.Columns = slices.DeleteFunc(slices.Clone(f.Columns), func(c sqlfiles.Column) bool { return slices.Contains(without, c.Name) })
	if !compares {
		without = slices.Concat(without, f.Hidden)
	}
	if len(without) > 0 {
		out.SQL = fmt.Sprintf("SELECT * EXCLUDE (%s) FROM (%s)", strings.Join(without, ", "), f.SQL)
	}
	return &out
}

// withList returns a statement with further relations before its own.
func withList(with, text string) string {
	if own, ok := strings.CutPrefix(text, "WITH "); ok {
		return "WITH " + with + ",\n" + own
	}
	return "WITH " + with + "\n" + text
}

// Table returns the SELECT of a table's rows, of the calls that q selects; of runs those that
// started within its bounds.
func (p *Planner) Table(q question.Question) string {
	terms := []string{"true"}
	for _, c := range []string{"call_start_at", "start_at", "started_at"} {
		if _, ok := q.Report.Column(c); ok {
			terms = bounds(q.Params, c)
			break
		}
	}
	switch {
	case !q.OfCalls():
	case q.Report.Name == "calls":
		terms = append(terms, ofCalls(q))
	default:
		terms = append(terms, "call_id IN (SELECT call_id FROM calls WHERE "+ofCalls(q)+")")
	}
	return "SELECT * FROM " + q.Report.Name + " WHERE " + strings.Join(terms, " AND ")
}

// Sums returns the SELECT of numbers of the selected calls, as one group, over the columns of
// tallied that these read.
func (p *Planner) Sums(q question.Question, numbers, columns []string) string {
	q.Keys = nil
	slices.Sort(columns)
	return "SELECT " + strings.Join(numbers, ", ") + " FROM (" + p.tallied(slices.Compact(columns), q) + ")"
}

// Seen returns the SELECT of the first and last time, in ms, of what a report has calls beside;
// empty for a report of calls alone. See [question.Question.Around].
func (p *Planner) Seen(q question.Question) string {
	b, ok := question.BesideOf(q.Report)
	if !ok {
		return ""
	}
	return fmt.Sprintf("SELECT coalesce(min(epoch_ms(%s)), 0), coalesce(max(epoch_ms(%s)), 0) FROM (%s)", b.Since, b.At, seen(b, q.Params))
}

// Agents returns a relation of all agents with how many calls each has.
func (p *Planner) Agents() string {
	text := "SELECT agent_id, calls FROM (" + p.tallied([]string{"agent_id"}, question.Question{}) + ")"
	if p.fetched(resource.Agents.Name) {
		text += " UNION ALL SELECT agent_id, 0 FROM stored.agents" // also those without calls
	}
	return "(" + text + ")"
}

// NotFetched returns the names of the resources that a report or its groups and conditions
// need, and that no run has fetched yet.
func (p *Planner) NotFetched(q question.Question) (out []string) {
	reads := q.Report.Reads
	for _, r := range resource.All {
		needed := slices.Contains(reads, r.Name) || slices.Contains(reads, "selected_"+r.Name) ||
			slices.ContainsFunc(q.Asked(), func(d question.Dimension) bool { return d.Of == r })
		if needed && !p.fetched(r.Name) {
			out = append(out, r.Name)
		}
	}
	if slices.Contains(reads, resource.Changes.Name) && !p.fetched(resource.Changes.Name) &&
		!slices.ContainsFunc(resource.All, func(r *resource.Resource) bool { return p.fetched(r.Name) }) {
		out = append(out, "agents, tools and other resources")
	}
	return out
}

func (p *Planner) fetched(table string) bool {
	return p.snap.Manifest.Lists[table].ListedAt > 0 || len(p.snap.Manifest.FilesOf(table)) > 0
}
