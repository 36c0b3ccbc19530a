package plan

import (
	"fmt"
	"slices"
	"strings"

	"callhouse/internal/analytics/question"
	"callhouse/internal/analytics/sqltext"
)

// success is the column of counted_calls that holds whether a call succeeded according to
// Params.Field; null if unknown, and without a field.
const success = "success"

// earlier is the column of counted_calls that holds whether a call started before the selected time: see
// [sqlfiles.File.History].
const earlier = "is_earlier"

// usedVersion is the column of counted_calls that holds the version that a call used, and produced the relation of the
// versions in production, by the time since when: published then, or seen back in production.
const (
	usedVersion = "used_version"
	produced    = `SELECT agent_id, version, created_at AS produced FROM agent_versions
UNION ALL
SELECT url_decode(split_part(key, '/', 1)), url_decode(split_part(key, '/', 2)), seen_at FROM changes
WHERE resource = 'agent_versions' AND (after ->> '$.is_production') = 'true' AND kind = 'changed'`
)

// hoursAgo is earlier than any call, in hours before 1970.
const hoursAgo = 1_000_000_000

// counted returns the SELECT of the relation counted_calls: the selected calls, grouped by equal values, with sums
// for each group. Grouping by the few stored columns of a report first, and then deriving facts such as the day for
// each group, takes a third of the time of deriving them for each call.
func (p *Planner) counted(columns []string, q question.Question) string {
	columns = slices.Clone(columns)
	// and the columns of documents
	made := map[string]string{success: "CAST(NULL AS BOOLEAN)", question.Campaign.Expr: question.Campaign.Made}
	if q.Field != "" {
		made[success] = "found." + success
	}
	if made[earlier] = "false"; !q.Seen.Since.IsZero() {
		made[earlier] = "coalesce(start_at < " + sqltext.Instant(q.Seen.Since) + ", false)"
	}
	for _, d := range q.Dimensions() {
		for _, c := range d.Columns {
			if !slices.Contains(columns, c) {
				columns = append(columns, c)
			}
			if d.Made != "" {
				made[c] = d.Made
			}
		}
	}
	if slices.Contains(columns, question.LocalHour) { // it implies the date
		columns = slices.DeleteFunc(columns, func(c string) bool { return c == question.LocalDate })
	}
	var inner []string
	for _, c := range columns {
		inner = append(inner, p.countedColumn(c, made))
	}
	for _, n := range numbers {
		inner = append(inner, n.of+" AS "+n.name)
	}
	from := "stored.calls"
	if q.Field != "" && slices.Contains(columns, success) {
		name, wanted := field(q)
		from += fmt.Sprintf(" LEFT JOIN (SELECT call_id, bool_or(value_success(name, value, %s, %s)) AS success FROM analysis_items"+
			" WHERE nfc_normalize(name) = %[1]s AND %[3]s GROUP BY call_id) found USING (call_id)",
			name, wanted, bounds(narrowed(q), "call_start_at"))
	}
	if slices.Contains(columns, usedVersion) {
		from += " ASOF LEFT JOIN (SELECT agent_id, produced AS start_at, version FROM produced) USING (agent_id, start_at)"
	}
	counted := fmt.Sprintf("SELECT *%s\nFROM (SELECT %s\nFROM %s\nWHERE %s\nGROUP BY ALL\nHAVING count(*) > 0)",
		countedStart(columns), strings.Join(inner, ", "), from, where(q))
	return fmt.Sprintf("SELECT %s AS key, *\nFROM (%s)\nWHERE true%s", keyExpr(q.Keys, column), withFacts(columns, counted),
		conditions(q, column))
}

// amount is the cost of a call in the account's currency or, if unknown, in credits. A report that
// sums amounts also groups by unit.
const amount = "coalesce(total_cost, credits_used)"

// numbers are the sums in a row of counted_calls. Those that a report does not use are not computed.
var numbers = []struct{ name, of string }{
	{"calls", "count(*)"},
	{"timed_calls", "count(duration_ms)"},
	{"total_ms", "sum(duration_ms)"},
	{"max_ms", "max(duration_ms)"},
	{"costed_calls", "count(" + amount + ")"},
	{"total_cost", "sum(" + amount + ")"},
	{"timed_cost", "sum(" + amount + ") FILTER (duration_ms IS NOT NULL)"},
	{"costed_ms", "sum(duration_ms) FILTER (" + amount + " IS NOT NULL)"},
	{"unheld_costs", "count(*) FILTER (cost_unheld(total_cost, extra))"},
	// Only comparisons use these.
	{"ms_squares", "sum(pow(duration_ms, 2))"},
	{"ms_cubes", "sum(pow(duration_ms, 3))"},
	{"cost_squares", "sum(pow(CAST(total_cost AS DOUBLE), 2))"},
	{"cost_cubes", "sum(pow(CAST(total_cost AS DOUBLE), 3))"},
}

// countedColumn returns the expression of a column of counted_calls over the stored calls; made has
// those of columns of documents.
func (p *Planner) countedColumn(name string, made map[string]string) string {
	switch {
	case made[name] != "":
		return made[name] + " AS " + name
	case name == question.LocalDate:
		return "CAST(make_timestamp(" + p.localMicros + ") AS DATE) AS local_date"
	case name == question.LocalHour:
		// Counted from so long ago that no time is negative.
		return fmt.Sprintf("(%s + %d) // 3600000000 AS local_hours", p.localMicros, int64(hoursAgo)*3_600_000_000)
	case name == "unit":
		return "cost_unit(total_cost, credits_used) AS unit"
	case name == "direction":
		return "direction_of(direction, call_type) AS direction"
	case name == usedVersion:
		return "if(agent_version NOT IN ('production', 'current'), agent_version, coalesce(version, agent_version)) AS used_version"
	case name == "is_started":
		return "start_at IS NOT NULL AS is_started"
	case name == "caller_spoke":
		return "user_turns > 0 AS caller_spoke"
	case name == "opted_out":
		return "coalesce(opt_out_sensitive_data_storage, false) AS opted_out"
	case name == "duration_step":
		return "duration_ms // 5000 * 5000 AS duration_step"
	case name == "short_step":
		return "short_step_of(duration_ms) AS short_step"
	}
	return sqltext.Ident(name)
}

// countedStart returns the column local_start of the view calls, as precise as the columns allow.
func countedStart(columns []string) string {
	switch {
	case slices.Contains(columns, question.LocalHour):
		return fmt.Sprintf(", make_timestamp((local_hours - %d) * 3600000000) AS local_start", hoursAgo)
	case slices.Contains(columns, question.LocalDate):
		return ", CAST(local_date AS TIMESTAMP) AS local_start"
	}
	return ""
}

// derived is a column derived from those of counted_calls, as in the view calls.
type derived struct{ name, expr, from string }

// derivedFacts are in layers, each derived from the columns and the layers before. If one SELECT
// referred to its own columns, DuckDB would copy their expressions.
var derivedFacts = [][]derived{{
	{"is_over", "call_over(settlement)", "settlement"},
	{"is_connected", "call_connected(is_started, status, disconnection_reason)", "is_started status disconnection_reason"},
	{"is_voicemail", "call_voicemail(disconnection_reason)", "disconnection_reason"},
	{"spoke", "call_spoke(caller_spoke, transcript_state)", question.OfSpeech},
	{"local_hour", "hour(local_start)", question.LocalHour},
	{"local_date", "CAST(local_start AS DATE)", question.LocalHour},
	{"weekday", "weekday_of(local_start)", "local_start"},
	{"week", "week_of(local_start)", "local_start"},
	{"local_month", "month_of(local_start)", "local_start"},
}, {
	{"is_conversed", "call_conversed(is_connected, is_voicemail, spoke)", "is_started status disconnection_reason " + question.OfSpeech},
	{"is_answered", "call_answered(is_over, is_connected, is_voicemail, spoke)", question.OfOutcome},
	{"is_unheard", "call_unheard(is_over, is_connected, is_voicemail, spoke)", question.OfOutcome},
	{"ended", "call_end(is_over, is_connected, status, disconnection_reason, transcript_state, spoke, short_step)",
		question.OfOutcome},
}, {
	{"outcome", "ended.outcome", question.OfOutcome},
	{"outcome_kind", "ended.kind", question.OfOutcome},
	{"is_completed", "ended.outcome = 'completed'", question.OfOutcome},
}}

// withFacts returns a SELECT that adds all facts that can be derived from the columns.
func withFacts(columns []string, from string) string {
	for _, layer := range derivedFacts {
		var b strings.Builder
		for _, f := range layer {
			known := true
			for _, c := range strings.Fields(f.from) {
				known = known && (slices.Contains(columns, c) || c == "local_start" && countedStart(columns) != "")
			}
			if known {
				fmt.Fprintf(&b, ", %s AS %s", f.expr, f.name)
			}
		}
		if b.Len() > 0 {
			from = fmt.Sprintf("SELECT *%s\nFROM (%s)", b.String(), from)
		}
	}
	return from
}
