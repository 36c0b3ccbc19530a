package querycmd

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"callhouse/internal/analytics"
	"callhouse/internal/analytics/page"
	"callhouse/internal/analytics/question"
)

// frame holds the links and selections common to all pages.
type frame struct {
	*page.Texts
	Title, Lang, Path            string
	Page, Calls, Agents, Reports string // links to these pages for the same calls
	Spans                        []choice
	Fields                       []input
	Names                        []string // of agents
	Conditions                   []choice // each with a link that removes it
	Dimensions                   []string
	Hidden, Shared               []input // hidden fields of the forms
	Grouped                      bool
}

type choice struct {
	Text, Link string
	On         bool
}

type input struct{ Name, Label, Value, Hint, Type string }

func (s *liveServer) frame(ctx context.Context, q *request, title string, groups bool) (frame, error) {
	f := frame{Texts: q.texts, Title: title, Lang: q.lang, Path: q.path, Grouped: groups, Dimensions: question.Dimensions()}
	same := shared(q.values)
	f.Page, f.Calls, f.Agents, f.Reports = link("/", same), link("/calls", same), link("/reports/agents", same), link("/reports", same)
	if q.id != "" {
		return f, nil // a single call has no selections
	}
	var err error
	agent := q.typed.Agent
	if f.Names, err = q.agentNames(ctx, &agent); err != nil {
		return f, err
	}
	f.spans(q)
	f.Fields = []input{{"since", q.texts.Say("frame.from"), q.typed.Since, "7d", dateField(q.typed.Since)},
		{"until", q.texts.Say("frame.before"), q.typed.Until, "7d", dateField(q.typed.Until)},
		{"agent", q.texts.Say("frame.agent"), q.typed.Agent, q.texts.Say("frame.agent_hint"), ""},
		{"tz", q.texts.Say("frame.zone"), q.zone.String(), "Asia/Seoul", ""}}
	if groups {
		f.Fields = append(f.Fields, input{"by", q.texts.Say("frame.by"), strings.Join(q.typed.By, ","), "agent,day", ""})
	}
	if agent != "" {
		f.Conditions = append(f.Conditions, choice{Text: q.texts.Say("frame.agent_is", agent), Link: link(q.path, q.without("agent"))})
	}
	for i, c := range q.typed.Where {
		values := q.without("where")
		for j, other := range q.typed.Where {
			if j != i {
				values.Add("where", other)
			}
		}
		f.Conditions = append(f.Conditions, choice{Text: c, Link: link(q.path, values)})
	}
	for _, name := range slices.Sorted(maps.Keys(same)) {
		for _, v := range same[name] {
			f.Shared = append(f.Shared, input{Name: name, Value: v})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(q.values)) {
		if name != "skip" && !slices.ContainsFunc(f.Fields, func(i input) bool { return i.Name == name }) {
			for _, v := range q.values[name] {
				f.Hidden = append(f.Hidden, input{Name: name, Value: v})
			}
		}
	}
	return f, nil
}

// spans adds the periods that can be selected with one click.
func (f *frame) spans(q *request) {
	all := q.texts.Say("frame.all")
	if q.path == "/" {
		all = q.texts.Say("frame.default") // the last 28 days
	}
	days := func(n int) string { return q.texts.Say("count.days", n) }
	for _, span := range []struct{ text, since string }{
		{all, ""}, {days(1), "1d"}, {days(7), "7d"}, {days(28), "28d"}, {days(91), "91d"}, {q.texts.Say("frame.year"), "364d"}} {
		values := q.without("since", "until")
		if span.since != "" {
			values.Set("since", span.since)
		}
		f.Spans = append(f.Spans, choice{span.text, link(q.path, values), q.typed.Since == span.since && q.typed.Until == ""})
	}
}

// agentNames returns the names of the agents that the reader may see, for the field's suggestions,
// and replaces an agent's id by its name.
func (q *request) agentNames(ctx context.Context, agent *string) (out []string, err error) {
	rows, err := q.warehouse.SQL(ctx, "SELECT name, agent_id FROM agents WHERE name IS NOT NULL ORDER BY name, agent_id LIMIT 1000")
	if err = each(ctx, rows, err, func(row []any) {
		name, _ := row[0].(string)
		if out = append(out, name); row[1] == *agent {
			*agent = name
		}
	}); analytics.Denied(err) {
		return nil, nil
	}
	return slices.Compact(out), err
}

// dateField returns the type of a field for a day: a calendar, unless the value is another kind of
// time.
func dateField(text string) string {
	if _, err := time.Parse(time.DateOnly, text); text == "" || err == nil {
		return "date"
	}
	return ""
}
