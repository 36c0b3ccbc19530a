package sink

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"callhouse/internal/layout"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
	"callhouse/internal/sink/disk"
)

// Compact makes one file per table of each month, each month in its own commit, and returns the compacted
// months. It returns an error for a month without files of days, and for one that must wait.
func (w *Warehouse) Compact(ctx context.Context, months []string, progress func(Progress)) (done []Month, err error) {
	for _, name := range months {
		all := Months(w.Snapshot(), w.opts.Now())
		i := slices.IndexFunc(all, func(m Month) bool { return m.Month == name })
		if i < 0 {
			return done, fmt.Errorf("compact %s: the month has no daily files", name)
		}
		if all[i].Waits != "" {
			return done, fmt.Errorf("compact %s: %s", name, all[i].Waits)
		}
		_, err := w.maintain(func(m *maker) (*commitResult, error) {
			m.progress = counter(progress, name, all[i].Calls)
			return m.compact(ctx, name)
		})
		if err != nil {
			return done, fmt.Errorf("compact %s: %w", name, err)
		}
		done = append(done, all[i])
	}
	return done, nil
}

// NormalizePhones is NormalizeAllPhones for a run. A failure becomes a notice: it costs no data, and the
// next run tries again.
func (w *Warehouse) NormalizePhones(ctx context.Context) (calls int64) {
	calls, err := w.NormalizeAllPhones(ctx, nil)
	if err != nil && ctx.Err() == nil {
		w.notice("%v; the next run tries again", err)
	}
	return calls
}

// NormalizeAllPhones rewrites files whose national telephone numbers were read in another country than the
// one that is set. It requests nothing from the service, and returns the number of their calls.
func (w *Warehouse) NormalizeAllPhones(ctx context.Context, progress func(Progress)) (calls int64, err error) {
	in := w.reader()
	if in == nil {
		return 0, nil
	}
	country := cmp.Or(w.opts.Country, in.Manifest.Country)
	batches, calls := batched(in, func(f *layout.File) bool { return f.Country != country })
	customers := in.File(resource.Customers.Name, "")
	if len(batches) == 0 && customers != nil && customers.Country != country {
		batches = [][]string{nil}
	}
	show := counter(progress, "numbers", calls)
	for _, batch := range batches {
		_, err := w.maintain(func(m *maker) (*commitResult, error) {
			m.progress = show
			return m.publish(ctx, func() ([]*unit, error) {
				_, err := m.objects() // the customers, too
				return newPlan(m.old).rewriting(batch, true), err
			}, nil, nil)
		})
		if err != nil {
			return 0, fmt.Errorf("rewrite stored telephone numbers for the country %s: %w", country, err)
		}
	}
	return calls, nil
}

// Rollback commits a new snapshot with the content of an older one, by hard links to its files. The
// table runs keeps its rows, and gains row. Forgotten calls stay forgotten, and the journal stays
// unchanged. to 0 is the last snapshot committed by another run than the current one. If the warehouse was opened with Adopt, to
// must be given, and may be the newest.
func (w *Warehouse) Rollback(ctx context.Context, to int64, row func(target *layout.Snapshot) schema.Run) (*layout.Snapshot, error) {
	var target *layout.Snapshot
	_, err := w.maintain(func(m *maker) (_ *commitResult, err error) {
		if m.old == nil {
			return nil, &NotRetainedError{Snapshot: to}
		}
		if target, err = w.rollbackTarget(ctx, m.old.Snapshot, to); err != nil {
			return nil, err
		}
		made, err := w.maker(w.read(target)).restore(ctx, func(Stats) schema.Run { return row(target) })
		if err != nil {
			return nil, fmt.Errorf("roll back: %w", err)
		}
		return made, nil
	})
	return target, err
}

// rollbackTarget finds the snapshot to go back to, and compares each of its files with its checksum, so that no
// damaged snapshot becomes current. With Adopt, no snapshot is the current one.
func (w *Warehouse) rollbackTarget(ctx context.Context, current *layout.Snapshot, to int64) (*layout.Snapshot, error) {
	older, err := listRetained(w.opts.FS, w.opts.Root, current)
	if err != nil {
		return nil, err
	}
	if !w.opts.Adopt {
		older = older[:len(older)-1]
	}
	for _, s := range slices.Backward(older) {
		if to == s.Manifest.Snapshot || to == 0 && s.Manifest.RunID != current.Manifest.RunID {
			return s, w.intact(ctx, s)
		}
	}
	if to != 0 && to != current.Manifest.Snapshot {
		if _, err := layout.OpenSnapshot(w.opts.FS, w.opts.Root, to); err != nil && !disk.IsGone(err) {
			return nil, err // its manifest is damaged, or of a newer callhouse
		}
	}
	return nil, &NotRetainedError{Snapshot: to}
}

// intact compares every file of a snapshot with its checksum.
func (w *Warehouse) intact(ctx context.Context, s *layout.Snapshot) error {
	r := w.read(s)
	for i := range s.Manifest.Files {
		if err := errors.Join(ctx.Err(), r.VerifyChecksum(&s.Manifest.Files[i])); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// batchBytes is about how many bytes one commit of NormalizeAllPhones or RedactStored rewrites. The commit
// needs that much space on the disk, and an interruption loses that much work.
const batchBytes = 2 << 30

// batched returns the periods of the chosen files of calls, in batches of one commit each, and the
// number of their calls.
func batched(in *Reader, chosen func(*layout.File) bool) (batches [][]string, calls int64) {
	var bytes int64
	for _, f := range in.Files(schema.Calls.Name) {
		if !chosen(f) {
			continue
		}
		size := in.Manifest.BytesOf(f.Period)
		if len(batches) == 0 || bytes+size > batchBytes {
			batches, bytes = append(batches, nil), 0
		}
		bytes += size
		calls += f.Rows
		batches[len(batches)-1] = append(batches[len(batches)-1], f.Period)
	}
	return batches, calls
}

// RedactStored redacts the stored calls with the redactor of Redact, and removes all older
// snapshots. It requests nothing from the service. It skips periods that the same recognizers have
// already examined, and returns the number of calls in the others.
func (w *Warehouse) RedactStored(ctx context.Context, progress func(Progress)) (calls int64, err error) {
	redactor := w.masker.Redactor()
	in := w.reader()
	done := w.stamp.Redaction.After(in.Manifest.Redaction).Periods
	batches, calls := batched(in, func(f *layout.File) bool { return !slices.Contains(done, f.Period) })
	report := counter(progress, "redacted", calls)
	for i, batch := range batches {
		made, err := w.maintain(func(m *maker) (*commitResult, error) {
			m.progress = report
			return m.redact(ctx, batch, redactor, i == len(batches)-1)
		})
		if err == nil && i == len(batches)-1 {
			err = sweep(w.opts.FS, w.opts.Root, made.Snapshot)
		}
		if err != nil {
			return calls, fmt.Errorf("redact: %w", err)
		}
	}
	return calls, nil
}

// Progress is the progress of work on the files.
type Progress struct {
	What        string // such as "2026-10"
	Done, Total int64  // calls
}

// progressEvery is the number of calls between two reports of progress.
const progressEvery = 4096

// counter returns a function that counts calls, from any goroutine, and regularly reports to
// progress; nil if progress is nil.
func counter(progress func(Progress), what string, total int64) func(rows int64) {
	if progress == nil {
		return nil
	}
	var mu sync.Mutex
	var done int64
	return func(rows int64) {
		mu.Lock()
		defer mu.Unlock()
		was := done
		if done += rows; done == total || done/progressEvery != was/progressEvery {
			progress(Progress{What: what, Done: done, Total: total})
		}
	}
}

// compactAfter is how long after its end a month usually still receives calls: late ones, and retried details.
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
