package sink

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"

	"callhouse/internal/calls"
	"callhouse/internal/layout"
	"callhouse/internal/schema"
)

// Archive records the address of the archive of recordings in the next commits. Then these also
// store the new link of a call whose recording is due, although nothing else of the call changed.
func (w *Warehouse) Archive(address string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.archive = address
}

// RecordingsDue yields the calls of the last commit whose recording is still to be archived: newest
// period first, and in each the newest call. It holds one period's calls at a time.
func (w *Warehouse) RecordingsDue(ctx context.Context) iter.Seq2[calls.Recording, error] {
	return w.recordings(ctx, func(f *layout.File) bool { return f.Unarchived == nil || *f.Unarchived > 0 }, (*calls.Call).RecordingDue)
}

// RecordingsWithheld yields the calls of the last commit whose caller opted out after the recording
// was stored, and whose file is still to be deleted.
func (w *Warehouse) RecordingsWithheld(ctx context.Context) iter.Seq2[calls.Recording, error] {
	s := w.Snapshot()
	return w.recordings(ctx, func(f *layout.File) bool {
		rows := s.Manifest.FileOf(schema.Recordings.Name, f.Period)
		return rows != nil && rows.Recordings[schema.RecordingWithheld] > 0
	}, func(c *calls.Call) bool {
		r, _ := c.Recording()
		return r.State == schema.RecordingWithheld && r.Path != ""
	})
}

func (w *Warehouse) recordings(ctx context.Context, in func(*layout.File) bool, of func(*calls.Call) bool) iter.Seq2[calls.Recording, error] {
	return func(yield func(calls.Recording, error) bool) {
		r := w.reader()
		files := slices.Clone(r.Files(schema.Calls.Name))
		slices.SortFunc(files, func(a, b *layout.File) int { return cmp.Compare(b.Period, a.Period) })
		for _, f := range files {
			if !in(f) {
				continue
			}
			var found []calls.Recording
			err := r.EachCall(ctx, f.Period, &schema.Recordings, func(call *calls.Call) error {
				if of(call) {
					found = append(found, calls.RecordingOf(call))
				}
				return nil
			})
			if err != nil {
				yield(calls.Recording{}, errors.Join(err, ctx.Err()))
				return
			}
			for _, rec := range slices.Backward(found) {
				if !yield(rec, nil) {
					return
				}
			}
		}
	}
}
