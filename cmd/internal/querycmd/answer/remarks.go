package answer

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"callhouse/internal/analytics"
	"callhouse/internal/analytics/question"
	sqlfiles "callhouse/sql"
)

// Remarks returns the notes on a report's answer: why it may be empty, and what data it lacks.
func (c *Command) Remarks(ctx context.Context, w *analytics.Warehouse, f *sqlfiles.File, p question.Params, now time.Time,
	isEmpty bool) (out []string, err error) {
	lacking, err := w.NotFetched(f, p)
	if err != nil {
		return nil, err
	}
	if isEmpty && len(lacking) == 0 {
		out = append(out, cmp.Or(f.Empty, "no calls match"))
	}
	unmatched, err := w.Unmatched(ctx, p)
	if err != nil {
		return out, err
	}
	for _, u := range unmatched {
		out = append(out, u.String())
	}
	for _, name := range lacking {
		out = append(out, strings.ReplaceAll(name, "_", " ")+" were never fetched: extract run fetches them, unless --resources excludes them")
	}
	if !f.Selects() {
		return out, nil
	}
	before, compares := p.Previous()
	if is, was, uneven := p.Uneven(w.Location()); compares && uneven {
		out = append(out, fmt.Sprintf("the period has %d weekend days, the one before %d: call counts differ for that reason alone", is, was))
	}
	if first, held, of := w.Held(p); held == 0 && of > 0 {
		out = append(out, "the period before ends before the first call, on "+first.Format(time.DateOnly))
	} else if held < of {
		out = append(out, fmt.Sprintf("the period before begins on %s, but the first call was on %s: its numbers cover %d of %d days",
			question.DayOf(before.Since, w.Location()).Format(time.DateOnly), first.Format(time.DateOnly), held, of))
	}
	spans := []question.Params{p}
	if compares {
		spans = append(spans, before)
	}
	for i, span := range spans {
		covered, err := w.Coverage(ctx, f.Name, span, now)
		if err != nil {
			return out, err
		}
		if line := covered.String(w.Location()); line != "" {
			out = append(out, []string{"coverage: ", "coverage before: "}[i]+line)
		}
	}
	return out, nil
}
