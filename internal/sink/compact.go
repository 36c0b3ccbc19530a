package sink

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
)

const (
	// compactAfter is how long after its end a month still gets calls as a rule:
	// those that appear late, and details that failed and are tried again.
	compactAfter = 5 * 24 * time.Hour
	// A night compacts no more than so many months or bytes, but always one.
	nightMonths = 3
	nightBytes  = 1 << 30
)

// Month is a month of a snapshot whose calls still lie in files of days.
type Month struct {
	Month string // as in "2026-10"
	Days  int    // how many days have files
	Calls int64
	Bytes int64 // of the files of all tables
	// Waits says why it stays as it is for now; empty: it may be compacted.
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
			m.Waits = "it is not long enough over"
		case open[name] > 0:
			m.Waits = fmt.Sprintf("%d of its calls are not settled", open[name])
		case due[name] > 0:
			m.Waits = fmt.Sprintf("%d of its calls wait for their transcript", due[name])
		}
		out = append(out, *m)
	}
	slices.SortFunc(out, func(a, b Month) int { return cmp.Compare(a.Month, b.Month) })
	return out
}

// monthsToCompact says which months this commit makes one file of. By itself
// it leaves those alone that anything came in for.
func (c *commit) monthsToCompact(found map[string]located) []string {
	if !c.nightly {
		return c.months
	}
	busy := map[string]bool{}
	for id, ch := range c.in.changes {
		if ch.start.OK {
			busy[layout.Day(ch.start.V)[:7]] = true
		} else {
			busy[layout.Day(ch.first)[:7]] = true
		}
		if was, ok := found[id]; ok {
			busy[was.period[:7]] = true
		}
	}
	var out []string
	var bytes int64
	for _, m := range Months(c.old, c.now) {
		if m.Waits != "" || busy[m.Month] {
			continue
		}
		if bytes += m.Bytes; len(out) > 0 && (len(out) == nightMonths || bytes > nightBytes) {
			break
		}
		out = append(out, m.Month)
	}
	return out
}

// Compact makes one file a table of each of the months, in a commit of its own
// each, and returns those that it compacted. A month that has no files of days,
// or that waits, is an error.
func (w *Warehouse) Compact(ctx context.Context, months []string, progress func(Progress)) (done []Month, err error) {
	for _, name := range months {
		all := Months(w.Snapshot(), w.opts.Now())
		i := slices.IndexFunc(all, func(m Month) bool { return m.Month == name })
		if i < 0 {
			return done, fmt.Errorf("compact %s: it has no files of days", name)
		}
		if all[i].Waits != "" {
			return done, fmt.Errorf("compact %s: %s", name, all[i].Waits)
		}
		err := w.maintain(ctx, func(c *commit) {
			c.months = []string{name}
			c.tell = teller(progress, name, all[i].Calls)
		})
		if err != nil {
			return done, fmt.Errorf("compact %s: %w", name, err)
		}
		done = append(done, all[i])
	}
	return done, nil
}
