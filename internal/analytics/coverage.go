package analytics

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"callhouse/internal/analytics/duck"
	sqlfiles "callhouse/sql"
)

// Coverage says how far a report's numbers can be trusted. What the report does
// not need is not counted, and 0.
type Coverage struct {
	Calls, NotOver, AnalysisAwaited, AnalysisNever, Withheld, TranscriptsPending, TranscriptsMissing int64
	Untimed, CostsAwaited, CostsNever                                                                int64
	Undated                                                                                          int64 // calls left out for want of a start, where there are bounds
	Unlisted                                                                                         []Gap // spans of the selection of which the list was not read completely
	needs                                                                                            []string
}

// Gap is a span of start_at, From inclusive, To exclusive; a zero time is open.
type Gap struct{ From, To time.Time }

// Coverage returns how complete the calls are, as far as now, that p selects
// for a report.
func (w *Warehouse) Coverage(ctx context.Context, report string, p Params, now time.Time) (*Coverage, error) {
	found, err := Describe(report)
	if err != nil {
		return nil, err
	}
	f := found[0]
	conn, err := w.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	p.By = ""
	with, err := w.selected(ctx, conn, sqlfiles.Coverage(), p)
	if err != nil {
		return nil, err
	}
	c := &Coverage{needs: f.Needs, Unlisted: w.unlisted(p, now)}
	names, into := c.facts()
	err = one(ctx, conn, withList(with, "SELECT "+strings.Join(names, ", ")+" FROM ("+sqlfiles.Coverage().SQL+")"), into...)
	if err != nil || !p.bounded() {
		return c, err
	}
	where, err := w.where(ctx, conn, Params{Agent: p.Agent})
	if err != nil {
		return nil, err
	}
	return c, one(ctx, conn, "SELECT count(*) FROM calls WHERE start_at IS NULL AND "+where, &c.Undated)
}

// facts returns the columns of the coverage's query that c.needs asks for, and
// where their numbers go: for the others no column is read.
func (c *Coverage) facts() (names []string, into []*int64) {
	add := func(name string, to *int64) {
		if !slices.Contains(names, name) {
			names, into = append(names, name), append(into, to)
		}
	}
	add("calls", &c.Calls)
	for _, need := range c.needs {
		switch need {
		case "end":
			add("not_over", &c.NotOver)
		case "duration":
			add("untimed", &c.Untimed)
		case "analysis":
			add("analysis_awaited", &c.AnalysisAwaited)
			add("analysis_never", &c.AnalysisNever)
			add("withheld", &c.Withheld)
		case "transcripts":
			add("transcripts_pending", &c.TranscriptsPending)
			add("transcripts_missing", &c.TranscriptsMissing)
			add("withheld", &c.Withheld)
		case "cost":
			add("costs_awaited", &c.CostsAwaited)
			add("costs_never", &c.CostsNever)
		}
	}
	return names, into
}

// one reads the numbers of a result's one row.
func one(ctx context.Context, conn *duck.Conn, text string, into ...*int64) error {
	rows, err := conn.Query(ctx, text)
	if err != nil {
		return fmt.Errorf("read the coverage: %w", err)
	}
	defer rows.Close()
	row, err := rows.Next(ctx)
	if errors.Is(err, io.EOF) || err == nil && len(row) != len(into) {
		return fmt.Errorf("read the coverage: it has no such row")
	}
	if err != nil {
		return fmt.Errorf("read the coverage: %w", err)
	}
	for i, v := range row {
		n, ok := v.(int64)
		if !ok {
			return fmt.Errorf("read the coverage: column %d is %T", i, v)
		}
		*into[i] = n
	}
	return nil
}

// unlisted returns what of the selection's span the manifest does not call
// listed. Where p has no bound, nothing is said of what lies outside, and nothing
// is said of the future.
func (w *Warehouse) unlisted(p Params, now time.Time) []Gap {
	spans := w.snap.Manifest.Coverage
	if len(spans) == 0 {
		return []Gap{{p.Since, p.Until}}
	}
	at, end := spans[0].From, spans[len(spans)-1].To
	if !p.Since.IsZero() {
		at = p.Since.UnixMilli()
	}
	if !p.Until.IsZero() {
		end = min(p.Until.UnixMilli(), max(end, now.UnixMilli()))
	} else {
		end = max(end, at+1)
	}
	var gaps []Gap
	for _, s := range spans {
		if s.From > at && at < end {
			gaps = append(gaps, Gap{time.UnixMilli(at), time.UnixMilli(min(s.From, end))})
		}
		at = max(at, s.To)
	}
	if at < end {
		gaps = append(gaps, Gap{From: time.UnixMilli(at)})
	}
	return gaps
}

// String tells, in one line without an end, what is not complete; "" where
// nothing is missing.
func (c *Coverage) String(loc *time.Location) string {
	var parts []string
	say := func(n int64, one, many string) {
		switch n {
		case 0:
		case 1:
			parts = append(parts, "1 "+one)
		default:
			parts = append(parts, grouped(n)+" "+many)
		}
	}
	for _, need := range c.needs {
		switch need {
		case "end":
			say(c.NotOver, "is not over yet", "are not over yet")
		case "duration":
			say(c.Untimed, "has no known duration", "have no known duration")
		case "analysis":
			say(c.AnalysisAwaited, "still waits for its analysis", "still wait for their analysis")
			say(c.AnalysisNever, "never got an analysis", "never got an analysis")
			say(c.Withheld, "opted out of analysis", "opted out of analysis")
		case "transcripts":
			say(c.TranscriptsPending, "still waits for its transcript", "still wait for their transcript")
			say(c.TranscriptsMissing, "lost its transcript", "lost their transcript")
			say(c.Withheld, "opted out of transcripts", "opted out of transcripts")
		case "cost":
			say(c.CostsAwaited, "still waits for its cost", "still wait for their cost")
			say(c.CostsNever, "never got a cost", "never got a cost")
		}
	}
	var out []string
	if len(parts) > 0 {
		out = append(out, "of "+calls(c.Calls)+", "+strings.Join(parts, ", "))
	}
	switch c.Undated {
	case 0:
	case 1:
		out = append(out, "1 call without a start is left out")
	default:
		out = append(out, grouped(c.Undated)+" calls without a start are left out")
	}
	for _, g := range c.Unlisted {
		out = append(out, g.text(loc)+" listed completely yet")
	}
	return strings.Join(out, "; ")
}

func (g Gap) text(loc *time.Location) string {
	const layout = "2006-01-02 15:04"
	switch {
	case g.From.IsZero() && g.To.IsZero():
		return "no span of time is"
	case g.To.IsZero():
		return "calls from " + g.From.In(loc).Format(layout) + " on are not"
	case g.From.IsZero():
		return "calls before " + g.To.In(loc).Format(layout) + " are not"
	}
	return "calls from " + g.From.In(loc).Format(layout) + " to " + g.To.In(loc).Format(layout) + " are not"
}

func calls(n int64) string {
	if n == 1 {
		return "1 call"
	}
	return grouped(n) + " calls"
}

// grouped writes n with separators between its thousands.
func grouped(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
