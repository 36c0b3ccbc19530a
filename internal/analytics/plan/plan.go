package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"callhouse/internal/analytics/question"
	"callhouse/internal/analytics/sqltext"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
	sqlfiles "callhouse/sql"
)

// Plan holds the SELECT that answers a question.
type Plan struct {
	SQL    string
	Report *sqlfiles.File // with the columns of the answer
	// Small is set if the answer fits in memory: the organisation has few of the things it is grouped
	// by. A document's field may differ in every call, a month has 43,000 minutes, and lists have every call.
	Small bool
}

// Report plans a report.
func (p *Planner) Report(q question.Question) (out Plan, err error) {
	before, compares := q.Previous()
	f := shown(q.Report, q.Field != "", compares)
	if slices.Contains(f.Counts, earlier) && !q.ReadsEarlier() {
		f.History = 0
	}
	out = Plan{Report: f, SQL: p.values(q).Replace(f.SQL), Small: f.Grouped() && q.Every != "minute" && !strings.Contains(q.By, ".")}
	if f.Selects() {
		q.Report = f
		out.SQL = p.relations(q) + "\nFROM (\n" + out.SQL + ")"
		if compares {
			previous := q
			previous.Params = before
			out.Report = compared(f, out.SQL, p.relations(previous)+"\nFROM (\n"+p.values(previous).Replace(f.SQL)+")", q)
			out.SQL = out.Report.SQL
		}
	}
	if len(q.Columns) > 0 {
		out.SQL = "SELECT key, " + strings.Join(q.Columns, ", ") + " FROM (" + out.SQL + ")"
	}
	out.SQL, err = inOrder(out.Report, out.SQL, q)
	return out, err
}

// shown returns a report without the columns that need --field or a comparison, unless there is one.
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

// Table returns the SELECT of the rows of a table: those of the calls that q selects or, for runs,
// those that started within its bounds.
func (p *Planner) Table(q question.Question) string {
	text := "SELECT * FROM " + q.Report.Name + " WHERE true"
	for _, c := range []string{"call_start_at", "start_at", "started_at"} {
		if _, ok := q.Report.Column(c); ok {
			text += " AND " + bounds(narrowed(q), c)
			break
		}
	}
	switch {
	case !q.OfCalls():
		return text
	case q.Report.Name == schema.Calls.Name:
		return text + " AND " + ofCalls(q)
	}
	return text + " AND call_id IN (SELECT call_id FROM calls WHERE " + ofCalls(q) + ")"
}

// Said returns the SELECT of the summaries of calls, given their starts by id, and of the speech in
// them: call_id, who (summary, agent or user) and what, in order of the calls and their turns.
func (p *Planner) Said(calls map[string]time.Time) string {
	var ids, starts []string
	for id, start := range calls {
		ids, starts = append(ids, sqltext.Quote(id)), append(starts, sqltext.Instant(start))
	}
	// Files are sorted by the start of calls: a condition on it skips the others.
	where := fmt.Sprintf(" IN (%s) AND call_id IN (%s)", strings.Join(starts, ", "), strings.Join(ids, ", "))
	return fmt.Sprintf(`SELECT call_id, who, what
FROM (SELECT call_id, 'summary' AS who, summary AS what, -1 AS turn FROM calls WHERE start_at%s
UNION ALL SELECT call_id, role, content, turn FROM transcript_turns WHERE call_start_at%s AND role IN ('agent', 'user') AND content <> '')
ORDER BY call_id, turn`, where, where)
}

// Sums returns the SELECT of the given numbers over all selected calls. columns are the columns of
// counted_calls that the numbers need.
func (p *Planner) Sums(q question.Question, numbers, columns []string) string {
	q.Keys = nil
	slices.Sort(columns)
	return "SELECT " + strings.Join(numbers, ", ") + " FROM (" + p.counted(slices.Compact(columns), q) + ")"
}

// Seen returns the SELECT of the first and last time, in ms, of the changes that a report reads; empty
// for a report of calls alone. See [question.Question.Around].
func (p *Planner) Seen(q question.Question) string {
	if !question.OfChanges(q.Report) {
		return ""
	}
	return "SELECT coalesce(min(epoch_ms(since_at)), 0), coalesce(max(epoch_ms(seen_at)), 0) FROM (" + p.changes(q.Params) + ")"
}

// Judged returns the SELECT of the numbers of groups and days that a report of unusual days covers, of those judged by their
// number of calls, and of those judged by shares or times; empty for other reports.
func (p *Planner) Judged(q question.Question) string {
	until, _, ok := strings.Cut(q.Report.SQL, "\nSELECT key, day, measure,")
	if !ok {
		return ""
	}
	return p.relations(q) + "\nFROM (" + p.values(q).Replace(until) + "\nFROM numbers)"
}

// Found returns the SELECT of the number of calls or turns that a report with pages finds on all of them.
func (p *Planner) Found(q question.Question) string {
	q.Limit, q.Skip = 0, 0
	is := "true"
	if _, hits := q.Report.Column("found"); hits {
		is = "found"
	}
	return p.relations(q) + "\nSELECT count(*) FILTER (" + is + ") FROM (" + p.values(q).Replace(q.Report.SQL) + ")"
}

// Agents returns a relation of all agents and their numbers of calls.
func (p *Planner) Agents() string {
	text := "SELECT agent_id, calls FROM (" + p.counted([]string{"agent_id"}, question.Question{}) + ")"
	if p.fetched(resource.Agents.Name) {
		text += " UNION ALL SELECT agent_id, 0 FROM stored.agents" // agents without calls
	}
	return "(" + text + ")"
}

// NotFetched returns the names of the resources that a report, its groups or its conditions need
// and no run has fetched yet.
func (p *Planner) NotFetched(q question.Question) (out []string) {
	reads := q.Report.Reads
	for _, r := range resource.All {
		needed := slices.Contains(reads, r.Name) || slices.Contains(reads, "selected_"+r.Name) ||
			slices.ContainsFunc(q.Dimensions(), func(d question.Dimension) bool { return d.Resource == r })
		if slices.Contains(question.Accompanying, r.Name) { // without agents, nobody expects their versions
			needed = needed && p.fetched(r.Parent.Name)
		}
		if needed && !p.fetched(r.Name) && !p.childless(r.Parent) {
			out = append(out, r.Name)
		}
	}
	if question.OfChanges(q.Report) && !p.fetched(resource.Changes.Name) &&
		!slices.ContainsFunc(resource.All, func(r *resource.Resource) bool { return p.fetched(r.Name) }) {
		out = append(out, "agents, tools and other resources")
	}
	return out
}

// childless reports whether a resource was fetched and has no objects, so that there are no lists of those below them.
func (p *Planner) childless(r *resource.Resource) bool {
	return r != nil && p.fetched(r.Name) && p.snap.Manifest.Rows(r.Name) == 0
}

func (p *Planner) fetched(table string) bool {
	return p.snap.Manifest.Lists[table].ListedAt > 0 || len(p.snap.Manifest.FilesOf(table)) > 0
}

// inOrder returns a report's statement with its rows sorted by Params.Sort, ties in the report's
// own order, and limited to the first Params.Top rows.
func inOrder(f *sqlfiles.File, text string, q question.Question) (string, error) {
	if q.Sort == "" && q.Top == 0 {
		return text, nil
	}
	order := "place"
	if q.Sort != "" {
		by, err := sortKey(f, q)
		if err != nil {
			return "", err
		}
		order = by + " NULLS LAST, place"
	}
	text = fmt.Sprintf("SELECT * EXCLUDE (place) FROM (SELECT *, row_number() OVER () AS place FROM (%s)) ORDER BY %s", text, order)
	if q.Top > 0 {
		text += fmt.Sprintf(" LIMIT %d", q.Top)
	}
	return text, nil
}

// sortKey returns the column and direction of Params.Sort: by default, numbers and times descend,
// and texts and days ascend. A suffix :asc or :desc overrides that.
func sortKey(f *sqlfiles.File, q question.Question) (string, error) {
	name, direction, _ := strings.Cut(q.Sort, ":")
	if direction != "" && direction != "asc" && direction != "desc" {
		return "", &question.GroupError{What: fmt.Sprintf("unknown sort order %q", direction), Hint: "use COLUMN:asc or COLUMN:desc"}
	}
	keys := map[string]string{}
	for i, d := range q.Keys {
		keys[question.KeyName(d.Name, f)] = keyColumn(q.Keys, i)
	}
	var known []string
	for _, c := range f.Columns {
		if (c.Name != "key" || !f.Grouped()) && (len(q.Columns) == 0 || slices.Contains(q.Columns, c.Name)) {
			known = append(known, c.Name)
		}
	}
	c, isColumn := f.Column(name)
	key, isKey := keys[name]
	switch {
	case name == "agent" || isKey && name == "campaign" || isColumn && question.IsAgent(name):
		return "", &question.GroupError{What: fmt.Sprintf("cannot sort by %s: names change, and ids have no order", name),
			Hint: "sort by one of: " + strings.Join(known, ", ")}
	case isKey:
		return key + " " + cmp.Or(direction, "asc"), nil
	case !isColumn || !slices.Contains(known, name):
		for group := range keys {
			known = append(known, group)
		}
		return "", question.Unknown("column", name, known)
	}
	if direction == "" {
		direction = "desc"
		if c.Unit == "" && !strings.HasPrefix(c.Type, "TIMESTAMP") { // also weekdays and hours
			direction = "asc"
		}
	}
	return sqltext.Ident(name) + " " + direction, nil
}
