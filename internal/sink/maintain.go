package sink

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"callhouse/internal/layout"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
	"callhouse/internal/sink/disk"
)

// Compact makes one file per table of each month, each month in its own commit, and returns the
// compacted months. It returns an error for a month without files of days, and for one that must
// wait.
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

// Respell is RespellAll for a run. A failure becomes a notice: it costs no data, and the next run tries
// again.
func (w *Warehouse) Respell(ctx context.Context) (calls int64) {
	calls, err := w.RespellAll(ctx, nil)
	if err != nil && ctx.Err() == nil {
		w.notice("%v; the next run tries again", err)
	}
	return calls
}

// RespellAll rewrites files whose national telephone numbers were read in another country than the
// one that is set. It requests nothing from the service, and returns the number of their calls.
func (w *Warehouse) RespellAll(ctx context.Context, progress func(Progress)) (calls int64, err error) {
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
			return m.respell(ctx, batch)
		})
		if err != nil {
			return 0, fmt.Errorf("rewrite stored telephone numbers for the country %s: %w", country, err)
		}
	}
	return calls, nil
}

// Check is [checkRun] for this run. before is the snapshot at the start of the run.
func (w *Warehouse) Check(ctx context.Context, before *layout.Snapshot) (*RunReport, error) {
	s := w.Snapshot()
	if s == nil {
		return new(RunReport), nil
	}
	return checkRun(ctx, w.opts.FS, s, before, w.opts.RunID, w.forgotten)
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

// rollbackTarget finds the snapshot to go back to, and compares each of its files with its
// checksum, so that no damaged snapshot becomes current. With Adopt, no snapshot is the current
// one.
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
		if err := errors.Join(ctx.Err(), r.Prove(&s.Manifest.Files[i])); err != nil {
			return err
		}
	}
	return nil
}

// batchBytes is about how many bytes one commit of RespellAll or RedactStored rewrites. The commit
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
	tell := counter(progress, "redacted", calls)
	for i, batch := range batches {
		made, err := w.maintain(func(m *maker) (*commitResult, error) {
			m.progress = tell
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
