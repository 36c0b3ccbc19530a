package plan

import (
	"fmt"
	"slices"
	"strings"

	"callhouse/internal/analytics/question"
	"callhouse/internal/analytics/stored"
	"callhouse/internal/schema"
)

// related returns a relation of the rows that belong to the selected calls, as part of a WITH list.
// Its rows carry the start of their call, so bounds need no join; groups and other conditions do.
func (p *Planner) related(name string, q question.Question) string {
	text := p.belonging(question.Related[name], q)
	if name == "selected_values" {
		text = p.values(q)
	}
	return name + " AS NOT MATERIALIZED (" + text + ")"
}

// belonging returns the SELECT of the rows that belong to the selected calls. What depends only on
// the start of a call needs no join.
func (p *Planner) belonging(rows string, q question.Question) string {
	where := bounds(narrowed(q), "call_start_at")
	switch {
	case q.Agent != "" || slices.ContainsFunc(q.Asked(), func(d question.Dimension) bool { return !d.OfTime() }):
	case len(q.Asked()) == 0:
		return "SELECT CAST(NULL AS VARCHAR) AS key, * FROM " + rows + " WHERE " + where
	default:
		started := "SELECT *, local_time(call_start_at) AS local_start FROM " + rows + " WHERE " + where
		return "SELECT " + keyExpr(q.Keys, column) + " AS key, * FROM (" + withFacts([]string{question.LocalHour}, started) +
			") WHERE true" + conditions(q, column)
	}
	return strings.Join(p.joined(rows, "", q), "\nUNION ALL ")
}

// values returns the SELECT of the selected calls in which a field that can mean success was found,
// with whether it does, and their costs. Each part is counted alone, which takes less memory.
func (p *Planner) values(q question.Question) string {
	parts := p.joined("(SELECT * FROM analysis_items WHERE value_success(name, value) IS NOT NULL)", ", total_cost, credits_used", q)
	for i, part := range parts {
		parts[i] = "SELECT key, name, bool_or(value_success(name, value)) AS succeeded, any_value(total_cost) AS total_cost, " +
			"any_value(credits_used) AS credits_used FROM (" + part + ") GROUP BY key, call_id, name"
	}
	return strings.Join(parts, "\nUNION ALL ")
}

// joined returns the SELECTs of the parts of a join of rows with the selected calls, with these columns
// of the calls besides the key.
func (p *Planner) joined(rows, columns string, q question.Question) (parts []string) {
	for _, months := range p.months(q) {
		parts = append(parts, fmt.Sprintf("SELECT s.* EXCLUDE (call_id), t.* FROM (SELECT * FROM %s WHERE %s%s) t "+
			"JOIN (SELECT key, call_id%s FROM selected WHERE true%s) s USING (call_id)",
			rows, bounds(narrowed(q), "call_start_at"), months, columns, months))
	}
	return parts
}

// partCalls is the minimum number of calls in a part of a join, except the last.
const partCalls = 1 << 20

// months returns conditions on the month that divide the calls into parts. Joining all calls at once
// would take memory for each of them.
func (p *Planner) months(q question.Question) (out []string) {
	calls, in, all := int64(0), "", narrowed(q)
	for _, f := range p.snap.Manifest.NewestFirst(schema.Calls.Name) {
		if misses(all, f) {
			continue
		}
		if month := stored.Quote(f.Period[:len("2026-10")]); !strings.HasSuffix(in, month) {
			if calls >= partCalls {
				out, calls, in = append(out, " AND month IN ("+in+")"), 0, ""
			}
			in = strings.TrimPrefix(in+", "+month, ", ")
		}
		calls += f.Rows
	}
	if out == nil {
		return []string{""}
	}
	return append(out, " AND month IN ("+in+")")
}
