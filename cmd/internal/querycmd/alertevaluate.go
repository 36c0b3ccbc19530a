package querycmd

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"callhouse/internal/alert"
	"callhouse/internal/analytics"
	"callhouse/internal/analytics/question"
	"callhouse/internal/analytics/value"
	"callhouse/internal/words"
)

// jointly is the number of evaluations that a rule's bounds cover together. It is three times a
// month's number, because the bounds of few calls are inexact that far out: with 30, up to 10 % of
// simulated companies had a false alarm of a rule in 30 nights, where 5 % may have one.
const jointly = 100

// evaluator evaluates rules over an open warehouse.
type evaluator struct {
	w      *analytics.Warehouse
	page   string          // address of the live page; may be empty
	strict question.Strict // the number of evaluations judged together
}

func newEvaluator(w *analytics.Warehouse, page string) *evaluator {
	return &evaluator{w, page, question.Strict{Answers: jointly}}
}

// unlistedError reports that not all calls of a window are listed.
type unlistedError struct{ from, to time.Time }

func (e *unlistedError) Error() string {
	return fmt.Sprintf("the calls from %s to %s are not all listed", e.from.Format(time.DateOnly), e.to.Format(time.DateOnly))
}

// readings evaluates a rule as of a time.
func (e *evaluator) readings(ctx context.Context, r *alertRule, at time.Time) ([]alert.Reading, error) {
	since, until := e.period(r, at)
	p := question.Params{Since: since, Until: until, By: strings.Join(r.By, ","), Agent: r.Agent, Where: r.Where, Field: r.Field}
	if !e.listed(since, until) {
		return nil, &unlistedError{since, until}
	}
	p, err := question.Compare(r.file, p, until, until, e.w.Location())
	if err != nil {
		return nil, err
	}
	if r.Changed != "" && !e.listed(p.PreviousSince, p.PreviousUntil) {
		return nil, &unlistedError{p.PreviousSince, p.PreviousUntil}
	}
	if r.comparesVersions() {
		p.PreviousSince, p.PreviousUntil = time.Time{}, time.Time{}
	}
	p.Bounds, p.Strict = true, e.strict
	p.Columns = r.columns()
	rows, err := e.rows(ctx, r.Report, p)
	if err != nil {
		return nil, err
	}
	var out []alert.Reading
	for _, row := range rows {
		if reading, judged := r.judge(row); judged {
			e.describe(r, p, row, &reading)
			out = append(out, reading)
		}
	}
	return out, nil
}

// period returns the window of a rule at a time. It ends at the last reading of the list of calls;
// a window of whole days ends with the last complete day.
func (e *evaluator) period(r *alertRule, at time.Time) (since, until time.Time) {
	loc := e.w.Location()
	if listed := e.w.Snapshot().Manifest.ListedTo(); listed.Before(at) {
		at = listed
	}
	if days := r.days(); days > 0 {
		until = question.DayBegin(question.DayOf(at, loc), loc)
		return question.DaysBack(until, days), until
	}
	until = at.In(loc).Truncate(time.Second)
	return until.Add(-r.window), until
}

// listed reports whether all calls of a period are listed. Each night adds a span of coverage.
func (e *evaluator) listed(from, to time.Time) bool {
	at := from.UnixMilli()
	for _, s := range e.w.Snapshot().Manifest.Coverage {
		if s.From <= at {
			at = max(at, s.To)
		}
	}
	return to.UnixMilli() <= at
}

// columns returns the columns of a comparison that a rule needs.
func (r *alertRule) columns() []string {
	out := append(slices.Clone(r.file.Keys), r.Column)
	if !r.comparesVersions() {
		out = append(out, value.PreviousOf+r.Column)
	}
	if r.bounded() {
		for _, of := range []string{value.LowOf, value.HighOf, value.WholeOf, value.ChangeLowOf, value.ChangeHighOf} {
			out = append(out, of+r.Column)
		}
	} else if n := r.calls(); n != "" && n != r.Column {
		out = append(out, n)
	}
	return out
}

// calls returns the column with the number of calls of a row; empty if there is none.
func (r *alertRule) calls() string {
	for _, name := range []string{"calls", "answered_calls"} {
		if _, ok := r.file.Column(name); ok {
			return name
		}
	}
	return ""
}

// of describes the basis of the value.
func (r *alertRule) of() string {
	of := r.column.Of
	switch {
	case r.column.Spread != "" || !r.bounded() || of == "" || of == "calls" || strings.HasSuffix(of, "these calls"):
		return "calls"
	case of == "uses" || of == "callers" || strings.HasSuffix(of, " uses") || strings.HasSuffix(of, " callers"):
		return of
	}
	return of + " calls"
}

// ruleRow is a row of an answer, by column name.
type ruleRow struct {
	keys   []string          // names of the grouping columns
	values map[string]any    // exact
	texts  map[string]string // with names of agents and campaigns
}

// number returns the number in a column; NaN if there is none.
func (r ruleRow) number(column string) float64 {
	v := value.Of(r.values[column])
	if !v.Kind.Numeric() {
		return math.NaN()
	}
	return v.Float()
}

// rows returns all rows of a report. They are few, because they are groups.
func (e *evaluator) rows(ctx context.Context, report string, p question.Params) (out []ruleRow, err error) {
	p.NamesInPlace = true
	rows, err := e.w.Ask(ctx, analytics.Question{Report: report, Params: p})
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	columns := rows.Columns()
	for {
		shown, err := rows.Next(ctx)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read report %s: %w", report, err)
		}
		this := ruleRow{values: map[string]any{}, texts: map[string]string{}}
		exact := rows.Exact()
		for i, c := range columns {
			this.values[c.Name], this.texts[c.Name] = exact[i], exactText(shown[i])
			if c.Key {
				this.keys = append(this.keys, c.Name)
			}
		}
		out = append(out, this)
	}
}

// judge judges a row. It returns false for a row that the rule does not select or that has too few
// calls.
func (r *alertRule) judge(row ruleRow) (out alert.Reading, judged bool) {
	for name, want := range r.Row {
		if !strings.EqualFold(exactText(row.values[name]), want) {
			return out, false
		}
	}
	v := row.number(r.Column)
	n := v
	switch {
	case r.bounded():
		n = row.number(value.WholeOf + r.Column)
	case r.column.Unit != "count" && r.calls() != "":
		n = row.number(r.calls())
	}
	if math.IsNaN(v) || n < r.least() {
		return out, false
	}
	i := &out.Item
	i.Value = r.figure(v)
	if r.column.Unit != "count" && !math.IsNaN(n) {
		i.Calls, i.Of = &n, r.of()
	}
	if before := row.number(value.PreviousOf + r.Column); !math.IsNaN(before) {
		f := r.figure(before)
		i.Before = &f
	}
	if r.Changed != "" {
		judged = r.changed(row, v, &out)
		return out, judged
	}
	low, high := v, v
	if r.bounded() {
		low, high = row.number(value.LowOf+r.Column), row.number(value.HighOf+r.Column)
		if math.IsNaN(low) || math.IsNaN(high) {
			return out, false
		}
		l, h := r.figure(low), r.figure(high)
		i.Low, i.High, i.Bounds = &l, &h, alert.BoundsOfValue
	}
	if r.Above != nil {
		out.Fires, out.Holds = low > *r.Above, v > *r.Above
	} else {
		out.Fires, out.Holds = high < *r.Below, v < *r.Below
	}
	return out, true
}

// changed judges the change in a row. A running alert continues while the change is at least half
// of the threshold.
func (r *alertRule) changed(row ruleRow, v float64, out *alert.Reading) bool {
	before := row.number(value.PreviousOf + r.Column)
	low, high := row.number(value.ChangeLowOf+r.Column), row.number(value.ChangeHighOf+r.Column)
	if math.IsNaN(before) || math.IsNaN(low) || math.IsNaN(high) {
		return false
	}
	unit := func(f float64) alert.Figure {
		if r.column.Unit == "percent" {
			return alert.Figure{Text: fmt.Sprintf("%+.1f points", f), Number: f}
		}
		sign := ""
		if f > 0 {
			sign = "+"
		}
		return alert.Figure{Text: sign + r.figure(f).Text, Number: f}
	}
	l, h := unit(low), unit(high)
	out.Item.Low, out.Item.High, out.Item.Bounds = &l, &h, alert.BoundsOfChange
	change := v - before
	if r.Changed != "down" && change > 0 {
		out.Fires, out.Holds = low > 0, change+low > 0
	}
	if r.Changed != "up" && change < 0 {
		out.Fires, out.Holds = high < 0, change+high < 0
	}
	return true
}

// describe adds a row's group to a reading: its name, and the command that lists its calls.
func (e *evaluator) describe(r *alertRule, p question.Params, row ruleRow, out *alert.Reading) {
	loc := e.w.Location()
	counted := question.Params{Where: r.Where}
	var key, names []string
	add := func(column, dimension string) {
		v := row.values[column]
		id := exactText(v)
		key = append(key, column+"="+id)
		name := row.texts[column]
		if v == nil {
			name = "(none)"
		}
		if column != "unit" {
			names = append(names, strings.ReplaceAll(strings.TrimSuffix(column, "_id"), "_", " ")+" "+name)
		}
		if dimension != "" {
			counted = counted.Only(dimension, id)
		}
	}
	for i, column := range row.keys {
		add(column, question.ByNames(p.By)[i])
	}
	for _, column := range r.file.Keys {
		dimension := strings.TrimSuffix(column, "_id")
		if !slices.Contains(question.Dimensions(), dimension) {
			dimension = ""
		}
		if !slices.Contains(row.keys, column) && !slices.Contains(row.keys, dimension) {
			add(column, dimension)
		}
	}
	out.Key = strings.Join(key, "\n")
	i := &out.Item
	i.Group, i.From, i.To = strings.Join(names, ", "), p.Since.In(loc), p.Until.In(loc)
	v := url.Values{}
	i.Command = "query calls"
	flag := func(name, text string) {
		if text != "" {
			i.Command += " --" + name + " " + words.Shell(text)
			v.Add(name, text)
		}
	}
	flag("since", moment(p.Since, loc))
	flag("until", moment(p.Until, loc))
	flag("tz", loc.String())
	flag("agent", r.Agent)
	for _, c := range counted.Where {
		flag("where", c)
	}
	if e.page != "" {
		i.Link = strings.TrimSuffix(e.page, "/") + "/calls?" + v.Encode()
	}
}

func exactText(v any) string {
	if v == nil {
		return ""
	}
	return string(value.AppendText(nil, v, time.UTC))
}

// figure formats a number of the rule's column for people.
func (r *alertRule) figure(f float64) alert.Figure {
	return alert.Figure{Text: r.threshold(f), Number: f}
}

// threshold formats a number of the rule's column.
func (r *alertRule) threshold(f float64) string {
	switch r.column.Unit {
	case "percent":
		return value.Cell(value.Of(f), value.Column{Kind: value.Float, Unit: value.Percent}, time.UTC)
	case "ms":
		n, _ := big.NewFloat(math.Round(f)).Int(nil)
		return value.Duration(n)
	case "count":
		return value.Thousands(strconv.FormatFloat(math.Round(f), 'f', 0, 64))
	}
	return strconv.FormatFloat(f, 'g', 4, 64)
}

func fingerprint(raw []byte) []byte {
	sum := sha256.Sum256(raw)
	return hex.AppendEncode(nil, sum[:8])
}
