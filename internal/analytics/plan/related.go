package plan

import (
	"fmt"
	"slices"

	"callhouse/internal/analytics/question"
)

// related returns a relation of the rows that belong to the selected calls, as part of a WITH list.
// Its rows carry the start of their call, so bounds need no join; groups and other conditions do.
func (p *Planner) related(name string, q question.Question) string {
	text := p.belonging(question.Related[name], q)
	if name == "selected_values" {
		text = values(q)
	}
	return name + " AS NOT MATERIALIZED (" + text + ")"
}

// belonging returns the SELECT of the rows that belong to the selected calls. What depends only on
// the start of a call needs no join.
func (p *Planner) belonging(rows string, q question.Question) string {
	where := bounds(narrowed(q), "call_start_at")
	switch {
	case q.Agent != "" || slices.ContainsFunc(q.Asked(), func(d question.Dimension) bool { return !d.OfTime() }):
		return joined(rows, "", q)
	case len(q.Asked()) == 0:
		return "SELECT CAST(NULL AS VARCHAR) AS key, * FROM " + rows + " WHERE " + where
	}
	started := "SELECT *, local_time(call_start_at) AS local_start FROM " + rows + " WHERE " + where
	return "SELECT " + keyExpr(q.Keys, column) + " AS key, * FROM (" + withFacts([]string{question.LocalHour}, started) +
		") WHERE true" + conditions(q, column)
}

// values returns the SELECT of the selected calls in which a field that can mean success was found,
// with whether it does, and their costs.
func values(q question.Question) string {
	return "SELECT key, name, bool_or(value_success(name, value)) AS succeeded, any_value(total_cost) AS total_cost, " +
		"any_value(credits_used) AS credits_used FROM (" +
		joined("(SELECT * FROM analysis_items WHERE value_success(name, value) IS NOT NULL)", ", total_cost, credits_used", q) +
		") GROUP BY key, call_id, name"
}

// joined returns the SELECT of rows joined with the selected calls, with these columns of the calls
// besides the key.
func joined(rows, columns string, q question.Question) string {
	return fmt.Sprintf("SELECT s.* EXCLUDE (call_id), t.* FROM (SELECT * FROM %s WHERE %s) t "+
		"JOIN (SELECT key, call_id%s FROM selected) s USING (call_id)", rows, bounds(narrowed(q), "call_start_at"), columns)
}
