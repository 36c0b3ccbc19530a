package sink

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
)

// compactAfter is how long after its end a month usually still receives calls: late ones, and
// retried details.
const compactAfter = 5 * 24 * time.Hour

// Month is a month of a snapshot whose calls are still in files of days.
type Month struct {
	Month string // such as "2026-10"
	Days  int    // number of days with files
	Calls int64
	Bytes int64 // of the files of all tables
	// Waits is the reason why the month is not compacted yet; empty if it may be.
	Waits string
}

// Months returns the months of a snapshot that are not compacted, oldest first.
func Months(s *layout.Snapshot, now time.Time) []Month {
	if s == nil {
		return nil
	}
	by := map[string]*Month{}
	var open, due = map[string]int64{}, map[string]int64{}
	for i := range s.Manifest.Files {
		f := &s.Manifest.Files[i]
		if len(f.Period) <= len("2026-10") {
			continue
		}
		name := f.Period[:7]
		m := by[name]
		if m == nil {
			m = &Month{Month: name}
			by[name] = m
		}
		m.Bytes += f.Bytes
		if f.Table == schema.Calls.Name {
			m.Days++
			m.Calls += f.Rows
			open[name] += f.Unsettled
			due[name] += f.Due
		}
	}
	var out []Month
	for name, m := range by {
		switch start, err := time.Parse("2006-01", name); {
		case err != nil || now.Before(start.AddDate(0, 1, 0).Add(compactAfter)):
			m.Waits = "the month ended too recently"
		case open[name] > 0:
			m.Waits = fmt.Sprintf("%d of its calls are not settled", open[name])
		case due[name] > 0:
			m.Waits = fmt.Sprintf("%d of its calls lack their transcript", due[name])
		}
		out = append(out, *m)
	}
	slices.SortFunc(out, func(a, b Month) int { return cmp.Compare(a.Month, b.Month) })
	return out
}

// endOf returns the first instant after a period, ms UTC.
func endOf(period string) int64 {
	_, end := boundsOf(period)
	return end
}

// boundsOf returns the first instant of a period and the first one after it, ms UTC. An invalid
// name has no end.
func boundsOf(period string) (from, to int64) {
	if t, err := time.Parse("2006-01", period); err == nil {
		return t.UnixMilli(), t.AddDate(0, 1, 0).UnixMilli()
	}
	t, err := time.Parse(time.DateOnly, period)
	if err != nil {
		return 0, math.MaxInt64
	}
	return t.UnixMilli(), t.AddDate(0, 0, 1).UnixMilli()
}
