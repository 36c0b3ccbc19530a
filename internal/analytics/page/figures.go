package page

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"strings"
	"time"

	"callhouse/internal/analytics/value"
)

// The direction of a figure: whether growth is good.
type direction int8

const (
	neither direction = iota
	higherIsBetter
	lowerIsBetter
)

// figure declares one of the five key figures.
type figure struct {
	id, report  string
	column, row string // row: COLUMN=TEXT, the row of the report; empty: the first
	direction   direction
	scale       scale
	measure     string // of the report anomalies
}

var figures = []figure{
	{"calls", "funnel", "calls", "stage=attempted", neither, counts, "calls"},
	{"connect", "funnel", "attempted_percent", "stage=connected", higherIsBetter, percents, "connected_percent"},
	{"completed", "funnel", "answered_percent", "stage=completed", higherIsBetter, percents, "completed_percent"},
	{"negative", "sentiment", "negative_percent", "", lowerIsBetter, percents, "negative_percent"},
	{"cost", "costs", "per_call", "", lowerIsBetter, amounts, ""},
}

// key are the reports of the key figures with the columns that are compared.
var key = map[string][]string{
	"funnel":    {"stage", "calls", "attempted_percent", "answered_percent"},
	"sentiment": {"calls", "negative_percent"},
	"costs":     {"unit", "per_call"},
}

// answersOfPeriod is the number of answers about the period that are judged together: its figures,
// agents, reasons and tools. So at most five in a hundred pages show a change when nothing changed.
const answersOfPeriod = 4

// tile is a figure of a day or a period next to the one before.
type tile struct {
	Name, What  string
	Day, Period shown
}

// shown is a figure, its earlier value and the change, with its source.
type shown struct {
	Now, Before   cell
	Change        *change // nil: there is nothing to compare, and the day is not unusual
	Command       command
	Column, Where string
}

// span has the key figures of a day or a period, and those of the one before.
type span struct {
	answers        map[string]*answer // by report
	overdispersion float64            // see [overdispersion]
}

// String writes a figure as text.
func (s shown) String() string {
	text := cmp.Or(s.Before.Text, "–") + " → " + s.Now.Text
	if s.Change == nil {
		return text
	}
	return text + " (" + s.Change.Word + ")"
}

// value returns a figure's value; prefix selects the period before. No row of calls means 0 calls.
func (s span) value(f figure, prefix string) any {
	a := s.answers[f.report]
	if prefix != "" && !a.compares() {
		return nil
	}
	v := a.at(prefix+f.column, where(f.row))
	if v == nil && f.id == "calls" {
		return int64(0)
	}
	return v
}

// calls returns the number of calls.
func (s span) calls(prefix string) int64 {
	n, _ := s.value(figures[0], prefix).(int64)
	return n
}

// shown returns a figure next to the one before.
func (s span) shown(f figure) shown {
	a := s.answers[f.report]
	v, w := s.value(f, ""), s.value(f, value.PreviousOf)
	out := shown{Now: a.cell(v, f.column), Command: a.Command, Column: f.column, Where: f.row}
	of := where(f.row)
	if f.id == "negative" {
		of = map[string]string{"user_sentiment": "negative"}
	}
	out.Now.Link = a.calls(of)
	if v == nil || w == nil || s.calls("") == 0 || s.calls(value.PreviousOf) == 0 {
		return out
	}
	out.Before = a.cell(w, f.column)
	is, was := float(v), float(w)
	by := a.l.points(is - was)
	if f.scale != percents {
		by = sign(is-was) + a.l.magnitude(math.Abs(is-was), v, a.columns[a.index(f.column)])
		if was != 0 && math.Abs(is-was) < 10*math.Abs(was) { // beyond that, percentages are meaningless
			by += fmt.Sprintf(" (%s%%)", signed(100*(is-was)/was))
		}
	}
	var clear bool
	if f.id != "calls" {
		clear = a.clear(a.row(where(f.row)), f.column)
	} else {
		clear = s.overdispersion > 0 && math.Abs(is-was) > a.params.Strict.Quantile()*math.Sqrt(s.overdispersion*(is+was))
	}
	out.Change = a.l.change(is, was, f.direction, by, clear)
	return out
}

// where returns the texts of columns that identify a row, given as COLUMN=TEXT or empty.
func where(row string) map[string]string {
	column, text, ok := strings.Cut(row, "=")
	if !ok {
		return nil
	}
	return map[string]string{column: text}
}

// compares reports whether an answer has the figures of the period before.
func (a *answer) compares() bool { return !a.params.PreviousSince.IsZero() }

// clear reports whether the bounds of a change in a row exclude 0.
func (a *answer) clear(row []any, column string) bool {
	return row != nil && a.compares() &&
		(float(row[a.index(value.ChangeLowOf+column)]) > 0 || float(row[a.index(value.ChangeHighOf+column)]) < 0)
}

// overdispersion returns how much the calls of a day differ from the same weekday a week before, relative to chance (√(2n)
// for n calls), over the eight weeks up to a day; 0: unknown. days is the funnel by day.
func overdispersion(days *answer, until time.Time) float64 {
	of := func(day time.Time) float64 {
		return float(days.at("calls", map[string]string{"day": day.Format(time.DateOnly), "stage": "attempted"}))
	}
	var sum float64
	var n int
	for day := until.AddDate(0, 0, -7*7); day.Before(until); day = day.AddDate(0, 0, 1) {
		if is, was := of(day), of(day.AddDate(0, 0, -7)); is > 0 && was > 0 {
			sum, n = sum+(is-was)*(is-was)/(is+was), n+1
		}
	}
	if n < 14 {
		return 0
	}
	return max(sum/float64(n), 1)
}

// change describes the difference of a figure between two periods.
type change struct {
	Arrow, By, Word string
	Class           string // good, bad or same; always shown by other signs as well
	unusual         bool   // a point of its own says so
}

// change describes how a figure differs from its earlier value. clear means by more than chance.
func (l *Texts) change(is, was float64, of direction, by string, clear bool) *change {
	c := &change{Arrow: "▲", Word: l.Say("change.more"), Class: "same", By: by}
	if is < was {
		c.Arrow, c.Word = "▼", l.Say("change.fewer")
	}
	switch {
	case is == was:
		return &change{Arrow: "=", Word: l.Say("change.the_same"), Class: "same"}
	case !clear:
		c.Word = l.Say("change.not_clear")
	case of == neither:
	case of.better(is, was):
		c.Word, c.Class = l.Say("change.better"), "good"
	default:
		c.Word, c.Class = l.Say("change.worse"), "bad"
	}
	return c
}

func (d direction) better(is, was float64) bool {
	return d != neither && (is > was) == (d == higherIsBetter)
}

// unusual says of a day's figure that it is unusual: that counts, even if it differs from the week before by chance only.
func (s *shown) unusual(l *Texts, usual, class string) {
	c := change{Word: l.Say("change.unusual", usual), Class: class, unusual: true}
	if old := s.Change; old != nil {
		c.Arrow, c.By = old.Arrow, old.By
		if old.Word != l.Say("change.not_clear") {
			c.Word = old.Word + ", " + c.Word
		}
	}
	s.Change = &c
}

func (l *Texts) points(f float64) string { return l.Say("unit.points", signed(f)) }

// magnitude writes a difference in the format of its column.
func (l *Texts) magnitude(f float64, like any, c value.Column) string {
	if _, whole := like.(int64); whole {
		return l.Cell(int64(math.Round(f)), c, nil)
	}
	if l.HasCurrency() && c.Unit == value.Money {
		return l.Amount(value.Decimal{Units: big.NewInt(int64(math.Round(f * 1e4))), Scale: 4})
	}
	return fmt.Sprintf("%.2f", f)
}
