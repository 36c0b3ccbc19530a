package analytics

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"callhouse/internal/analytics/duck"
	"callhouse/internal/analytics/question"
)

// Remarks are what the reader of an answer must know: why it may be empty, and what data it lacks.
type Remarks struct {
	Empty      string      // what it means that there are no rows; empty: there are rows
	NotFetched []string    // resources that it needs and that no run has fetched yet
	Unmatched  []Unmatched // conditions
	// Coverage is that of the period and, in a comparison, of the one before; none if the report is not about calls.
	Coverage []*Coverage
	Compared Compared
	Notes    []string // on how the report was computed, in its reader's zone
}

// Compared is what may mislead in a comparison: periods of other lengths or with other weekends, and days of the one before
// that the warehouse has no calls of.
type Compared struct {
	Days, DaysBefore       int
	Weekend, WeekendBefore int
	Begin, FirstCall       time.Time // the days on which the period before, and the warehouse, begin
	Held, Of               int       // how many of the days of the period before are not before the first call
}

// Remarks returns the remarks on an answer after its last row is read.
func (a *Answer) Remarks(ctx context.Context) (*Remarks, error) {
	if a.remarks != nil {
		return a.remarks, nil
	}
	a.rows.Close()
	r, err := a.w.remarks(ctx, a.conn, a.q, a.now)
	if err != nil {
		return nil, err
	}
	if !a.any && len(r.NotFetched) == 0 {
		r.Empty = cmp.Or(a.Report.Empty, "no calls match")
	}
	a.remarks = r
	return r, nil
}

// Remarks returns the remarks on a question without its answer.
func (w *Warehouse) Remarks(ctx context.Context, request Question) (*Remarks, error) {
	q, err := w.parse(request)
	if err != nil {
		return nil, err
	}
	conn, err := w.Conn(ctx, viewsOf(q)...)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if q, err = w.resolve(ctx, conn, q); err != nil {
		return nil, err
	}
	return w.remarks(ctx, conn, q, request.Now)
}

func (r *Remarks) note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

func (w *Warehouse) local(t time.Time) time.Time { return t.In(w.Location()) }

func (w *Warehouse) remarks(ctx context.Context, conn *duck.Conn, q question.Question, now time.Time) (*Remarks, error) {
	r := &Remarks{NotFetched: w.planner.NotFetched(q)}
	var err error
	if r.Unmatched, err = unmatched(ctx, conn, q.Filters); err != nil || !q.Report.Selects() {
		return r, err
	}
	selected := q.Params
	if question.OfChanges(q.Report) {
		selected = q.Seen
	}
	if first, last := w.Snapshot().Manifest.Starts(); first <= last && !selected.Since.IsZero() &&
		question.DayOf(selected.Since, w.Location()).Before(question.DayOf(time.UnixMilli(first), w.Location())) {
		r.note("the period begins on %s, but the first call was on %s", w.local(selected.Since).Format(time.DateOnly),
			w.local(time.UnixMilli(first)).Format("2006-01-02 15:04"))
	}
	if text := w.planner.Judged(q); text != "" {
		var groups, days, byCalls, byShares int64
		if err := one(ctx, conn, text, &groups, &days, &byCalls, &byShares); err != nil {
			return r, err
		}
		of := ""
		if q.By != "" {
			of = fmt.Sprintf(" (groups: %d)", groups)
		}
		r.note("judged by the number of calls: %d of %d days%s; by shares or times: %d; "+
			"the others have too few calls or too short a past", byCalls, days, of, byShares)
	}
	if row, ok := q.OneRow(); ok {
		r.note("each group has one row, %s; --columns all and the formats for programs have all of its rows",
			cmp.Or(strings.NewReplacer("= ", "", "'", "").Replace(row), "the clearest change"))
	}
	if q.ReadsEarlier() {
		r.note("a baseline from before %s has its calls of the 28 days up to its last one before then, too: "+
			"its first_day and last_day are the first and last of them", w.local(q.Since).Format("2006-01-02 15:04"))
	}
	spans := []question.Params{q.Params}
	if before, compares := q.Previous(); compares {
		r.Compared = w.compared(q.Params, before)
		spans = append(spans, before)
	}
	for _, p := range spans {
		q.Params = p
		c, err := w.coverage(ctx, conn, q, now)
		if err != nil {
			return r, err
		}
		r.Coverage = append(r.Coverage, c)
	}
	return r, nil
}

func (w *Warehouse) compared(p, before question.Params) (c Compared) {
	day := func(t time.Time) time.Time { return question.DayOf(t, w.Location()) }
	c.Begin = day(before.Since)
	c.Days, c.DaysBefore = daysOf(p, w.Location()), daysOf(before, w.Location())
	c.Weekend, c.WeekendBefore = question.WeekendDays(p, w.Location()), question.WeekendDays(before, w.Location())
	start, last := w.Snapshot().Manifest.Starts()
	if start > last {
		return c
	}
	c.FirstCall = day(time.UnixMilli(start))
	c.Of = c.DaysBefore
	before.Since = time.UnixMilli(start)
	c.Held = min(c.Of, max(0, daysOf(before, w.Location())))
	return c
}

// Sparse reports whether p is compared with a period most of whose days lie before the first call: no verdict holds then.
func (w *Warehouse) Sparse(p question.Params) bool {
	if before, compares := p.Previous(); compares {
		c := w.compared(p, before)
		return 2*c.Held < c.Of
	}
	return false
}

// daysOf returns the number of a period's days.
func daysOf(p question.Params, loc *time.Location) int {
	return int(question.DayOf(p.Until.Add(-1), loc).Sub(question.DayOf(p.Since, loc)).Hours()/24) + 1
}

// Lines returns the remarks in sentences, for a reader in a zone.
func (r *Remarks) Lines(loc *time.Location) (out []string) {
	if r.Empty != "" {
		out = append(out, r.Empty)
	}
	for _, u := range r.Unmatched {
		out = append(out, u.String())
	}
	for _, name := range r.NotFetched {
		out = append(out, strings.ReplaceAll(name, "_", " ")+" were never fetched: extract run fetches them, unless --resources excludes them")
	}
	out = append(out, r.Notes...)
	c := r.Compared
	if c.Days != c.DaysBefore {
		out = append(out, fmt.Sprintf("the period has %d days, the one before %d: call counts differ for that alone", c.Days, c.DaysBefore))
	} else if c.Weekend != c.WeekendBefore {
		out = append(out, fmt.Sprintf("the period has %d weekend days, the one before %d: call counts differ for that reason alone",
			c.Weekend, c.WeekendBefore))
	}
	if first := c.FirstCall.Format(time.DateOnly); c.Held == 0 && c.Of > 0 {
		out = append(out, "the period before ends before the first call, on "+first)
	} else if c.Held < c.Of {
		out = append(out, fmt.Sprintf("the period before begins on %s, but the first call was on %s: its numbers cover %d of %d days",
			c.Begin.Format(time.DateOnly), first, c.Held, c.Of))
	}
	for i, covered := range r.Coverage {
		if line := covered.String(loc); line != "" {
			out = append(out, []string{"coverage: ", "coverage before: "}[i]+line)
		}
	}
	return out
}
