package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"callhouse/internal/analytics/question"
	"callhouse/internal/analytics/stored"
	"callhouse/internal/layout"
	"callhouse/internal/schema"
	sqlfiles "callhouse/sql"
)

// fact is a relation of counts of things that belong to the selected calls.
type fact struct {
	from   string        // the relation whose rows are counted
	table  *schema.Table // its tallies
	shared string        // tallies plus the rows they lack; empty: the relation itself
	items  string        // the items to count, over a relation of items; empty: other rows
	anew   string        // condition on tallies of items whose fields are counted from the items in all months
	costs  string        // columns of their calls that the items need
}

var facts = map[string]fact{
	"counted_tools":  {from: "selected_tool_calls", table: &schema.ToolTallies, shared: "tallied_tools"},
	"counted_speech": {from: "selected_speech", table: &schema.SpeechTallies, shared: "tallied_speech"},
	"tallied_items":  {from: "selected_items", table: &schema.ItemTallies, items: "%s", anew: "items IS NULL"},
	"tallied_values": {from: "selected_items", table: &schema.ItemTallies,
		items: "(SELECT * FROM (SELECT *, value_success(name, value) AS is_success FROM %s) WHERE is_success IS NOT NULL)",
		// even if given up, a field has rows of true and false
		anew: "(is_repeated OR items IS NULL AND getvariable('field_name') IS NOT NULL) AND " +
			"coalesce(name = getvariable('field_name'), true)",
		costs: ", total_cost, credits_used"},
	"tallied_first_words": {from: "selected_speech", table: &schema.AnswerTallies},
	"tallied_transfers":   {from: "selected_speech", table: &schema.AnswerTallies},
	"tallied_moves":       {from: "selected_moves", table: &schema.FlowTallies},
}

// alone takes the key, which is null without groups, out of the groups of counted_tools: DuckDB
// groups by a single column of words in two thirds of the time.
var alone = strings.NewReplacer("SELECT key, tool_name", "SELECT CAST(NULL AS VARCHAR) AS key, tool_name",
	"GROUP BY key, tool_name", "GROUP BY tool_name")

// fact returns a relation of facts, as part of a WITH list, after the relations that it needs.
// Compacted months come from tallies unless these lack the columns of its groups and conditions.
// Without tallies, percentiles over plain rows take a third of the time of percentiles over counts.
func (p *Planner) fact(name string, q question.Question) (with []string) {
	of := facts[name]
	tallies, tallied, rest := p.tallyFiles(of.table, q, hasAsked(of.table, q))
	if of.shared != "" {
		if len(tallies) == 0 {
			text := sqlfiles.Relation(name)
			if q.By == "" {
				text = alone.Replace(text)
			}
			return []string{p.related(of.from, q), name + " AS (" + text + ")"}
		}
		whole := name + " AS (" + sqlfiles.Relation(name+"_tallied") + ")"
		defer func() { with = append(with, whole) }()
		name = of.shared
	}
	var parts []string
	if of.table == &schema.FlowTallies {
		with = append(with, "published AS MATERIALIZED ("+sqlfiles.Relation("published")+")")
	}
	view, uncounted := question.Related[of.from], "SELECT * FROM "+of.from
	items := func(rows string, also func(column string) string) string {
		return p.belonging(fmt.Sprintf(of.items, rows), of.costs, also, q)
	}
	if of.items != "" {
		uncounted = items(view, everywhere)
	}
	if len(tallies) > 0 {
		rows := stored.Relation(p.snap, tallies, of.table, false)
		switch of.table {
		case &schema.FlowTallies: // on a day with a publication, production is more than one version
			const on = "JOIN published_days d ON s.agent_id = d.agent_id AND d.day ="
			with = append(with, "published_days AS MATERIALIZED (SELECT agent_id, utc_day(unnest(times)) AS day FROM published)")
			rows = "SELECT s.* EXCLUDE (day_at), version_at(agent_version, start_at, versions, times) AS version FROM (" +
				rows + ") s LEFT JOIN published p USING (agent_id) ANTI " + on + " utc_day(day_at)"
			uncounted += " WHERE true" + tallied.without("start_at") + "\nUNION ALL SELECT s.* FROM " + of.from + " s SEMI " + on +
				" utc_day(start_at) WHERE agent_version = 'production'" + tallied.within("start_at")
			rest = true
		case &schema.ItemTallies: // a field that one month lacks is counted here for all months
			const field = "JOIN counted_anew g ON s.name IS NOT DISTINCT FROM g.name AND s.type IS NOT DISTINCT FROM g.type"
			with = append(with, "stored_tallies AS MATERIALIZED ("+rows+")",
				"counted_anew AS MATERIALIZED (SELECT DISTINCT name, type FROM stored_tallies WHERE "+of.anew+")")
			rows, rest = "SELECT s.* FROM (SELECT * FROM stored_tallies WHERE items IS NOT NULL) s ANTI "+field, true
			uncounted = items(view, tallied.without) + "\nUNION ALL " +
				items("(SELECT s.* FROM "+view+" s SEMI "+field+")", tallied.within)
		case &schema.ToolTallies:
			uncounted += " WHERE true" + tallied.without("call_start_at")
		default:
			uncounted += " WHERE true" + tallied.without("start_at")
		}
		parts = append(parts, fmt.Sprintf("SELECT %s AS key, * FROM (%s) WHERE true%s%s", keyExpr(q.Keys, column), rows, ofAgent(q.Params),
			conditions(q, column)))
	}
	if rest || len(tallies) == 0 { // even if no call is selected: no rows, but a key of the groups' type
		if of.items == "" {
			with = append(with, p.related(of.from, q))
		}
		with = append(with, "uncounted AS NOT MATERIALIZED ("+uncounted+")")
		parts = append(parts, "("+sqlfiles.Relation(name)+")")
	}
	return append(with, name+" AS MATERIALIZED ("+strings.Join(parts, "\nUNION ALL BY NAME\n")+")")
}

// hasAsked reports whether a tally table has the columns of a question's groups and conditions.
func hasAsked(t *schema.Table, q question.Question) bool {
	return (q.Agent == "" || t.Column("agent_id") >= 0) && !slices.ContainsFunc(q.Asked(), func(d question.Dimension) bool {
		return d.Made != "" || slices.ContainsFunc(d.Columns, func(c string) bool { return t.Column(c) < 0 })
	})
}

// asksAll reports whether a question has neither groups nor conditions, except its period.
func asksAll(q question.Question) bool { return q.Agent == "" && len(q.Asked()) == 0 }

// periods are months, and days in which every call has a start.
type periods struct {
	months []string // quoted
	days   []span
}

// within returns the condition, to follow another one, on rows of the periods. column holds the start
// of their call.
func (p periods) within(column string) string {
	text := startsIn(p.days, column)
	if len(p.months) > 0 {
		text += " OR month IN (" + strings.Join(p.months, ", ") + ")"
	}
	return " AND (" + text + ")"
}

// without returns the condition on the other rows.
func (p periods) without(column string) (text string) {
	if len(p.months) > 0 {
		text = " AND month NOT IN (" + strings.Join(p.months, ", ") + ")"
	}
	if len(p.days) > 0 {
		text += " AND (" + column + " IS NULL OR NOT (" + startsIn(p.days, column) + "))"
	}
	return text
}

// everywhere is no condition.
func everywhere(string) string { return "" }

// tallyFiles returns the files of a tally table, if it can answer, whose periods are selected
// completely, those periods, and whether calls outside them may be selected.
func (p *Planner) tallyFiles(t *schema.Table, q question.Question, answers bool) (tallies []*layout.File, tallied periods, rest bool) {
	byPeriod := map[string]*layout.File{}
	if answers && p.rights.None() {
		for _, f := range p.snap.Manifest.FilesOf(t.Name) {
			byPeriod[f.Period] = f
		}
	}
	for _, f := range p.snap.Manifest.FilesOf(schema.Calls.Name) {
		tally := byPeriod[f.Period]
		if slices.Contains(ruled, t) && f.Counted != layout.CountedVersion {
			tally = nil // counted by older rules
		}
		if t == &schema.CallerTallies && (f.MaxStart == nil || *f.MaxStart+contactMS >= p.listedUntil()) {
			tally = nil // some of its last contacts may still be followed by another
		}
		allStarted := f.Undated != nil && *f.Undated == 0
		day, notDay := time.Parse(time.DateOnly, f.Period)
		switch {
		case misses(q.Params, f):
		case tally == nil, q.Bounded() && !holds(q.Params, f), !allStarted && (q.Bounded() || notDay == nil):
			rest = true
		case notDay == nil:
			tallies, tallied.days = append(tallies, tally), append(tallied.days, span{day, day.AddDate(0, 0, 1)})
		default:
			tallies, tallied.months = append(tallies, tally), append(tallied.months, stored.Quote(f.Period))
		}
	}
	return tallies, tallied, rest
}

// ruled are the tally tables that depend on the rules of the views.
var ruled = []*schema.Table{&schema.CallerTallies, &schema.AttemptTallies, &schema.AttemptEdges, &schema.AnswerTallies,
	&schema.FlowTallies, &schema.ItemTallies}

// contactMS is the time within which the report callers looks for the next contact, in ms.
const contactMS = 24 * 60 * 60 * 1000

// standing are the relations of tallies that replace calls: relations of calls omit the months that
// these cover.
var standing = map[string]*schema.Table{
	"tallied_longest": &schema.LongestTallies,
	"tallied_callers": &schema.CallerTallies,
}

// stand returns the relation of standing that a report reads, if any, as part of a WITH list, and
// the condition on the calls that it does not replace.
func (p *Planner) stand(q question.Question) (with []string, others string) {
	for _, name := range q.Report.Reads {
		if name == "tallied_attempts" {
			return p.attempts(q)
		}
		table := standing[name]
		if table == nil {
			continue
		}
		tallies, tallied, _ := p.tallyFiles(table, q, asksAll(q))
		rows := "SELECT NULL AS key, * FROM (" + stored.Relation(p.snap, tallies, table, false) + ")"
		if table.Column("short_step") >= 0 {
			rows = withFacts(strings.Fields("is_started status disconnection_reason settlement transcript_state caller_spoke short_step"),
				"SELECT *, start_at IS NOT NULL AS is_started, 'present' AS transcript_state FROM ("+rows+")")
		}
		with = append(with, name+" AS NOT MATERIALIZED ("+rows+")")
		others = tallied.without("start_at")
	}
	return with, others
}

// related returns a relation of the rows that belong to the selected calls, as part of a WITH list.
// Its rows carry the start of their call, so bounds need no join; groups and other conditions do.
func (p *Planner) related(name string, q question.Question) string {
	of, ok := question.Related[name]
	switch {
	case !ok && p.allDerived(name, q.Params):
		return name + " AS NOT MATERIALIZED (SELECT * FROM selected)"
	case name == "selected_moves":
		return p.related("selected_tool_calls", q) + ",\n" + name + " AS NOT MATERIALIZED (" + sqlfiles.Relation(name) + ")"
	case !ok:
		return name + " AS NOT MATERIALIZED (" + sqlfiles.Relation(name) + ")"
	}
	return name + " AS NOT MATERIALIZED (" + p.belonging(of, "", everywhere, q) + ")"
}

// belonging returns the SELECT of the rows that belong to the selected calls, with these columns of
// their calls. also is a further condition on the rows and on their calls, given the column of the
// start. What depends only on the start of a call needs no join.
func (p *Planner) belonging(rows, columns string, also func(column string) string, q question.Question) string {
	where := bounds(narrowed(q), "call_start_at") + also("call_start_at")
	switch {
	case columns != "" || q.Agent != "" || slices.ContainsFunc(q.Asked(), func(d question.Dimension) bool { return !d.OfTime() }):
	case asksAll(q):
		return "SELECT CAST(NULL AS VARCHAR) AS key, * FROM " + rows + " WHERE " + where
	default:
		started := "SELECT *, local_time(call_start_at) AS local_start FROM " + rows + " WHERE " + where
		return "SELECT " + keyExpr(q.Keys, column) + " AS key, * FROM (" + withFacts([]string{question.LocalHour}, started) +
			") WHERE true" + conditions(q, column)
	}
	var parts []string
	for _, months := range p.months(q) {
		parts = append(parts, fmt.Sprintf("SELECT s.* EXCLUDE (call_id), t.* FROM (SELECT * FROM %s WHERE %s%s) t "+
			"JOIN (SELECT key, call_id%s FROM selected WHERE true%s%s) s USING (call_id)", rows, where, months, columns, also("start_at"), months))
	}
	return strings.Join(parts, "\nUNION ALL ")
}

// joined is the minimum number of calls in a part of a join, except the last.
const joined = 1 << 20

// months returns conditions on the month that divide the calls into parts. Joining all calls at once
// would take memory for each of them.
func (p *Planner) months(q question.Question) (out []string) {
	calls, in, all := int64(0), "", narrowed(q)
	for _, f := range p.snap.Manifest.NewestFirst(schema.Calls.Name) {
		if misses(all, f) {
			continue
		}
		if month := stored.Quote(f.Period[:len("2026-10")]); !strings.HasSuffix(in, month) {
			if calls >= joined {
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
