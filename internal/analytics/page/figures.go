package page

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"time"

	"callhouse/internal/analytics/page/chart"
	"callhouse/internal/analytics/page/texts"
	"callhouse/internal/analytics/question"
	"callhouse/internal/analytics/value"
)

// The sense of a figure: whether growth is good.
type sense int8

const (
	neither sense = iota
	higherIsBetter
	lowerIsBetter
)

// figure is one of the key figures at the top.
type figure struct {
	name, what string
	report     string
	field      field
	of         field // of a share: its denominator; empty: no share
	sense      sense
	more, less string // wording for a change that is neither better nor worse
	unit       chart.Scale
	measure    string // of the report anomalies; empty: none
}

// figures returns the key figures as defined by their reports.
func (l *lang) figures() []figure {
	stage := func(s string) map[string]string { return map[string]string{"stage": s} }
	return []figure{
		{name: l.Say("figures.calls"), what: l.Say("figures.calls_what"), report: "funnel", field: field{"calls", stage("attempted")},
			more: l.Say("change.more"), less: l.Say("change.fewer"), unit: chart.Count, measure: "calls"},
		{name: l.Say("figures.connect"), what: l.Say("figures.connect_what"), report: "funnel", of: field{"calls", stage("attempted")},
			field: field{"attempted_percent", stage("connected")}, sense: higherIsBetter, unit: chart.Percent, measure: "connected_percent"},
		{name: l.Say("figures.completed"), what: l.Say("figures.completed_what"), report: "funnel",
			field: field{"answered_percent", stage("completed")},
			of:    field{"answered_calls", stage("completed")}, sense: higherIsBetter, unit: chart.Percent, measure: "completed_percent"},
		{name: l.Say("figures.negative"), what: l.Say("figures.negative_what"), report: "sentiment",
			field: field{"rated_percent", map[string]string{"user_sentiment": "negative"}}, sense: lowerIsBetter, unit: chart.Percent,
			measure: "negative_percent"},
		{name: l.Say("figures.cost"), what: l.Say("figures.cost_what"), report: "costs", field: field{"per_call", nil}, sense: lowerIsBetter,
			unit: chart.Money},
	}
}

// span holds the reports of the key figures for one period.
type span struct {
	period  period
	reports map[string]*asked
}

func (r reader) span(ctx context.Context, p period, more ...string) (*span, error) {
	s := &span{period: p, reports: map[string]*asked{}}
	for _, name := range append(more, daily...) {
		a, err := r.ask(ctx, name, p, "")
		if err != nil {
			return nil, err
		}
		s.reports[name] = a
	}
	return s, nil
}

// daily are the reports of the key figures.
var daily = []string{"funnel", "costs", "sentiment"}

// calls returns the number of calls in the span.
func (s *span) calls() int64 {
	n, _ := s.reports["funnel"].at(field{"calls", map[string]string{"stage": "attempted"}}).(int64)
	return n
}

// rated returns the number of calls with a caller's sentiment.
func (s *span) rated() (n int64) {
	a := s.reports["sentiment"]
	for i := range a.rows {
		n += a.count(i, "rated_calls")
	}
	return n
}

// value returns a figure's value in the span. A missing row in a report means zero: no row of calls
// means 0 calls, and no row of negative calls among rated ones means 0 %.
func (s *span) value(f figure) any {
	v := s.reports[f.report].at(f.field)
	switch {
	case v != nil:
	case f.field.column == "calls":
		return int64(0)
	case f.report == "sentiment" && s.rated() > 0:
		return 0.0
	}
	return v
}

// whole returns the denominator of a share; 0 if the figure is not a share.
func (s *span) whole(f figure) int64 {
	switch {
	case f.report == "sentiment":
		return s.rated()
	case f.of.column == "":
		return 0
	}
	n, _ := s.reports[f.report].at(f.of).(int64)
	return n
}

// shown is a figure's value in a span and its source.
type shown struct {
	cell
	Command             command
	Column, Where, Link string
}

func (s *span) shown(f figure) shown {
	a := s.reports[f.report]
	out := shown{cell: a.cell(s.value(f), f.field.column), Command: a.Command, Column: f.field.column, Link: a.calls(f.field.where)}
	for c, v := range f.field.where { // at most one
		out.Where = c + "=" + v
	}
	return out
}

// change describes the difference of a figure between two spans.
type change struct {
	Arrow, By, Word string
	Class           string // good, bad or same; always shown by other signs as well
}

// beside compares a span with an earlier one.
type beside struct {
	now, before *span
	strict      question.Strict
	reports     map[string]*asked // comparisons of the figures subject to chance
	restless    float64           // variance of daily calls relative to chance; 0: unknown
}

// ofDay judges the figures of the last day together, so that at most five in a hundred pages show a
// change when nothing really changed.
func ofDay(figures []figure) question.Strict { return question.Strict{Changes: len(figures)} }

// answersOfPeriod is the number of answers about the period that are judged together, for the same
// reason: its figures, agents, reasons and tools.
const answersOfPeriod = 4

// beside compares the figures of two spans.
func (r reader) beside(ctx context.Context, now, before *span, figures []figure, strict question.Strict,
	restless float64) (*beside, error) {
	b := &beside{now: now, before: before, strict: strict, reports: map[string]*asked{}, restless: restless}
	for _, f := range figures {
		if b.reports[f.report] != nil || f.field.column == "calls" {
			continue
		}
		q := now.reports[f.report].params
		earlier := before.reports[f.report].params
		q.PreviousSince, q.PreviousUntil, q.Strict = earlier.Since, earlier.Until, strict
		for _, g := range figures {
			if g.report == f.report && g.field.column != "calls" {
				for key := range g.field.where {
					q.Columns = append(q.Columns, key)
				}
				q.Columns = append(q.Columns, g.field.column, value.ChangeLowOf+g.field.column, value.ChangeHighOf+g.field.column)
			}
		}
		slices.Sort(q.Columns)
		q.Columns = slices.Compact(q.Columns)
		a, err := r.run(ctx, f.report, q, now.period, compare[1:]+" ")
		var alone *question.GroupError
		if errors.As(err, &alone) {
			return b, nil
		}
		if err != nil {
			return nil, err
		}
		b.reports[f.report] = a
	}
	return b, nil
}

// clear reports whether a figure's change is more than chance.
func (b *beside) clear(f figure) bool {
	if f.field.column == "calls" {
		is, was := float64(b.now.calls()), float64(b.before.calls())
		return b.restless > 0 && math.Abs(is-was) > b.strict.Quantile()*math.Sqrt(b.restless*(is+was))
	}
	a := b.reports[f.report]
	return a != nil && a.clear(a.row(f.field.where), f.field.column)
}

// clear reports whether the bounds of a change in a row exclude 0.
func (a *asked) clear(row []any, column string) bool {
	if row == nil {
		return false
	}
	return float(row[a.index(value.ChangeLowOf+column)]) > 0 || float(row[a.index(value.ChangeHighOf+column)]) < 0
}

// restless returns how much the calls of a day differ from the same weekday a week before, relative
// to chance, over the eight weeks up to a period's end; 0: unknown. By chance, two days of about n
// calls differ by √(2n).
func (r reader) restless(ctx context.Context, p period) (float64, error) {
	p.since = p.until.AddDate(0, 0, -8*7)
	a, err := r.ask(ctx, "funnel", p, "day")
	if err != nil {
		return 0, err
	}
	of := func(day time.Time) float64 { return float(a.at(attempted.at(day.Format(time.DateOnly), a))) }
	var sum float64
	var days int
	for day := p.since.AddDate(0, 0, 7); day.Before(p.until); day = day.AddDate(0, 0, 1) {
		n, m := of(day), of(day.AddDate(0, 0, -7))
		if n > 0 && m > 0 {
			sum, days = sum+(n-m)*(n-m)/(n+m), days+1
		}
	}
	if days < 14 {
		return 0, nil
	}
	return max(sum/float64(days), 1), nil
}

// against returns the change of a figure; nil if a span lacks the figure.
func (b *beside) against(f figure) *change {
	a := b.now.reports[f.report]
	v, w := b.now.value(f), b.before.value(f)
	if v == nil || w == nil || b.now.calls() == 0 || b.before.calls() == 0 {
		return nil
	}
	is, was := float(v), float(w)
	if b.now.whole(f) > 0 {
		return a.l.change(is, was, f, a.l.points(is-was), b.clear(f))
	}
	by := texts.Sign(is-was) + a.l.magnitude(math.Abs(is-was), v, a.columns[a.index(f.field.column)])
	if was != 0 && math.Abs(is-was) < 10*math.Abs(was) { // beyond that, percentages are meaningless
		by += fmt.Sprintf(" (%s%%)", texts.Signed(100*(is-was)/was))
	}
	return a.l.change(is, was, f, by, b.clear(f))
}

// change describes how a figure differs from its earlier value. clear means by more than chance.
func (l *lang) change(is, was float64, f figure, by string, clear bool) *change {
	c := &change{Arrow: "▲", Word: f.more, Class: "same", By: by}
	if is < was {
		c.Arrow, c.Word = "▼", f.less
	}
	switch {
	case is == was:
		return &change{Arrow: "=", Word: l.Say("change.the_same"), Class: "same"}
	case !clear:
		c.Word = l.Say("change.not_clear")
	case f.sense == neither:
		return c
	case (is > was) == (f.sense == higherIsBetter):
		c.Word, c.Class = l.Say("change.better"), "good"
	default:
		c.Word, c.Class = l.Say("change.worse"), "bad"
	}
	return c
}

// points writes a difference of shares.
func (l *lang) points(f float64) string { return l.Say("unit.points", texts.Signed(f)) }

// magnitude writes a difference in the format of its column.
func (l *lang) magnitude(f float64, like any, c value.Column) string {
	switch like.(type) {
	case int64:
		return l.Cell(int64(math.Round(f)), c, nil)
	}
	if l.HasCurrency() && c.Unit == value.Money {
		return l.Amount(value.Decimal{Units: big.NewInt(int64(math.Round(f * 1e4))), Scale: 4})
	}
	return fmt.Sprintf("%.2f", f)
}
