package page

import (
	"context"
	"errors"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"time"

	"callhouse/internal/analytics/question"
	"callhouse/internal/words"
)

// completed is the outcome that counts as an agent's success, unless the setting success overrides it.
const completed = "completed"

// agents has the 20 agents with the most calls, in the report's order.
func (p *page) agents(a *answer) *section {
	s := &section{ID: "agents", Title: p.l.Say("agents.title"), Lead: p.l.Say("agents.lead")}
	t := a.table("by.agent", s.ID, head{Text: "calls", Column: "calls"}, head{Text: "completed", Column: "goal_percent"},
		head{Text: "negative", Column: "negative_percent"}, head{Text: "cost", Column: "total_cost", Wide: true})
	for i, row := range a.rows {
		l := a.line(row, "")
		goal, id := a.text(row[a.index("goal")]), a.id(i, "agent_id")
		of := "points.agent"
		if goal != completed {
			l.Note, of, t.Heads[1].Text = p.l.Say("agents.is_goal", goal), "points.agent_goal", p.l.Say("agents.goal")
		}
		if !l.Null {
			l.Name, l.Link = shortName(l.Key), a.page(id)
		}
		l.Cells = []cell{a.cell(row[a.index("calls")], "calls"),
			p.share(a, row, "goal_percent", higherIsBetter, p.l.Say(of, l.Name)),
			p.share(a, row, "negative_percent", lowerIsBetter, p.l.Say("points.agent_negative", l.Name)),
			a.cell(row[a.index("total_cost")], "total_cost")}
		l.Cells[0].Link = a.calls(map[string]string{"agent_id": id})
		t.Rows = append(t.Rows, l)
	}
	if others := a.most(t, 0, 20); others > 0 {
		s.Lead = p.l.Say("agents.some", 20, 20+others) + " " + s.Lead
	}
	t.stretch(2)
	s.Tables = []*table{t}
	return s
}

// usualReasons end calls that may have succeeded, or met a machine. Fewer calls with others are better.
var usualReasons = []string{"user_hangup", "agent_hangup", "call_transfer", "operator_hangup", "voicemail_reached"}

// reasons has the 12 most frequent reasons for which calls ended.
func (p *page) reasons(a *answer) *section {
	s := &section{ID: "reasons", Title: p.l.Say("reasons.title"), Lead: p.l.Say("reasons.lead")}
	t := a.table("by.reason", s.ID, head{Text: "share", Column: "share_percent"}, head{Text: "calls", Column: "calls"})
	for _, row := range a.rows {
		l, of := a.line(row, "reason"), lowerIsBetter
		if slices.Contains(usualReasons, l.Key) || l.Name == l.Key {
			of = neither
		}
		l.Link = a.calls(map[string]string{"disconnection_reason": l.Key})
		l.Cells = []cell{p.share(a, row, "share_percent", of, p.l.Say("points.reason", l.Name)), a.cell(row[a.index("calls")], "calls")}
		t.Rows = append(t.Rows, l)
	}
	a.most(t, 1, 12)
	t.stretch(0)
	s.Tables = []*table{t}
	return s
}

// tools has the 8 tools with the most failures.
func (p *page) tools(a *answer) *section {
	s := &section{ID: "tools", Title: p.l.Say("tools.title"), Lead: p.l.Say("tools.lead")}
	t := a.table("tools.tool", s.ID, head{Text: "share", Column: "failed_percent"}, head{Text: "failed", Column: "failed_uses"},
		head{Text: "uses", Column: "uses"})
	for _, row := range a.rows {
		l := a.line(row, "")
		l.Cells = append([]cell{p.share(a, row, "failed_percent", lowerIsBetter, p.l.Say("points.tool", l.Name))},
			a.cells(row, "failed_uses", "uses")...)
		t.Rows = append(t.Rows, l)
	}
	a.most(t, 1, 8)
	t.stretch(0)
	switch {
	case len(t.Rows) > 0:
		s.Tables = []*table{t}
	case a.sum("uses") > 0:
		s.Lead = p.l.Say("tools.nothing")
	default:
		s.Lead = p.l.Say("tools.unused")
	}
	return s
}

// worst has the five worst calls of some days, with their summaries and last words.
func (p *page) worst(ctx context.Context, a *answer, of period) (*section, error) {
	s := &section{ID: "worst", Title: p.l.Say("worst.title"), Lead: p.l.Say("worst.nothing", p.l.period(of))}
	if len(a.rows) == 0 {
		return s, nil
	}
	s.Lead = p.l.Say("worst.lead", p.l.period(of))
	t := a.table("worst.call", s.ID, head{Text: "reasons", Column: "why", Words: true}, head{Text: "time", Column: "start_at", Words: true},
		head{Text: "agent", Column: "agent_id", Words: true}, head{Text: "duration", Column: "duration_ms"})
	calls, starts := map[string]*line{}, map[string]time.Time{}
	t.Rows = make([]line, min(len(a.rows), 5))
	linked := false
	for i, row := range a.rows[:len(t.Rows)] {
		l := &t.Rows[i]
		*l = a.line(row, "")
		l.Name, l.Show, l.Summary = l.Key, "query call "+words.Shell(l.Key), p.l.Say("worst.no_summary")
		if a.source.at != nil {
			l.Link = a.source.at("call", question.Params{Call: l.Key})
		}
		l.Cells = a.cells(row, "why", "start_at", "agent_id", "duration_ms")
		l.Cells[0].Text, l.Cells[2].Text = p.l.why(l.Cells[0].Exact), shortName(l.Cells[2].Text)
		if at, ok := row[a.index("start_at")].(time.Time); ok {
			l.Cells[1].Text, starts[l.Key] = p.l.Time("minute", at.In(p.w.Location())), at
		}
		switch place := a.text(row[a.index("recording")]); {
		case strings.HasPrefix(place, "http"): // who has the link may listen
			linked = true
		case place != "":
			l.Recording = p.l.Say("worst.recording", place)
		}
		if !l.Cells[2].Null {
			l.Cells[2].Link = a.page(a.id(i, "agent_id"))
		}
		calls[l.Key] = l
	}
	if linked {
		s.Lead += " " + p.l.Say("worst.link")
	}
	s.Tables = []*table{t}
	rows, err := p.w.Said(ctx, starts)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for {
		row, err := rows.Next(ctx)
		if errors.Is(err, io.EOF) {
			return s, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read what was said: %w", err)
		}
		l := calls[row[0].(string)]
		switch what, _ := row[2].(string); {
		case what == "":
		case row[1] == "summary":
			l.Summary = clip(what, 240)
		default:
			l.Said = append(l.Said[max(0, len(l.Said)-1):], said{p.l.Say("worst.said_" + row[1].(string)), clip(what, 140)})
		}
	}
}

// ends has the outcomes of all attempts.
func (p *page) ends(a *answer) *section {
	s := &section{ID: "ends", Title: p.l.Say("ends.title"), Lead: p.l.Say("ends.lead")}
	t := a.table("ends.outcome", s.ID, head{Text: "kind", Column: "kind", Words: true}, head{Text: "share", Column: "share_percent"},
		head{Text: "calls", Column: "calls"})
	for _, row := range a.rows {
		l := a.line(row, "outcome")
		l.Cells = a.cells(row, "kind", "share_percent", "calls")
		l.Cells[1].HasBar, l.Cells[1].Bar = true, float(row[a.index("share_percent")])
		kind := l.Cells[0].Exact
		l.Link = a.calls(map[string]string{"outcome": l.Key, "outcome_kind": kind})
		if l.Cells[0].Text = p.l.Word("kind", kind); l.Cells[0].Text == kind { // unknown words have a prefix
			for _, of := range []string{"reason", "status"} {
				if word, ok := strings.CutPrefix(kind, of+" "); ok {
					l.Cells[0].Text = p.l.Say("kind."+of, word)
				}
			}
		}
		t.Rows = append(t.Rows, l)
	}
	a.most(t, 2, 12)
	t.stretch(1)
	s.Tables = []*table{t}
	return s
}

// course shows the key figures over time.
func (p *page) course(answers map[string]*answer, bins []bin) *section {
	unit := p.period.unit()
	s := &section{ID: "course", Title: p.l.Say("course.title_" + unit), Lead: p.l.Say("course.lead")}
	c := &chart{id: s.ID, title: s.Title, bins: bins, noData: p.l.Say("page.no_data")}
	for i, b := range bins {
		bins[i].hover = b.name
		if b.part {
			bins[i].hover = p.l.Say("period.part", b.name)
			s.Lead = p.l.Say("course.lead") + " " + p.l.Say("course.part_"+unit)
		}
	}
	tables := map[string]*table{}
	for i, f := range figures {
		a := answers[f.report]
		t := tables[f.report]
		if t == nil {
			t = &table{Command: a.Command, By: p.l.Say("by." + unit)}
			for _, b := range bins {
				t.Rows = append(t.Rows, line{Name: b.name, Key: b.key, Part: b.part, Link: a.calls(map[string]string{unit: b.key})})
			}
			tables[f.report], s.Numbers = t, append(s.Numbers, t)
		}
		t.Heads = append(t.Heads, head{Text: p.l.Say("figures." + f.id), Column: f.column, Where: f.row})
		plot := panel{title: p.l.Say("figures."+f.id) + ", " + p.l.Say("figures."+f.id+"_what"), bars: i == 0, scale: f.scale,
			height: 100, symbol: p.l.Symbol()}
		for j, b := range bins {
			of := map[string]string{unit: b.key}
			for c, text := range where(f.row) {
				of[c] = text
			}
			v := a.at(f.column, of)
			plot.values = append(plot.values, float(v))
			shown := a.cell(v, f.column)
			t.Rows[j].Cells = append(t.Rows[j].Cells, shown)
			bins[j].hover += "\n" + p.l.Say("figures."+f.id) + ": " + shown.Text
		}
		c.panels = append(c.panels, plot)
	}
	for i := range bins {
		bins[i].link = s.Numbers[0].Rows[i].Link
	}
	c.desc = s.Lead + " " + p.l.Say("page.table_follows")
	// In the widths of a desktop and a phone: scaling one would make texts too small or too large. The style sheet selects
	// one; without it, only the first is shown.
	narrow := strings.Replace(c.svg("sm", 400, false), "<svg ", `<svg display="none" `, 1)
	s.Charts = []template.HTML{template.HTML(c.svg("xl", 1096, true)), template.HTML(narrow)} //nolint:gosec // its texts are escaped
	return s
}

// coverage shows how complete the numbers of the last day, the period, and the whole warehouse are.
func (p *page) coverage(day, whole *answer) *section {
	s := &section{ID: "coverage", Title: p.l.Say("trust.title"), Open: true}
	add := func(a *answer, scope, name string) {
		t := a.table("trust.warehouse", "trust", head{Text: "state", Column: "state", Words: true}, head{Text: "share", Column: "share_percent"},
			head{Text: "calls", Column: "calls"})
		t.By = p.l.Say("trust.table", name)
		missing := map[string][]string{}
		for _, row := range a.rows {
			if a.text(row[a.index("scope")]) != scope {
				continue
			}
			l := a.line(row, "fact")
			fact, kind, personal := strings.Cut(l.Key, ": ")
			if l.Name, l.Title = p.l.Word("fact", fact), ""; personal {
				l.Name += ": " + p.l.Word("personal", kind)
			}
			l.Cells = a.cells(row, "state", "share_percent", "calls")
			state := l.Cells[0].Exact
			l.Cells[0].Text = p.l.Word("state", state)
			text := p.l.Say("trust.fact_alone", l.Name, a.count(row, "calls"))
			if !l.Cells[1].Null {
				text = p.l.Say("trust.fact", l.Name, a.count(row, "calls"), l.Cells[1].Text)
			}
			missing[state] = append(missing[state], text)
			t.Rows = append(t.Rows, l)
		}
		if len(t.Rows) == 0 {
			return
		}
		if s.Tables = append(s.Tables, t); scope == "warehouse" {
			return
		}
		var parts []string
		for _, state := range []string{"waiting", "lost"} {
			if len(missing[state]) > 0 {
				parts = append(parts, p.l.Say("trust."+state, strings.Join(missing[state], ", ")))
			}
		}
		calls := p.l.Calls(a.count(a.row(map[string]string{"fact": "listed"}), "calls"))
		if len(parts) == 0 {
			s.Lead += p.l.Say("trust.whole", calls, name) + " "
		} else {
			s.Lead += p.l.Say("trust.line", calls, name, strings.Join(parts, "; ")) + " "
		}
	}
	name := p.l.period(p.last)
	if p.period.days() > 1 {
		add(day, "selection", name)
		name = p.l.length(p.period)
	}
	add(whole, "selection", name)
	add(whole, "warehouse", p.l.Say("trust.warehouse"))
	s.Lead += p.l.Say("trust.lead")
	return s
}

// unusual returns the measures of a day that differ from the past, and says so in the day's figures.
func (p *page) unusual(a *answer) (out []point) {
	for _, row := range a.rows {
		measure := a.text(row[a.index("measure")])
		show := func(column string) string {
			v := float(row[a.index(column)])
			switch measure {
			case "calls":
				return p.l.Grouped(int64(v))
			case "handle_ms":
				return p.l.Duration(v)
			}
			return fmt.Sprintf("%.1f%%", v)
		}
		class := "bad"
		for i, f := range figures {
			if f.measure != measure {
				continue
			}
			if f.direction.better(float(row[a.index("value")]), float(row[a.index("usual")])) {
				class = "good"
			}
			if p.Figures[i].Day.unusual(p.l, show("usual"), class); p.Single {
				p.Figures[i].Period.Change = p.Figures[i].Day.Change
			}
		}
		out = append(out, point{Text: p.l.Say("sentence.unusual", p.l.Say("off."+measure), show("value"), show("usual")),
			Change: &change{Class: class}})
	}
	return out
}
