package sink

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/calls"
	"callhouse/internal/layout"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
)

// Due yields the calls of the last commit whose detail should be fetched now, newest start first;
// calls without a start come before the others of their period. Calls skipped because of their kind
// are included if a record of the kind had a transcript. It holds one period in memory at a time,
// and reads the snapshot that was current at the beginning.
func (w *Warehouse) Due(ctx context.Context, scope calls.DueScope) iter.Seq2[calls.Due, error] {
	asks := calls.Asking{Scope: scope, Now: w.opts.Now().UnixMilli()}
	var later int64 // number of calls that come later than the present one
	return newest(w.reader(), func(r *Reader, f *layout.File) (due []calls.Due, err error) {
		if asks.Kinds == nil && len(f.Skipped) > 0 {
			if asks.Kinds, err = w.Kinds(ctx); err != nil {
				return nil, err
			}
		}
		later += f.Rows
		if !looksInto(f, &asks) {
			return nil, nil
		}
		at := later
		err = r.Read(f, func(t *tableReader) error {
			t.Pick("call_id", "status", "disconnection_reason", "start_at", "end_at", "transcript_state", "settlement", "turn_count",
				"first_seen_at", "fetched_at")
			return t.EachCall(ctx, func(call *calls.Call) {
				at--
				if d, ok := asks.Due(call); ok {
					d.Rank = at
					due = append(due, d)
				}
			})
		})
		slices.Reverse(due)
		return due, err
	})
}

// newest yields what find finds in the files of calls, by their periods, newest first. It holds what
// was found in one of them at a time.
func newest[T any](r *Reader, find func(*Reader, *layout.File) ([]T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		files := slices.Clone(r.Files(schema.Calls.Name))
		slices.SortFunc(files, func(a, b *layout.File) int { return cmp.Compare(b.Period, a.Period) })
		for _, f := range files {
			found, err := find(r, f)
			if err != nil {
				yield(*new(T), err)
				return
			}
			for _, one := range found {
				if !yield(one, nil) {
					return
				}
			}
		}
	}
}

// looksInto reports whether a file may hold due calls.
func looksInto(f *layout.File, a *calls.Asking) bool {
	if f.Due+f.Unsure > 0 || f.Unsettled > 0 && a.Scope == calls.DueUnsettled || a.Scope == calls.DueAll {
		return true
	}
	for kind := range f.Skipped {
		if !a.Kinds.NoTranscripts(calls.Kind(kind)) {
			return true
		}
	}
	return false
}

// kindRows is the approximate number of newest calls that determine which kinds have transcripts.
const kindRows = 50_000

// Kinds counts, among the newest calls of the last commit, those whose records had transcripts and
// those whose records had none, by kind.
func (w *Warehouse) Kinds(ctx context.Context) (calls.Kinds, error) {
	kinds := calls.Kinds{}
	err := w.reader().newest(kindRows, func(t *tableReader) error {
		t.Pick("call_id", "status", "disconnection_reason", "start_at", "end_at", "transcript_state", "turn_count")
		return t.EachCall(ctx, kinds.Add)
	})
	return kinds, err
}

// newest reads the newest files of calls that together have about so many rows.
func (r *Reader) newest(rows int64, read func(*tableReader) error) error {
	for _, f := range slices.Backward(r.Files(schema.Calls.Name)) {
		if err := r.Read(f, read); err != nil {
			return err
		}
		if rows -= f.Rows; rows <= 0 {
			break
		}
	}
	return nil
}

// DueCount returns the maximum number of calls that Due yields.
func (w *Warehouse) DueCount(scope calls.DueScope) int64 {
	var n int64
	for _, f := range w.reader().Files(schema.Calls.Name) {
		n += f.Due
		if scope == calls.DueUnsettled {
			n += f.Unsettled
		}
	}
	return n
}

// FromBulk yields the calls of the last commit whose transcript came from v2 and was not replaced by
// that of v3, newest period first.
func (w *Warehouse) FromBulk(ctx context.Context) iter.Seq2[calls.Due, error] {
	return newest(w.reader(), func(r *Reader, f *layout.File) (found []calls.Due, err error) {
		if f.Bulk == 0 {
			return nil, nil
		}
		err = r.Read(f, func(t *tableReader) error {
			t.Pick("call_id", "start_at", "transcript_source")
			return t.EachCall(ctx, func(call *calls.Call) {
				if call.InBulk() {
					found = append(found, calls.Due{CallID: string(call.ID()), StartAt: call.StartAt()})
				}
			})
		})
		return found, err
	})
}

// Bulk returns the state of the pages of v2 in the last commit.
func (w *Warehouse) Bulk() schema.Bulk {
	return *cmp.Or(w.manifest().Bulk, new(schema.Bulk))
}

// Unsettled returns the places of the last commit's calls that started at from or later, but before
// to, and are neither settled nor expired by now: newest first. Calls with fewer than spacing others
// between them share a place.
func (w *Warehouse) Unsettled(ctx context.Context, from, to, spacing int64) (places []calls.Place, err error) {
	r := w.reader()
	between := spacing // number of calls since the last one found
	for _, f := range slices.Backward(r.Files(schema.Calls.Name)) {
		if f.Unsettled == 0 || f.MinStart == nil || *f.MinStart >= to || *f.MaxStart < from {
			between += f.Rows
			continue
		}
		rows, err := unsettledIn(ctx, r, f, w.opts.Now().UnixMilli())
		if err != nil {
			return nil, err
		}
		for _, row := range slices.Backward(rows) {
			switch last := len(places) - 1; {
			case !row.unsettled || row.start < from || row.start >= to:
				between++
				continue
			case between < spacing:
				places[last].From = row.start
				places[last].Calls += between + 1
			default:
				places = append(places, calls.Place{From: row.start, To: row.start + 1, Calls: 1})
			}
			between = 0
		}
	}
	return places, nil
}

// unsettledRow is a call with a start. unsettled means that more data is expected.
type unsettledRow struct {
	start     int64
	unsettled bool
}

func unsettledIn(ctx context.Context, r *Reader, f *layout.File, now int64) (rows []unsettledRow, err error) {
	err = r.Read(f, func(t *tableReader) error {
		t.Pick("call_id", "start_at", "end_at", "settlement", "first_seen_at")
		return t.EachCall(ctx, func(call *calls.Call) {
			if call.StartAt().OK {
				rows = append(rows, unsettledRow{call.StartAt().V, call.Unsettled() && call.ExpiresAt() > now})
			}
		})
	})
	return rows, err
}

// Coverage returns the spans of start_at that were listed completely as of the last commit,
// ascending and disjoint.
func (w *Warehouse) Coverage() []schema.Span { return slices.Clone(w.manifest().Coverage) }

// Aging returns the number of calls that the next commit would drop because they started before
// Options.KeepFrom, and the number of all calls. A call without a start stays.
func (w *Warehouse) Aging() (aged, total int64, err error) {
	r, from := w.reader(), w.opts.KeepFrom.UnixMilli()
	if w.opts.KeepFrom.IsZero() {
		return 0, 0, nil
	}
	for _, f := range r.Files(schema.Calls.Name) {
		_, end := boundsOf(f.Period)
		total += f.Rows
		switch {
		case end <= from:
			aged += f.Rows
		case f.MinStart != nil && *f.MinStart < from:
			n, err := started(r, f, math.MinInt64, from)
			if err != nil {
				return 0, 0, err
			}
			aged += n
		}
	}
	return aged, total, nil
}

// Between returns the number of calls of the last commit with from <= start_at < to, in ms UTC.
func (w *Warehouse) Between(ctx context.Context, from, to int64) (n int64, err error) {
	r := w.reader()
	for _, f := range r.Files(schema.Calls.Name) {
		switch {
		case f.MinStart == nil || *f.MinStart >= to || *f.MaxStart < from:
			continue
		case *f.MinStart >= from && *f.MaxStart < to:
			n += f.Rows // or fewer, if some have no start
			continue
		}
		in, err := started(r, f, from, to)
		if err = errors.Join(err, ctx.Err()); err != nil {
			return 0, err
		}
		n += in
	}
	return n, nil
}

// started counts the calls of a file with from <= start_at < to.
func started(r *Reader, f *layout.File, from, to int64) (n int64, err error) {
	err = r.Read(f, func(t *tableReader) error {
		return t.Each([]string{"start_at"}, func(row []parquet.Value) {
			if start := schema.MillisOf(row[0]); start.OK && start.V >= from && start.V < to {
				n++
			}
		})
	})
	return n, err
}

// Listed returns when the list of a resource was last complete, in ms since 1970 UTC,
// as of the last commit; 0: never.
func (w *Warehouse) Listed(of *resource.Resource) int64 { return w.manifest().Lists[of.Name].ListedAt }

// Objects returns the number of objects of a resource in the last commit.
func (w *Warehouse) Objects(of *resource.Resource) int64 { return w.manifest().Rows(of.Name) }

// Incomplete yields the keys of the last commit's objects whose own record and lists must be
// fetched: those that changed since the last fetch, and those with a list for which due returns
// true. due receives the time when the list was last complete, in ms since 1970 UTC; 0: never.
func (w *Warehouse) Incomplete(ctx context.Context, of *resource.Resource,
	due func(list *resource.Resource, listed int64) bool) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		r, lists := w.reader(), of.Children()
		var keys []string // the file is not kept open while they are fetched
		err := r.EachObject(of, func(o *schema.Object) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			key := of.KeyOf(o.Row)
			if !of.Deleted(o) && (of.Complete(o) == 0 || slices.ContainsFunc(lists, func(l *resource.Resource) bool {
				return due(l, r.Manifest.ListOf(l, key).ListedAt)
			})) {
				keys = append(keys, key)
			}
			return nil
		})
		if err != nil {
			yield("", err)
			return
		}
		for _, key := range keys {
			if !yield(key, nil) {
				return
			}
		}
	}
}

// Masks reports whether values of calls are masked.
func (w *Warehouse) Masks() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.masker != nil
}

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
	m := w.manifest()
	return w.recordings(ctx, func(f *layout.File) bool {
		rows := m.FileOf(schema.Recordings.Name, f.Period)
		return rows != nil && rows.Recordings[schema.RecordingUndeleted] > 0
	}, func(c *calls.Call) bool {
		r, _ := c.Recording()
		return r.Undeleted()
	})
}

// RecordingsBefore yields the calls that started before a time (or, without a start, were first
// seen before it) and whose recording is stored, or is due but no longer wanted.
func (w *Warehouse) RecordingsBefore(ctx context.Context, before time.Time) iter.Seq2[calls.Recording, error] {
	m := w.manifest()
	return w.recordings(ctx, func(f *layout.File) bool {
		rows := m.FileOf(schema.Recordings.Name, f.Period)
		stored := rows != nil && rows.Recordings[schema.RecordingStored] > 0
		from, _ := boundsOf(f.Period)
		return from < before.UnixMilli() && (stored || f.Unarchived > 0)
	}, func(c *calls.Call) bool {
		r, _ := c.Recording()
		return c.Began() < before.UnixMilli() && (r.State == schema.RecordingStored || c.RecordingDue())
	})
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
func (w *Warehouse) Committed() int64 { return w.manifest().Snapshot }
