package analytics

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"callhouse/internal/analytics/question"
)

// About describes an answer in names and values: its report or table, period, zone, conditions and snapshot.
func (w *Warehouse) About(name, answers string, p question.Params) [][2]string {
	loc := w.Location()
	at := func(t time.Time, open string) string {
		if t.IsZero() {
			return open
		}
		return t.In(loc).Format("2006-01-02 15:04")
	}
	period := func(p question.Params) string {
		return at(p.Since, "the first call") + " to " + at(p.Until, "the last")
	}
	out := [][2]string{{"name", name}, {"answers", answers}, {"period", period(p)}}
	if before, compares := p.Previous(); compares {
		out = append(out, [2]string{"compared with", period(before)})
	}
	m := w.Snapshot().Manifest
	for _, line := range [][2]string{{"zone", loc.String()}, {"groups", p.By}, {"agent", p.Agent}, {"conditions", strings.Join(p.Where, "\n")},
		{"success", p.Field}, {"words", strings.Join(p.Words, " ")}, {"call", p.Call}, {"sorted by", p.Sort},
		{"snapshot", fmt.Sprintf("%d, committed %s", m.Snapshot, at(m.CommittedAt, ""))}} {
		if line[1] != "" {
			out = append(out, line)
		}
	}
	return out
}

// About describes an answer, and its coverage, after its last row is read.
func (a *Answer) About(ctx context.Context) ([][2]string, error) {
	r, err := a.Remarks(ctx)
	if err != nil {
		return nil, err
	}
	coverage := cmp.Or(strings.Join(r.Lines(a.w.Location()), "\n"), "nothing is missing")
	return append(a.w.About(a.Report.Name, a.Report.Answers, a.Params), [2]string{"coverage", coverage}), nil
}
