package plan

import (
	"fmt"
	"slices"
	"strings"

	"callhouse/internal/analytics/question"
	"callhouse/internal/analytics/stored"
	"callhouse/internal/layout"
	"callhouse/internal/schema"
)

// success is the column of tallied that holds whether a call succeeded according to Params.Field;
// null if unknown, and without a field.
const success = "success"

// hoursAgo is earlier than any call, in hours before 1970.
const hoursAgo = 1_000_000_000

// tallied returns the SELECT of the relation tallied: the selected calls, grouped by equal values,
// with sums for each group.
//
// A report needs few columns, and these have few values. Grouping by the stored columns first, then
// deriving facts such as is_connected or the day for each group, takes a third of the time of
// deriving them for each call. Compacted months and large days are grouped in the snapshot already.
// columns are the report's; tallied adds those that groups and conditions need.
func (p *Planner) tallied(columns []string, q question.Question) string {
	columns = slices.Clone(columns)
	// and the columns of documents
	made := map[string]string{success: "CAST(NULL AS BOOLEAN)", question.Campaign.Expr: question.Campaign.Made}
	if q.Field != "" {
		made[success] = "found." + success
	}
	for _, d := range q.Asked() {
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
	counted := fmt.Sprintf("SELECT *%s\nFROM (%s)", tallyStart(columns), p.counted(columns, made, q))
	return fmt.Sprintf("SELECT %s AS key, *\nFROM (%s)\nWHERE true%s", keyExpr(q.Keys, column), withFacts(columns, counted),
		conditions(q, column))
}

// counted returns the SELECT of the groups and their sums. A group may have several rows.
func (p *Planner) counted(columns []string, made map[string]string, q question.Question) string {
	table := p.tallyOf(columns, q)
	tallies, calls := p.split(table, q, slices.Contains(columns, unit))
	if len(tallies) == 0 {
		return p.countCalls("stored.calls", columns, made, q)
	}
	var terms []string
	for _, c := range columns {
		terms = append(terms, p.tallyColumn(c, made, table))
	}
	// A month has many quarters of an hour, or days of words, and an outcome is slow to compute: group
	// by what it follows from first.
	grouped := ""
	for _, n := range numbers {
		switch {
		case n.add == "":
			terms = append(terms, "CAST(NULL AS DOUBLE) AS "+n.name)
		case slices.Contains(columns, "short_step"):
			terms, grouped = append(terms, n.add+"("+n.name+") AS "+n.name), "\nGROUP BY ALL"
		default:
			terms = append(terms, n.name)
		}
	}
	text := fmt.Sprintf("SELECT %s\nFROM (%s)\nWHERE %s%s",
		strings.Join(terms, ", "), stored.Relation(p.snap, tallies, table, false), where(q, table), grouped)
	if len(calls) == 0 {
		return text
	}
	return text + "\nUNION ALL\n" + p.countCalls("("+p.relation(calls)+")", columns, made, q)
}

// countCalls returns the SELECT that counts calls.
func (p *Planner) countCalls(from string, columns []string, made map[string]string, q question.Question) string {
	var inner []string
	for _, c := range columns {
		inner = append(inner, p.tallyColumn(c, made, &schema.Calls))
	}
	for _, n := range numbers {
		inner = append(inner, n.of+" AS "+n.name)
	}
	if q.Field != "" && slices.Contains(columns, success) {
		from += fmt.Sprintf(" LEFT JOIN (SELECT call_id, bool_or(value_success(name, value)) AS success FROM analysis_items"+
			" WHERE name = getvariable('field_name') AND %s GROUP BY call_id) found USING (call_id)",
			bounds(narrowed(q), "call_start_at"))
	}
	return fmt.Sprintf("SELECT %s\nFROM %s\nWHERE %s\nGROUP BY ALL\nHAVING count(*) > 0",
		strings.Join(inner, ", "), from, where(q, &schema.Calls))
}

// amount is the cost of a call in the account's currency or, if unknown, in credits. A report that
// sums amounts also groups by unit.
const amount = "coalesce(total_cost, credits_used)"

// unit is the column of tallied that holds the unit of the amounts.
const unit = "unit"

// numbers are the sums in a row of tallied: of computes one from calls, add combines those of
// several rows. Sums that a report does not use are not computed.
var numbers = []struct{ name, of, add string }{
	{"calls", "count(*)", "sum"},
	{"timed_calls", "count(duration_ms)", "sum"},
	{"total_ms", "sum(duration_ms)", "sum"},
	{"max_ms", "max(duration_ms)", "max"},
	{"costed_calls", "count(" + amount + ")", "sum"},
	{"total_cost", "sum(" + amount + ")", "sum"},
	{"timed_cost", "sum(" + amount + ") FILTER (duration_ms IS NOT NULL)", "sum"},
	{"costed_ms", "sum(duration_ms) FILTER (" + amount + " IS NOT NULL)", "sum"},
	{"unheld_costs", "count(*) FILTER (cost_unheld(total_cost, extra))", "sum"},
	// Only comparisons use these; no tallies hold them.
	{"ms_squares", "sum(pow(duration_ms, 2))", ""},
	{"ms_cubes", "sum(pow(duration_ms, 3))", ""},
}

// tallyOf returns the smallest tally table that has all of the columns, and those that the
// selection needs; nil if there is none.
func (p *Planner) tallyOf(columns []string, q question.Question) *schema.Table {
	if !p.rights.Tallied() || q.Spreads && strings.Contains(q.Report.SQL, "ms_squares") {
		return nil
	}
	for _, t := range schema.CountTables {
		if q.Agent != "" && t.Column("agent_id") < 0 {
			continue
		}
		if !slices.ContainsFunc(columns, func(c string) bool { return !p.tells(t, c) && !(c == success && q.Field == "") }) {
			return t
		}
	}
	return nil
}

// tells reports whether a column of tallied can be derived from a tally table.
func (p *Planner) tells(t *schema.Table, column string) bool {
	switch column {
	case unit:
		return true
	case "is_started":
		return t.Column(column) >= 0 || t.Column("start_at") >= 0
	case question.LocalDate, question.LocalHour:
		return t.Column("start_at") >= 0 && p.inQuarters
	}
	return t.Column(column) >= 0
}

// split returns the tally files that can replace their period's calls, and the files of the
// remaining calls. Files without selected calls are in neither. Tallies of old formats are ignored,
// because they lack columns. With byUnit, so are tallies of periods that may have amounts in
// credits, which no tally holds.
func (p *Planner) split(t *schema.Table, q question.Question, byUnit bool) (tallies, calls []*layout.File) {
	if t == nil {
		return nil, nil
	}
	byPeriod := map[string]*layout.File{}
	for _, f := range p.snap.Manifest.FilesOf(t.Name) {
		if f.Format >= layout.TallyVersion {
			byPeriod[f.Period] = f
		}
	}
	fine := t == &schema.QuarterTallies && ofQuarters(q.Params)
	for _, f := range p.snap.Manifest.FilesOf(schema.Calls.Name) {
		of := byPeriod[f.Period]
		if byUnit && (f.Credits == nil || *f.Credits > 0) {
			of = nil
		}
		switch {
		case misses(q.Params, f):
		case of != nil && (fine || holds(q.Params, f)):
			tallies = append(tallies, of)
		default:
			calls = append(calls, f)
		}
	}
	return tallies, calls
}

// tallyColumn returns the expression of a column of tallied over a table; made has those of columns
// of documents.
func (p *Planner) tallyColumn(name string, made map[string]string, from *schema.Table) string {
	switch {
	case made[name] != "":
		return made[name] + " AS " + name
	case name == question.LocalDate:
		return "CAST(make_timestamp(" + p.localMicros + ") AS DATE) AS local_date"
	case name == question.LocalHour:
		// Counted from so long ago that no time is negative.
		return fmt.Sprintf("(%s + %d) // 3600000000 AS local_hours", p.localMicros, int64(hoursAgo)*3_600_000_000)
	case name == unit && from == &schema.Calls:
		return "cost_unit(total_cost, credits_used) AS unit"
	case name == unit:
		return "CASE WHEN costed_calls > 0 THEN 'currency' END AS unit"
	case name == "direction":
		return "direction_of(direction, call_type) AS direction"
	case from.Column(name) >= 0:
	case name == "is_started":
		return "start_at IS NOT NULL AS is_started"
	case name == "caller_spoke":
		return "user_turns > 0 AS caller_spoke"
	case name == "opted_out":
		return "coalesce(opt_out_sensitive_data_storage, false) AS opted_out"
	case name == "duration_step":
		return fmt.Sprintf("duration_ms // %d * %d AS duration_step", schema.DurationStep, schema.DurationStep)
	case name == "short_step":
		return "short_step_of(duration_ms) AS short_step"
	}
	return stored.Ident(name)
}

// tallyStart returns the column local_start of the view calls, as precise as the columns allow.
func tallyStart(columns []string) string {
	switch {
	case slices.Contains(columns, question.LocalHour):
		return fmt.Sprintf(", make_timestamp((local_hours - %d) * 3600000000) AS local_start", hoursAgo)
	case slices.Contains(columns, question.LocalDate):
		return ", CAST(local_date AS TIMESTAMP) AS local_start"
	}
	return ""
}

// derived is a column derived from those of tallied, as in the view calls.
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
				known = known && (slices.Contains(columns, c) || c == "local_start" && tallyStart(columns) != "")
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
