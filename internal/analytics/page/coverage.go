package page

import (
	"context"
	"fmt"
	"strings"
	"time"

	"callhouse/internal/analytics/value"
)

// coverage shows how complete the numbers are: of the last day, the period, and the whole
// warehouse.
func coverage(l *lang, last, whole *span) *section {
	s := &section{ID: "coverage", Title: l.say("trust.title"), Wide: true, Lead: l.say("trust.lead")}
	if last.calls() > 0 {
		s.Boards = append(s.Boards, last.facts(ofSelection, last.name(l)))
	}
	if whole.period.days() > 1 {
		s.Boards = append(s.Boards, whole.facts(ofSelection, whole.name(l)))
	}
	if all := whole.facts(ofWarehouse, l.say("trust.warehouse")); len(all.Rows) > 0 {
		s.Boards = append(s.Boards, all)
	}
	return s
}

// name returns the span's name in texts: its day, or its number of days.
func (s *span) name(l *lang) string {
	if s.period.days() == 1 {
		return l.period(s.period)
	}
	return l.length(s.period)
}

// The scopes of the report coverage.
const (
	ofSelection = "selection"
	ofWarehouse = "warehouse"
)

// facts returns the rows of the report coverage in one scope.
func (s *span) facts(scope, name string) *table {
	a := s.reports["coverage"]
	t := &table{Command: a.Command, By: a.l.say("trust.table", name), Heads: []head{
		{Text: a.l.say("trust.state"), Column: "state", Words: true}, {Text: a.l.say("trust.share"), Column: "share_percent"},
		{Text: a.l.say("trust.calls"), Column: "calls"}}}
	for _, row := range a.rows {
		if a.text(row[a.index("scope")]) != scope {
			continue
		}
		l := a.named(row, 0, "fact")
		l.Name = a.l.word("fact", l.Key) // built in, and never cut
		for _, h := range t.Heads {
			v := row[a.index(h.Column)]
			c := a.cell(v, h.Column)
			switch h.Column {
			case "share_percent":
				c = c.withBar(float(v))
			case "state":
				c.Text = a.l.word("state", c.Exact)
			}
			l.Cells = append(l.Cells, c)
		}
		t.Rows = append(t.Rows, l)
	}
	return t
}

// trust summarises which data of a span's calls is pending and which is lost.
func (s *span) trust() string {
	a := s.reports["coverage"]
	missing := map[string][]string{}
	for _, row := range a.rows {
		if a.text(row[a.index("scope")]) != ofSelection {
			continue
		}
		fact, state := a.l.word("fact", a.text(row[a.index("fact")])), a.text(row[a.index("state")])
		n, _ := row[a.index("calls")].(int64)
		told := a.l.say("trust.fact_alone", fact, n)
		if v := row[a.index("share_percent")]; v != nil {
			told = a.l.say("trust.fact", fact, n, a.cell(v, "share_percent").Text)
		}
		missing[state] = append(missing[state], told)
	}
	n := s.calls()
	var parts []string
	for _, state := range []string{"waiting", "lost"} {
		if len(missing[state]) > 0 {
			parts = append(parts, a.l.say("trust."+state, strings.Join(missing[state], ", ")))
		}
	}
	switch {
	case n == 0:
		return ""
	case len(parts) == 0:
		return a.l.say("trust.whole", a.l.calls(n), s.name(a.l))
	}
	return a.l.say("trust.line", a.l.calls(n), s.name(a.l), strings.Join(parts, "; "))
}

// recent is the number of days whose anomalies the page lists.
const recent = 7

// anomalies returns the measures that differ from their past: of recent days as a table, of the
// period by measure and bin.
func anomalies(ctx context.Context, r reader, p period) (*table, map[string]map[string][]string, error) {
	a, err := r.ask(ctx, "anomalies", p, "")
	if err != nil {
		return nil, nil, err
	}
	off := map[string]map[string][]string{}
	t := &table{Command: a.Command, By: r.l.say("off.day"), Heads: []head{{Text: r.l.say("off.measure"), Column: "measure", Words: true},
		{Text: r.l.say("off.value"), Column: "value"}, {Text: r.l.say("off.usual"), Column: "usual"},
		{Text: r.l.say("off.score"), Column: "score"}}}
	for _, row := range a.rows {
		day, _ := row[0].(value.Date)
		measure := a.text(row[a.index("measure")])
		c := a.cell(row[a.index("measure")], "measure")
		c.Text = r.l.say("off." + measure)
		if off[measure] == nil {
			off[measure] = map[string][]string{}
		}
		bin := p.binOf(time.Time(day))
		off[measure][bin] = append(off[measure][bin], r.l.say("off.told", c.Text, r.l.measured(measure, float(row[a.index("value")])),
			r.l.measured(measure, float(row[a.index("usual")])), r.l.day(time.Time(day))))
		if time.Time(day).Before(p.until.AddDate(0, 0, -recent)) {
			continue
		}
		l := line{Name: r.l.day(time.Time(day)), Key: a.text(day), Cells: []cell{c}}
		for _, h := range t.Heads[1:] {
			v := row[a.index(h.Column)]
			c := a.cell(v, h.Column)
			if h.Column != "score" {
				c.Text = r.l.measured(measure, float(v))
			}
			l.Cells = append(l.Cells, c)
		}
		t.Rows = append(t.Rows, l)
	}
	return t, off, nil
}

// measured writes a value in the unit of its measure.
func (l *lang) measured(measure string, v float64) string {
	switch measure {
	case "calls":
		return l.grouped(int64(v))
	case "handle_ms":
		return l.duration(v)
	}
	return fmt.Sprintf("%.1f%%", v)
}
