package extractcmd

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"iter"
	"slices"
	"time"

	"callhouse/internal/calls"
	"callhouse/internal/layout"
	"callhouse/internal/recording"
	"callhouse/internal/schema"
	"callhouse/internal/sink"
)

// deleteRecordings is the function Delete of [sink.Options].
func deleteRecordings(ctx context.Context, address string, list []layout.Deletion) (files, bytes int64, left []layout.Deletion, err error) {
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
			if d.Path != "" || !missing { // if the folder does not exist yet, nothing was ever stored
				left = append(left, d)
			}
		}
	}
	if len(left) == 0 {
		err = nil
	}
	return done.Files, done.Bytes, left, err
}

// prunedRecordings counts what pruneRecordings did.
type prunedRecordings struct {
	Files int64
	Bytes int64
	Left  int64 // recordings that could not be deleted
	Why   error
}

// pruneAtOnce is how many recordings are deleted before their rows are written.
const pruneAtOnce = 1000

// pruneRecordings deletes the recordings of callers who opted out, and those of calls that started before a
// given time; a zero time means none. keep is the setting that expires them. Expired recordings are
// first marked as withheld and committed. So after a kill at any time, no row of a deleted
// recording says stored, and the rows of withheld recordings name the files that may remain: the
// next call deletes them. pruneRecordings puts the final records, which the caller commits.
func pruneRecordings(ctx context.Context, w *sink.Warehouse, before time.Time, keep string, now func() time.Time,
	commit func(context.Context) error) (out prunedRecordings, err error) {
	if w.Snapshot() == nil || w.Snapshot().Manifest.Archive == "" { // nothing was ever stored
		return out, nil
	}
	if !before.IsZero() {
		var marked int64
		err := inBatches(w.RecordingsBefore(ctx, before), func(some []calls.Recording) error {
			marked += int64(len(some))
			return put(ctx, w, some, now(), func(r *schema.Recording) {
				path := cmp.Or(r.Path, schema.RecordingSomewhere)
				*r = schema.Recording{State: schema.RecordingWithheld, Path: path, FetchedAt: r.FetchedAt, Attempts: r.Attempts,
					Reason: "older than " + keep}
			})
		})
		if err == nil && marked > 0 {
			err = commit(ctx)
		}
		if err != nil {
			return out, err
		}
	}
	err = inBatches(w.RecordingsToDelete(ctx), func(some []calls.Recording) error {
		return out.delete(ctx, w, w.Archived(), some, now())
	})
	return out, err
}

// delete deletes the files of some recordings, and clears the paths of those whose files are gone.
func (p *prunedRecordings) delete(ctx context.Context, w *sink.Warehouse, archive string, some []calls.Recording, now time.Time) error {
	if p.Why != nil { // the archive failed
		p.Left += int64(len(some))
		return nil
	}
	var list []layout.Deletion
	for _, r := range some {
		list = append(list, layout.Deletion{CallID: r.CallID, Start: r.StartAt.V})
		if r.Known.Path != schema.RecordingSomewhere {
			list = append(list, layout.Deletion{CallID: r.CallID, Path: r.Known.Path})
		}
	}
	files, bytes, undone, err := deleteRecordings(ctx, archive, list)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	left := map[string]bool{}
	for _, d := range undone {
		left[d.CallID] = true
	}
	p.Files, p.Bytes, p.Left, p.Why = p.Files+files, p.Bytes+bytes, p.Left+int64(len(left)), cmp.Or(err, p.Why)
	gone := slices.DeleteFunc(some, func(r calls.Recording) bool { return left[r.CallID] })
	return put(ctx, w, gone, now, func(r *schema.Recording) { r.Path = "" })
}

// put puts records that change the state of recordings.
func put(ctx context.Context, w *sink.Warehouse, some []calls.Recording, now time.Time, change func(*schema.Recording)) error {
	recs := make([]schema.Record, 0, len(some))
	for _, r := range some {
		out, at := r.Known, now.UnixMilli()
		if change(&out); out.FetchedAt == 0 {
			out.FetchedAt = at
		}
		rec, err := r.Record(out, at)
		if err != nil {
			return err
		}
		recs = append(recs, rec)
	}
	return w.Put(ctx, recs...)
}

// inBatches passes recordings to visit in batches.
func inBatches(all iter.Seq2[calls.Recording, error], visit func([]calls.Recording) error) error {
	var some []calls.Recording
	for r, err := range all {
		if err != nil {
			return err
		}
		if some = append(some, r); len(some) == pruneAtOnce {
			if err := visit(some); err != nil {
				return err
			}
			some = nil
		}
	}
	if len(some) == 0 {
		return nil
	}
	return visit(some)
}
