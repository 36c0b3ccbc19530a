package plan

import (
	"time"

	"callhouse/internal/analytics/question"
	"callhouse/internal/analytics/sqltext"
)

// where returns the condition that selects rows of calls.
func where(q question.Question) string { return bounds(narrowed(q), "start_at") + ofAgent(q.Params) }

// VersionsOf returns a relation of the versions of an agent, or of all, that calls or publications name.
func VersionsOf(agent string) string {
	return "(FROM (SELECT agent_id, agent_version FROM calls UNION ALL SELECT agent_id, version FROM agent_versions) WHERE true" +
		ofAgent(question.Params{Agent: agent}) + ")"
}

// ofAgent returns the condition on the agent that p selects, if any.
func ofAgent(p question.Params) string {
	if p.Agent == "" {
		return ""
	}
	return " AND agent_id = " + sqltext.Quote(p.Agent)
}

// conditions returns a question's conditions on dimensions, each of which is SQL by expr.
func conditions(q question.Question, expr func(question.Dimension) string) (text string) {
	for _, f := range q.Filters {
		text += " AND " + f.Where(expr(f.Dimension))
	}
	return text
}

// column returns a dimension over rows that have its columns.
func column(d question.Dimension) string { return d.Expr }

// ofCalls returns the condition that selects rows of the view calls.
func ofCalls(q question.Question) string {
	return where(q) + conditions(q, question.Dimension.InCalls)
}

// narrowed returns bounds that contain the start of every call that may be selected: those of the
// question, narrowed by its conditions.
func narrowed(q question.Question) question.Params {
	p := q.Params
	for _, f := range q.Filters {
		of, ok := f.Within()
		if !ok {
			continue
		}
		if of.Since.After(p.Since) {
			p.Since = of.Since
		}
		if p.Until.IsZero() || of.Until.Before(p.Until) {
			p.Until = of.Until
		}
	}
	return p
}

// bounds returns the condition that a column of start times lies within p's bounds.
func bounds(p question.Params, column string) string {
	text := "true"
	if !p.Since.IsZero() {
		text += " AND " + column + " >= " + sqltext.Instant(p.Since)
	}
	if !p.Until.IsZero() {
		text += " AND " + column + " < " + sqltext.Instant(p.Until)
	}
	return text
}

// wider returns p with wider bounds: they contain all calls that start up to a local week before or
// after the selected ones.
func wider(p question.Params) question.Params {
	const more = 8 * 24 * time.Hour
	if !p.Since.IsZero() {
		p.Since = p.Since.Add(-more)
	}
	if !p.Until.IsZero() {
		p.Until = p.Until.Add(more)
	}
	return p
}

// keyExpr returns the key of a group, using expr for each dimension.
func keyExpr(keys []question.Dimension, expr func(question.Dimension) string) string {
	switch len(keys) {
	case 0:
		return "CAST(NULL AS VARCHAR)"
	case 1:
		return expr(keys[0])
	}
	return "struct_pack(first := " + expr(keys[0]) + ", second := " + expr(keys[1]) + ")"
}

// keyColumn returns the column, within a group's key, of the i-th dimension.
func keyColumn(keys []question.Dimension, i int) string {
	if len(keys) == 1 {
		return "key"
	}
	return []string{"key.first", "key.second"}[i]
}
