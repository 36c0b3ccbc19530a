package page

import (
	"fmt"
	"strings"
	"time"

	"callhouse/internal/analytics/value"
)

// coverage shows how complete the numbers of the last day, the period, and the whole warehouse are.
func coverage(l *lang, last, whole *span, told []string) *section {
	s := &section{ID: "coverage", Title: l.Say("trust.title"), Wide: true, Open: true,
		Lead: strings.Join(told, " ") + " " + l.Say("trust.lead")}
	if last.calls() > 0 {
		s.Boards = append(s.Boards, last.facts(ofSelection, last.name(l)))
	}
	if whole.period.days() > 1 {
		s.Boards = append(s.Boards, whole.facts(ofSelection, whole.name(l)))
	}
	if all := whole.facts(ofWarehouse, l.Say("trust.warehouse")); len(all.Rows) > 0 {
		s.Boards = append(s.Boards, all)
	}
	return s
}

// name returns the name of the span in texts: its day, or its number of days.
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

// facts declares the rows of the report coverage in one scope.
func facts(scope string) board {
	return board{id: "trust", by: "trust.table", words: "fact", columns: []column{
		{text: "state", name: "state", words: true, write: func(a *asked, _ []any, v any) string { return a.l.Word("state", a.text(v)) }},
		{text: "share", name: "share_percent", bar: true}, {text: "calls", name: "calls"}},
		omit: func(a *asked, row []any) bool { return a.text(row[a.index("scope")]) != scope },
		line: func(a *asked, _ int, l *line) { // built in, and never cut
			fact, kind, of := strings.Cut(l.Key, ": ")
			if l.Name = a.l.Word("fact", fact); of {
				l.Name += ": " + a.l.Word("personal", kind)
			}
		}}
}

func (s *span) facts(scope, name string) *table {
	a := s.reports["coverage"]
	t := facts(scope).table(a)
	t.By = a.l.Say("trust.table", name)
	return t
}

// trust lists the data of a span's calls that is still pending, and the data that is lost.
func (s *span) trust() string {
	a := s.reports["coverage"]
	missing := map[string][]string{}
	for _, row := range a.rows {
		if a.text(row[a.index("scope")]) != ofSelection {
			continue
		}
		fact, state := a.l.Word("fact", a.text(row[a.index("fact")])), a.text(row[a.index("state")])
		n, _ := row[a.index("calls")].(int64)
		told := a.l.Say("trust.fact_alone", fact, n)
		if v := row[a.index("share_percent")]; v != nil {
			told = a.l.Say("trust.fact", fact, n, a.cell(v, "share_percent").Text)
		}
		missing[state] = append(missing[state], told)
	}
	var parts []string
	for _, state := range []string{"waiting", "lost"} {
		if len(missing[state]) > 0 {
			parts = append(parts, a.l.Say("trust."+state, strings.Join(missing[state], ", ")))
		}
	}
	if len(parts) == 0 {
		return a.l.Say("trust.whole", a.l.Calls(s.calls()), s.name(a.l))
	}
	return a.l.Say("trust.line", a.l.Calls(s.calls()), s.name(a.l), strings.Join(parts, "; "))
}

// recent is the number of days whose anomalies the page lists.
const recent = 7

// unusual has the measures of recent days that differ from the past.
var unusual = board{id: "off", report: "anomalies", by: "off.day", columns: []column{
	{text: "measure", name: "measure", words: true, write: func(a *asked, _ []any, v any) string { return a.l.Say("off." + a.text(v)) }},
	{text: "value", name: "value", write: measured}, {text: "usual", name: "usual", write: measured}, {text: "score", name: "score"}},
	omit: func(a *asked, row []any) bool { return a.day(row).Before(a.period.until.AddDate(0, 0, -recent)) },
	line: func(a *asked, i int, l *line) {
		l.Name, l.Title, l.Link = a.l.Day(a.day(a.rows[i])), "", a.calls(map[string]string{"day": l.Key})
	}}

// day returns the day of a row of the report anomalies.
func (a *asked) day(row []any) time.Time { d, _ := row[0].(value.Date); return time.Time(d) }

// off describes the unusual days of the period by measure and bin.
func (a *asked) off() map[string]map[string][]string {
	off := map[string]map[string][]string{}
	for _, row := range a.rows {
		measure, bin := a.text(row[a.index("measure")]), a.period.binOf(a.day(row))
		if off[measure] == nil {
			off[measure] = map[string][]string{}
		}
		off[measure][bin] = append(off[measure][bin], a.l.Say("off.told", a.l.Say("off."+measure),
			measured(a, row, row[a.index("value")]), measured(a, row, row[a.index("usual")]), a.l.Day(a.day(row))))
	}
	return off
}

// measured writes a value of the report anomalies in the unit of its measure.
func measured(a *asked, row []any, x any) string {
	v := float(x)
	switch a.text(row[a.index("measure")]) {
	case "calls":
		return a.l.Grouped(int64(v))
	case "handle_ms":
		return a.l.Duration(v)
	}
	return fmt.Sprintf("%.1f%%", v)
}
