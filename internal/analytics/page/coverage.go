package page

import (
	"context"
	"fmt"
	"strings"
	"time"

	"callhouse/internal/analytics/value"
)

// coverage is how far the numbers can be trusted: those of the last day beside
// those of the period.
func coverage(last, whole *span) *section {
	s := &section{ID: "coverage", Title: "How far to trust these numbers", Wide: true,
		Lead: "Waiting: it comes with one of the next runs of extract, or is given up. Lost: it does not come."}
	if last.calls() > 0 {
		s.Boards = append(s.Boards, last.facts())
	}
	if whole.period.days() > 1 {
		s.Boards = append(s.Boards, whole.facts())
	}
	return s
}

// facts are the rows of the report coverage.
func (s *span) facts() *table {
	a, name := s.reports["coverage"], s.period.length()
	if s.period.days() == 1 {
		name = s.period.String()
	}
	t := &table{Command: a.Command, By: "calls of " + name, Heads: []head{
		{Text: "state", Column: "state", Words: true}, {Text: "share", Column: "share_percent"}, {Text: "calls", Column: "calls"}}}
	for _, row := range a.rows {
		l := a.named(row, 0)
		for _, h := range t.Heads {
			v := row[a.index(h.Column)]
			c := a.cell(v, h.Column)
			if h.Column == "share_percent" {
				c = c.withBar(float(v))
			}
			l.Cells = append(l.Cells, c)
		}
		t.Rows = append(t.Rows, l)
	}
	return t
}

// trust says in a line how much of the last day is still to come.
func trust(last *span) string {
	a := last.reports["coverage"]
	var parts []string
	for _, row := range a.rows {
		state, _ := row[a.index("state")].(string)
		if n, _ := row[a.index("calls")].(int64); state == "waiting" || state == "lost" {
			share := ""
			if v := row[a.index("share_percent")]; v != nil {
				share = " (" + a.cell(v, "share_percent").Text + ")"
			}
			parts = append(parts, fmt.Sprintf("%s %s%s", a.text(row[a.index("fact")]), grouped(n), share))
		}
	}
	n := last.calls()
	switch {
	case n == 0:
		return ""
	case len(parts) == 0:
		return fmt.Sprintf("Of %s of %s nothing is missing.", calls(n), last.period)
	}
	return fmt.Sprintf("Of %s of %s: %s.", calls(n), last.period, strings.Join(parts, ", "))
}

// recent is for how many days the page tells what was off.
const recent = 7

// anomalies are the measures of days that are off their past: those of the last
// days as a table, those of the period by measure and bin. The past is all of it,
// whatever the page's period is.
func anomalies(ctx context.Context, r reader, p period) (*table, map[string]map[string][]string, error) {
	q := r.params(p, "")
	q.Since = time.Time{}
	a, err := r.run(ctx, "anomalies", q, "--until "+p.until.Format(time.DateOnly))
	if err != nil {
		return nil, nil, err
	}
	off := map[string]map[string][]string{}
	t := &table{Command: a.Command, By: "day", Heads: []head{{Text: "measure", Column: "measure", Words: true}, {Text: "was", Column: "value"}, {Text: "usually", Column: "usual"}, {Text: "spreads off", Column: "score"}}}
	for _, row := range a.rows {
		day, _ := row[0].(value.Date)
		if time.Time(day).Before(p.since) {
			continue
		}
		measure := a.text(row[a.index("measure")])
		c := a.cell(row[a.index("measure")], "measure")
		c.Text = map[string]string{"calls": "calls", "connected_percent": "connect rate", "completed_percent": "completed of answered",
			"negative_percent": "negative sentiment", "handle_ms": "average handle time"}[measure]
		if off[measure] == nil {
			off[measure] = map[string][]string{}
		}
		bin := p.binOf(time.Time(day))
		off[measure][bin] = append(off[measure][bin], fmt.Sprintf("%s %s, usually %s (%s)", c.Text, measured(measure, float(row[a.index("value")])),
			measured(measure, float(row[a.index("usual")])), dayName(time.Time(day))))
		if time.Time(day).Before(p.until.AddDate(0, 0, -recent)) {
			continue
		}
		l := line{Name: dayName(time.Time(day)), Key: a.text(day), Cells: []cell{c}}
		for _, h := range t.Heads[1:] {
			v := row[a.index(h.Column)]
			c := a.cell(v, h.Column)
			if h.Column != "score" {
				c.Text = measured(measure, float(v))
			}
			l.Cells = append(l.Cells, c)
		}
		t.Rows = append(t.Rows, l)
	}
	return t, off, nil
}

// measured writes a value as its measure is written elsewhere.
func measured(measure string, v float64) string {
	switch measure {
	case "calls":
		return grouped(int64(v))
	case "handle_ms":
		return duration(v)
	}
	return fmt.Sprintf("%.1f%%", v)
}
