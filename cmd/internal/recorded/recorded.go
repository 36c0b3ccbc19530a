// Package recorded keeps the archive of recordings in step with the warehouse: it deletes the files of
// calls that are forgotten, past their retention or opted out, and finds files that are missing or
// changed.
package recorded

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"callhouse/internal/calls"
	"callhouse/internal/layout"
	"callhouse/internal/recording"
	"callhouse/internal/schema"
	"callhouse/internal/sink"
)

// Delete is the function Delete of [sink.Options].
func Delete(ctx context.Context, address string, list []layout.Deletion) (files, bytes int64, left []layout.Deletion, err error) {
	a, err := recording.Open(recording.Config{To: address})
	if err != nil {
		return 0, 0, list, err
	}
	defer a.Close()
	of := map[string][]layout.Deletion{}
	for _, d := range list {
		stem := recording.StemOf(d.Path)
		if d.Path == "" {
			start := time.Time{}
			if d.Start != 0 {
				start = time.UnixMilli(d.Start)
			}
			stem = recording.Stem(d.CallID, start)
		}
		of[stem] = append(of[stem], d)
	}
	stems := make([]string, 0, len(of))
	for stem := range of {
		stems = append(stems, stem)
	}
	done, undone, err := a.Delete(ctx, stems)
	missing := errors.Is(err, fs.ErrNotExist)
	for _, stem := range undone {
		for _, d := range of[stem] {
			if d.Path != "" || !missing { // nothing was ever stored in a folder that does not exist yet
				left = append(left, d)
			}
		}
	}
	if len(left) == 0 {
		err = nil
	}
	return done.Files, done.Bytes, left, err
}

// Pruned counts what Prune did.
type Pruned struct {
	Calls int64 // whose rows it changed
	Files int64
	Bytes int64
	Left  int64 // recordings that could not be deleted
	Why   error
}

// pruneAtOnce is how many recordings are deleted before their rows are written.
const pruneAtOnce = 1000

// Prune deletes the recordings that must not be kept: those of callers who opted out, and those of
// calls that started before a time, for which keep is the setting; zero: none. It puts records of
// what is deleted, which the caller commits. If it is killed in between, the next one finds the rows
// as they were, and files that are missing are no error.
func Prune(ctx context.Context, w *sink.Warehouse, before time.Time, keep string, now func() time.Time) (out Pruned, err error) {
	s := w.Snapshot()
	if s == nil || s.Manifest.Archive == "" {
		return out, nil
	}
	a, err := recording.Open(recording.Config{To: s.Manifest.Archive})
	if err != nil {
		return out, err
	}
	defer a.Close()
	var some []calls.Recording
	for r, err := range w.RecordingsToDelete(ctx, before) {
		if err != nil {
			return out, err
		}
		if some = append(some, r); len(some) == pruneAtOnce {
			if err := out.delete(ctx, w, a, some, keep, now()); err != nil {
				return out, err
			}
			some = some[:0]
		}
	}
	return out, out.delete(ctx, w, a, some, keep, now())
}

func (p *Pruned) delete(ctx context.Context, w *sink.Warehouse, a *recording.Archive, some []calls.Recording, keep string,
	now time.Time) error {
	var stems []string
	for _, r := range some {
		if r.Known.Path != "" {
			stems = append(stems, recording.StemOf(r.Known.Path))
		}
	}
	done, undone, err := a.Delete(ctx, stems)
	p.Files, p.Bytes, p.Left = p.Files+done.Files, p.Bytes+done.Bytes, p.Left+int64(len(undone))
	if err != nil {
		p.Why = err
	}
	left := map[string]bool{}
	for _, stem := range undone {
		left[stem] = true
	}
	var recs []schema.Record
	for _, r := range some {
		if r.Known.Path != "" && left[recording.StemOf(r.Known.Path)] {
			continue
		}
		out := r.Known
		if out.Path = ""; out.State != schema.RecordingWithheld {
			out = schema.Recording{State: schema.RecordingWithheld, FetchedAt: out.FetchedAt, Attempts: out.Attempts, Reason: "older than " + keep}
		}
		if out.FetchedAt == 0 {
			out.FetchedAt = now.UnixMilli()
		}
		rec, err := r.Record(out, now.UnixMilli())
		if err != nil {
			return err
		}
		recs = append(recs, rec)
	}
	p.Calls += int64(len(recs))
	return w.Put(ctx, recs...)
}
