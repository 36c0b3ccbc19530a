package sink

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"callhouse/internal/calls"
	"callhouse/internal/layout"
	"callhouse/internal/schema"
	"callhouse/internal/sink/snapshot"
	"callhouse/internal/sink/table"
)

// Archive records the address of the archive of recordings in the next commits. They then also
// store the new link of a call whose recording is due, even if nothing else in the call changed.
func (w *Warehouse) Archive(address string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.archive = address
}

// Archived returns the address of the archive: the one that was set, or that of the last commit;
// empty if there is none.
func (w *Warehouse) Archived() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.archive == "" && w.current != nil {
		return w.current.Manifest.Archive
	}
	return w.archive
}

// RecordingsDue yields the calls of the last commit whose recording is still to be archived: newest
// period first, and newest call first within a period.
func (w *Warehouse) RecordingsDue(ctx context.Context) iter.Seq2[calls.Recording, error] {
	return w.recordings(ctx, func(f *layout.File) bool { return f.Unarchived > 0 }, (*calls.Call).RecordingDue)
}

// RecordingsToDelete yields the calls of the last commit whose recording is withheld but may still
// have a file.
func (w *Warehouse) RecordingsToDelete(ctx context.Context) iter.Seq2[calls.Recording, error] {
	s := w.Snapshot()
	return w.recordings(ctx, func(f *layout.File) bool {
		rows := s.Manifest.FileOf(schema.Recordings.Name, f.Period)
		return rows != nil && rows.Recordings[schema.RecordingUndeleted] > 0
	}, func(c *calls.Call) bool {
		r, _ := c.Recording()
		return r.Undeleted()
	})
}

// RecordingsBefore yields the calls that started before a time (or, without a start, were first
// seen before it) and whose recording is stored, or is due but no longer wanted.
func (w *Warehouse) RecordingsBefore(ctx context.Context, before time.Time) iter.Seq2[calls.Recording, error] {
	s := w.Snapshot()
	return w.recordings(ctx, func(f *layout.File) bool {
		rows := s.Manifest.FileOf(schema.Recordings.Name, f.Period)
		stored := rows != nil && rows.Recordings[schema.RecordingStored] > 0
		from, _ := snapshot.BoundsOf(f.Period)
		return from < before.UnixMilli() && (stored || f.Unarchived > 0)
	}, func(c *calls.Call) bool {
		r, _ := c.Recording()
		return c.Began() < before.UnixMilli() && (r.State == schema.RecordingStored || c.RecordingDue())
	})
}

// RecordingsGivenUp yields the calls of the last commit that started at since or later and whose
// recording was given up: see [calls.Call.RecordingGivenUp].
func (w *Warehouse) RecordingsGivenUp(ctx context.Context, since time.Time) iter.Seq2[calls.Recording, error] {
	s := w.Snapshot()
	return w.recordings(ctx, func(f *layout.File) bool {
		rows := s.Manifest.FileOf(schema.Recordings.Name, f.Period)
		_, to := snapshot.BoundsOf(f.Period)
		return rows != nil && to > since.UnixMilli() && rows.Recordings[schema.RecordingGone]+rows.Recordings[schema.RecordingRefused] > 0
	}, func(c *calls.Call) bool { return c.Began() >= since.UnixMilli() && c.RecordingGivenUp() })
}

func (w *Warehouse) recordings(ctx context.Context, in func(*layout.File) bool, of func(*calls.Call) bool) (
	due iter.Seq2[calls.Recording, error]) {
	return func(yield func(calls.Recording, error) bool) {
		r := w.reader()
		files := slices.Clone(r.Files(schema.Calls.Name))
		slices.SortFunc(files, func(a, b *layout.File) int { return cmp.Compare(b.Period, a.Period) })
		for _, f := range files {
			if !in(f) {
				continue
			}
			var last *calls.Recording // the last one yielded
			for more := true; more; {
				found, err := someRecordings(ctx, r, f.Period, of, last)
				if err != nil {
					yield(calls.Recording{}, errors.Join(err, ctx.Err()))
					return
				}
				more = len(found) == someOfPeriod
				for i := range found {
					if last = &found[i]; !yield(*last, nil) {
						return
					}
				}
			}
		}
	}
}

// someOfPeriod is the maximum number of a period's calls in memory at a time.
const someOfPeriod = 4096

// someRecordings returns the last of the chosen calls of a period, latest first; if before is
// given, the last ones before it.
func someRecordings(ctx context.Context, r *snapshot.Reader, period string, of func(*calls.Call) bool, before *calls.Recording) (
	[]calls.Recording, error) {
	ring := make([]calls.Recording, 0, 16)
	n, enough := 0, errors.New("enough")
	err := r.EachCall(ctx, period, []*schema.Table{&schema.Recordings}, func(call *calls.Call) error {
		if before != nil && table.CompareKey(call.StartAt(), string(call.ID()), before.StartAt, before.CallID) >= 0 {
			return enough
		}
		if !of(call) {
			return nil
		}
		if len(ring) < someOfPeriod {
			ring = append(ring, calls.RecordingOf(call))
		} else {
			ring[n%someOfPeriod] = calls.RecordingOf(call)
		}
		n++
		return nil
	})
	if err != nil && !errors.Is(err, enough) {
		return nil, err
	}
	out := make([]calls.Recording, 0, len(ring))
	for i := range ring {
		out = append(out, ring[(n-1-i)%len(ring)])
	}
	return out, nil
}

// Committed returns the number of the last commit; 0 if there is none.
func (w *Warehouse) Committed() int64 {
	if s := w.Snapshot(); s != nil {
		return s.Manifest.Snapshot
	}
	return 0
}
