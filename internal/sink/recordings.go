package sink

import (
	"context"
	"iter"
	"slices"
	"time"

	"callhouse/internal/calls"
	"callhouse/internal/layout"
	"callhouse/internal/schema"
)

// Archive records the address of the archive of recordings in the next commits. They then also
// store the new link of a call whose recording is due, even if nothing else in the call changed.
func (w *Warehouse) Archive(address string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stamp.Archive = address
}

// Archived returns the address of the archive: the one that was set, or that of the last commit;
// empty if there is none.
func (w *Warehouse) Archived() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stamp.Archive == "" && w.current != nil {
		return w.current.Manifest.Archive
	}
	return w.stamp.Archive
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
		from, _ := boundsOf(f.Period)
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
		_, to := boundsOf(f.Period)
		return rows != nil && to > since.UnixMilli() && rows.Recordings[schema.RecordingGone]+rows.Recordings[schema.RecordingRefused] > 0
	}, func(c *calls.Call) bool { return c.Began() >= since.UnixMilli() && c.RecordingGivenUp() })
}

// recordings yields the chosen calls in the chosen files of calls.
func (w *Warehouse) recordings(ctx context.Context, in func(*layout.File) bool, of func(*calls.Call) bool,
) iter.Seq2[calls.Recording, error] {
	return newest(w.reader(), func(r *Reader, f *layout.File) (found []calls.Recording, err error) {
		if !in(f) {
			return nil, nil
		}
		err = r.EachCall(ctx, f.Period, []*schema.Table{&schema.Recordings}, func(call *calls.Call) error {
			if of(call) {
				found = append(found, calls.RecordingOf(call))
			}
			return nil
		})
		slices.Reverse(found)
		return found, err
	})
}

// Committed returns the number of the last commit; 0 if there is none.
func (w *Warehouse) Committed() int64 {
	if s := w.Snapshot(); s != nil {
		return s.Manifest.Snapshot
	}
	return 0
}
