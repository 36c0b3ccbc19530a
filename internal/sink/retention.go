package sink

import (
	"errors"
	"slices"
	"time"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
)

// ageOut leaves the calls out that are kept no longer: the files of whole days
// and months are not taken over, and a month that the time goes through is
// written anew without them.
func (c *commit) ageOut(p *planner) {
	c.dropped = map[string]bool{}
	if c.keepFrom == 0 || c.asIs {
		return
	}
	for _, f := range c.oldFiles(schema.Calls.Name) {
		switch {
		case endOf(f.Period) <= c.keepFrom:
			c.dropped[f.Period] = true
			c.stats.Aged += f.Rows
		case f.MinStart != nil && *f.MinStart < c.keepFrom:
			p.at(f.Period).always = true
		}
	}
	for period, u := range p.units {
		if endOf(period) <= c.keepFrom {
			delete(p.units, period)
		}
		u.from = slices.DeleteFunc(u.from, func(from string) bool { return c.dropped[from] })
	}
}

// Aging returns how many calls of the last commit started before Options.KeepFrom,
// and so would be left out of the next one, and how many there are. A call without
// a start counts as one that stays.
func (w *Warehouse) Aging() (aged, total int64, err error) {
	s := w.Snapshot()
	if s == nil || w.opts.KeepFrom.IsZero() {
		return 0, 0, nil
	}
	from := w.opts.KeepFrom.UnixMilli()
	for _, f := range s.Manifest.FilesOf(schema.Calls.Name) {
		total += f.Rows
		switch {
		case endOf(f.Period) <= from:
			aged += f.Rows
		case f.MinStart != nil && *f.MinStart < from:
			n, err := w.startedBefore(s, f, from)
			if err != nil {
				return 0, 0, err
			}
			aged += n
		}
	}
	return aged, total, nil
}

func (w *Warehouse) startedBefore(s *layout.Snapshot, f *layout.File, from int64) (n int64, err error) {
	t, err := w.proofs.open(w.opts.FS, s, f)
	if err != nil {
		return 0, err
	}
	for _, g := range t.groups {
		err = errors.Join(err, eachRow(g, []int{t.start}, func(_ int64, row []parquet.Value) bool {
			if !row[0].IsNull() && t.reader.Millis(t.start, row[0]) < from {
				n++
			}
			return true
		}))
	}
	return n, closing(err, t.close)
}

// endOf returns the first instant after a period, ms UTC.
func endOf(period string) int64 {
	if t, err := time.Parse("2006-01", period); err == nil {
		return t.AddDate(0, 1, 0).UnixMilli()
	}
	t, err := time.Parse(time.DateOnly, period)
	if err != nil {
		return 1<<63 - 1 // no name of ours: it stays
	}
	return t.AddDate(0, 0, 1).UnixMilli()
}

// aged says whether a call is kept no longer: by its start, or else by when it
// was first seen.
func (c *commit) aged(call *schema.Call) bool {
	if c.keepFrom == 0 || c.asIs {
		return false
	}
	if call.StartAt().OK {
		return call.StartAt().V < c.keepFrom
	}
	return call.FirstSeenAt() < c.keepFrom
}

// since returns what a coverage ledger says of the time from an instant on: of
// what was before it nothing is known any more.
func since(ledger []schema.Span, from int64) []schema.Span {
	out := []schema.Span{}
	for _, s := range ledger {
		if s.From = max(s.From, from); s.From < s.To {
			out = append(out, s)
		}
	}
	return out
}
