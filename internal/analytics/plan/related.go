package plan

import (
	"fmt"
	"slices"

	"callhouse/internal/analytics/question"
)

// related returns a relation of the rows that belong to the selected calls, as part of a WITH list.
// Its rows carry the start of their call, so bounds need no join; groups and other conditions do.
func related(name string, q question.Question) string {
	text := belonging(question.Related[name], q)
	switch {
	case name == "selected_values":
		text = successes(q)
	case joins(name, q):
		text = joined(question.Related[name], "", q)
	}
	return name + " AS NOT MATERIALIZED (" + text + ")"
}

// joins reports whether a relation, if it is such one, needs a join with the selected calls: groups
// and conditions that depend on more than the start of a call do.
func joins(name string, q question.Question) bool {
	return question.Related[name] != "" && (name == "selected_values" || q.Agent != "" ||
		slices.ContainsFunc(q.Dimensions(), func(d question.Dimension) bool { return !d.OfTime() }))
}

// belonging returns the SELECT of the rows that belong to the selected calls without a join.
func belonging(rows string, q question.Question) string {
	where := bounds(narrowed(q), "call_start_at")
	if len(q.Dimensions()) == 0 {
		return "SELECT CAST(NULL AS VARCHAR) AS key, * FROM " + rows + " WHERE " + where
	}
	started := "SELECT *, local_time(call_start_at) AS local_start FROM " + rows + " WHERE " + where
	return "SELECT " + keyExpr(q.Keys, column) + " AS key, * FROM (" + withFacts([]string{question.LocalHour}, started) +
		") WHERE true" + conditions(q, column)
}

// successes returns the SELECT of the selected calls in which a field that can mean success was found,
// with whether it does, and their costs.
func successes(q question.Question) string {
	name, wanted := field(q)
	success := "value_success(name, value, " + name + ", " + wanted + ")"
	items := "(SELECT * REPLACE (nfc_normalize(name) AS name) FROM analysis_items WHERE " + success + " IS NOT NULL)"
	return "SELECT key, name, bool_or(" + success + ") AS succeeded, any_value(total_cost) AS total_cost, " +
		"any_value(credits_used) AS credits_used FROM (" +
		joined(items, ", total_cost, credits_used", q) +
		") GROUP BY key, call_id, name"
}

// joined returns the SELECT of rows joined with the selected calls, with these columns of the calls besides the key.
func joined(rows, columns string, q question.Question) string {
	return fmt.Sprintf("SELECT s.* EXCLUDE (call_id), t.* FROM (SELECT * FROM %s WHERE %s) t "+
		"JOIN (SELECT key, call_id%s FROM selected) s USING (call_id)", rows, bounds(narrowed(q), "call_start_at"), columns)
}
