package page

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"callhouse/internal/analytics/page/chart"
	"callhouse/internal/analytics/page/texts"
	"callhouse/internal/analytics/question"
	"callhouse/internal/words"
)

// reasons shows why calls ended, the most frequent reasons first.
var reasons = board{id: "reasons", report: "disconnections", by: "by.reason", words: "reason", named: 12, columns: []column{
	{text: "share", name: "share_percent", bar: true, longest: true}, {text: "calls", name: "calls", sum: true},
	{text: "connected", name: "connected_percent"}},
	line: func(a *asked, _ int, l *line) { l.Link = a.calls(map[string]string{"disconnection_reason": l.Key}) }}

// agents is the leader board: the agents with the most calls, in the report's order.
var agents = board{id: "agents", report: "agents", by: "by.agent", wide: true, columns: []column{
	{text: "calls", name: "calls", sum: true, link: agentCalls}, {text: "connected", name: "connected_percent", wide: true},
	{text: "goal", name: "goal_percent", bar: true}, {text: "low", name: "goal_low_percent", wide: true},
	{text: "transferred", name: "transferred_percent", wide: true}, {text: "negative", name: "negative_percent", bar: true, longest: true},
	{text: "handle", name: "handle_ms", wide: true}, {text: "cost", name: "total_cost", wide: true, sum: true}},
	choose: func(a *asked) []int { return a.largest(namedAgents) },
	line: func(a *asked, i int, l *line) {
		var notes []string
		if goal, _ := a.rows[i][a.index("goal")].(string); goal != completed {
			notes = append(notes, a.l.Say("agents.is_goal", goal))
		}
		if a.rows[i][a.index("doubt")] != nil {
			notes = append(notes, a.l.Say("agents.doubt"))
		}
		if l.Note = strings.Join(notes, "; "); !l.Null {
			l.Name = a.shortNames()[i]
		}
		l.Link = a.page(a.id(i, "agent_id"))
	},
	lead: func(a *asked, t *table) string {
		if !slices.ContainsFunc(a.rows, func(row []any) bool { return row[a.index("goal")] != completed }) {
			t.Heads[2].Text = a.l.Say("agents.completed")
		}
		if n := len(t.Rows) - 1; n > 0 && t.Rows[n].Sum {
			return a.l.Say("agents.some", n, len(a.rows)) + " " + a.l.Say("agents.lead")
		}
		return a.l.Say("agents.lead")
	}}

func agentCalls(a *asked, row int) string {
	return a.calls(map[string]string{"agent_id": a.id(row, "agent_id")})
}

// tools has the tools with failures, those with most failures first.
var tools = board{id: "tools", report: "tools", by: "tools.tool", columns: []column{
	{text: "share", name: "failed_percent", bar: true, longest: true},
	{text: "failed", name: "failed_uses", sum: true}, {text: "uses", name: "uses", sum: true}},
	choose: failing(5, false),
	lead: func(a *asked, t *table) string {
		switch {
		case len(t.Rows) == 0:
			return a.l.Say("tools.unused")
		case t.Rows[0].Sum:
			return a.l.Say("tools.nothing")
		}
		return a.l.Say("tools.lead")
	}}

// agentTools has the tools of one agent.
var agentTools = board{id: "tools", report: "tools", title: "tools.of_agent", by: "tools.tool", told: "tools.lead_of_agent",
	none: "tools.unused", columns: tools.columns, choose: failing(12, true)}

// failing chooses the tools with the most failures; all also includes tools without failures.
func failing(named int, all bool) func(a *asked) []int {
	return func(a *asked) []int {
		out := a.most("failed_uses")
		if len(out) > named+1 {
			out = out[:named]
		}
		return slices.DeleteFunc(out, func(i int) bool { return !all && a.count(i, "failed_uses") == 0 })
	}
}

// worst has the calls worth listening to.
var worst = board{id: "worst", report: "worst", by: "worst.call", columns: []column{
	{text: "reasons", name: "why", words: true, write: func(a *asked, _ []any, v any) string { return a.l.why(a.text(v)) }},
	{text: "time", name: "start_at", words: true, write: func(a *asked, _ []any, v any) string { return a.l.instant(v, a.loc) }},
	{text: "agent", name: "agent_id", words: true, write: agentName,
		link: func(a *asked, i int) string { return a.page(a.id(i, "agent_id")) }},
	{text: "duration", name: "duration_ms"}},
	choose: func(a *asked) []int { return []int{0, 1, 2, 3, 4}[:min(len(a.rows), 5)] },
	omit:   func(*asked, []any) bool { return true },
	line: func(a *asked, _ int, l *line) {
		l.Name, l.Show = l.Key, "query call "+words.Shell(l.Key)
		if a.address != nil {
			l.Link = a.address("call", question.Params{Call: l.Key})
		}
	},
	wide: true, lead: func(a *asked, t *table) string {
		if len(t.Rows) == 0 {
			return a.l.Say("worst.nothing", a.l.period(a.period))
		}
		return a.l.Say("worst.lead", a.l.period(a.period))
	}}

// stage returns a pick of the funnel: a number of one stage.
func stage(text, column, stage string) pick { return pick{text, column, "stage", stage} }

var (
	attempted     = stage("calls", "calls", "attempted")
	connected     = stage("connected", "calls", "connected")
	connectedRate = stage("rate", "attempted_percent", "connected")
	completedRate = stage("completed", "answered_percent", "completed")
	negativeRate  = pick{"negative", "rated_percent", "user_sentiment", "negative"}
)

// as returns a trace of a pick with another name and a colour.
func (k pick) as(text string, color int) trace { k.text = text; return trace{pick: k, color: color} }

var volume = timeline{id: "volume", report: "funnel", wide: true, measures: []string{"calls", "connected_percent", "completed_percent"},
	columns: []pick{attempted, connected, connectedRate, completedRate}, before: []pick{connectedRate, completedRate},
	panels: []panel{
		{title: "panel", kind: chart.Bars, height: 140, measure: "calls", lines: []trace{connected.as("chart.connected", 1),
			{pick{"chart.not_connected", "calls", "stage", "attempted"}, &connected, 4}}},
		{title: "panel_rate", kind: chart.Lines, scale: chart.Percent, height: 100, zoom: true, measure: "connected_percent", before: true,
			lines: []trace{connectedRate.as("volume.rate", 1)}},
		{title: "panel_completed", kind: chart.Lines, scale: chart.Percent, height: 100, zoom: true, measure: "completed_percent", before: true,
			lines: []trace{completedRate.as("volume.completed", 3)}}},
	lead: func(d drawer, a *asked, whole *span) string {
		told := d.l.Say("volume.lead", texts.Heading(d.l.Calls(whole.calls())))
		if b, n := d.most(a.series(d.bins, attempted)); n > 0 {
			told += " " + d.l.Say("chart.most", b.name, d.l.Grouped(int64(n)))
		}
		if slices.ContainsFunc(d.bins, func(b bin) bool { return b.part }) {
			told += " " + d.l.Say("chart.part_"+d.unit)
		}
		return told
	}}

var sentiment = timeline{id: "sentiment", report: "sentiment", measures: []string{"negative_percent"}, split: sentiments,
	before: []pick{negativeRate},
	panels: []panel{
		{title: "panel", kind: chart.Bars, scale: chart.Percent, top: 100, height: 120, split: true},
		{title: "panel_negative", kind: chart.Lines, scale: chart.Percent, height: 100, zoom: true, measure: "negative_percent", before: true,
			lines: []trace{negativeRate.as("sentiment.negative", 2)}}},
	lead: func(d drawer, _ *asked, whole *span) string {
		return d.l.Say("sentiment.lead", whole.rated(), d.l.Calls(whole.calls()))
	}}

var (
	p50 = pick{text: "p50", column: "latency_p50_ms"}
	p95 = pick{text: "p95", column: "latency_p95_ms"}
)

var latency = timeline{id: "latency", report: "conversation", wide: true,
	columns: []pick{p50, p95, {text: "responses", column: "responses"}},
	panels: []panel{{title: "panel", kind: chart.Lines, scale: chart.Millis, height: 190,
		lines: []trace{p50.as("latency.p50", 1), p95.as("latency.p95", 2)}}},
	lead: func(d drawer, a *asked, _ *span) string {
		if b, v := d.most(a.series(d.bins, p95)); !math.IsInf(v, 0) {
			return d.l.Say("latency.lead", b.name, d.l.Duration(v))
		}
		return d.l.Say("latency.none")
	}}

var (
	totalCost = pick{text: "total", column: "total_cost"}
	perCall   = pick{text: "call", column: "per_call"}
	perMinute = pick{text: "minute", column: "per_minute"}
)

var costs = timeline{id: "costs", report: "costs",
	columns: []pick{totalCost, perCall, perMinute, {text: "completed", column: "per_completed_call"}},
	panels: []panel{
		{title: "panel_total", kind: chart.Bars, scale: chart.Money, height: 100, lines: []trace{totalCost.as("costs.total", 1)}},
		{title: "panel_call", kind: chart.Lines, scale: chart.Money, height: 100, lines: []trace{perCall.as("costs.call", 1)}},
		{title: "panel_minute", kind: chart.Lines, scale: chart.Money, height: 100, lines: []trace{perMinute.as("costs.minute", 1)}}},
	lead: func(d drawer, a *asked, _ *span) string {
		b, n := d.most(a.series(d.bins, totalCost))
		if !(n > 0) {
			return d.l.Say("costs.none")
		}
		told := d.l.Say("costs.lead", b.name, a.cell(a.at(totalCost.at(b.key, a)), "total_cost").Text)
		if !d.l.HasCurrency() {
			told = d.l.Say("costs.currency") + " " + told
		}
		return told
	}}

func agentName(a *asked, _ []any, v any) string {
	if v == nil {
		return "–"
	}
	return texts.ShortName(a.text(v))
}

// campaigns has the campaigns with attempts in the period, those with most attempts first.
var campaigns = board{id: "campaigns", report: "campaigns", by: "campaigns.name", none: "-", columns: []column{
	{text: "attempts", name: "attempts", sum: true,
		link: func(a *asked, i int) string {
			return a.calls(map[string]string{"campaign": a.id(i, "campaign_id")})
		}}, {text: "reached", name: "reached_percent", bar: true},
	{text: "progress", name: "progress_percent", wide: true}},
	choose: func(a *asked) []int {
		out := a.most("attempts")
		return slices.DeleteFunc(out[:min(len(out), 8)], func(i int) bool { return a.count(i, "attempts") == 0 })
	},
	omit: func(a *asked, row []any) bool { n, _ := row[a.index("attempts")].(int64); return n == 0 }}

// versions has the versions that differ from their baseline by more than chance, the worse ones
// first.
var versions = board{id: "versions", report: "versions", by: "by.agent", none: "versions.none", columns: []column{
	{text: "version", name: "agent_version", words: true}, {text: "answered", name: "answered_calls", sum: true, link: versionCalls},
	{text: "completed", name: "completed_percent", bar: true},
	{text: "verdict", name: "verdict", words: true, write: func(a *asked, _ []any, v any) string { return a.l.Word("verdict", a.text(v)) }}},
	choose: func(a *asked) (out []int) {
		rank := func(i int) int {
			return slices.Index([]string{"worse", "better"}, a.text(a.rows[i][a.index("verdict")]))
		}
		for i := range a.rows {
			if rank(i) >= 0 {
				out = append(out, i)
			}
		}
		slices.SortStableFunc(out, func(i, j int) int { return cmp.Compare(rank(i), rank(j)) })
		return out[:min(len(out), 8)]
	},
	omit: func(*asked, []any) bool { return true },
	line: func(a *asked, i int, l *line) {
		if !l.Null {
			l.Name, l.Link = texts.ShortName(l.Key), a.page(a.id(i, "agent_id"))
		}
	}}

// agentVersions has all versions of one agent.
var agentVersions = board{id: "versions", report: "versions", by: "versions.version", columns: versions.columns[1:], named: 12,
	told: "versions.lead_of_agent", line: func(a *asked, i int, l *line) {
		l.Null, l.Name, l.Title = true, a.l.Say("page.none"), "" // the first column does not identify a row
		if v := a.rows[i][a.index("agent_version")]; v != nil {
			l.Name = texts.Clip(a.text(v), 40)
		}
	}}

func versionCalls(a *asked, row int) string {
	where := map[string]string{"agent_id": a.id(row, "agent_id")}
	if v := a.rows[row][a.index("agent_version")]; v != nil {
		where["agent_version"] = a.text(v)
	}
	return a.calls(where)
}

// edits has the changes of one agent, the latest first, and the outcomes of its calls.
var edits = board{id: "edits", report: "changes", by: "edits.time", none: "edits.none", wide: true, columns: []column{
	{text: "kind", name: "kind", words: true, write: func(a *asked, _ []any, v any) string { return a.l.Word("edit", a.text(v)) }},
	{text: "what", name: "what", prose: true}, {text: "fields", name: "fields", prose: true, wide: true},
	{text: "before", name: "before_completed_percent"}, {text: "after", name: "after_completed_percent"},
	{text: "verdict", name: "verdict", words: true, write: func(a *asked, _ []any, v any) string { return a.l.Word("verdict", a.text(v)) }}},
	choose: func(a *asked) (out []int) {
		for i := range a.rows {
			out = append(out, i)
		}
		slices.SortStableFunc(out, func(i, j int) int { return cmp.Compare(a.text(a.rows[j][0]), a.text(a.rows[i][0])) })
		return out[:min(len(out), 12)]
	},
	omit: func(*asked, []any) bool { return true },
	line: func(a *asked, i int, l *line) { l.Name, l.Title, l.Null = a.l.instant(a.rows[i][0], a.loc), "", true }}

// kindOf names the kind of an outcome. Unknown reasons and statuses have a prefix.
func kindOf(a *asked, _ []any, v any) string {
	kind := a.text(v)
	for _, of := range []string{"reason", "status"} {
		if word, ok := strings.CutPrefix(kind, of+" "); ok {
			return a.l.Say("kind."+of, word)
		}
	}
	return a.l.Word("kind", kind)
}

// ended has the outcomes of calls and their kinds.
var ended = board{id: "ends", report: "outcomes", by: "ends.outcome", words: "outcome", columns: []column{
	{text: "kind", name: "kind", words: true, write: kindOf},
	{text: "share", name: "share_percent"}, {text: "calls", name: "calls"}},
	line: func(a *asked, _ int, l *line) { l.Title, l.Link = "", a.calls(map[string]string{"outcome": l.Key}) }}
