package sink

import (
	"context"
	"iter"
	"slices"

	"callhouse/internal/resource"
	"callhouse/internal/schema"
)

// Listed returns when the list of a resource was last complete, in ms since 1970 UTC,
// as of the last commit; 0: never.
func (w *Warehouse) Listed(of *resource.Resource) int64 {
	if s := w.Snapshot(); s != nil {
		return s.Manifest.Lists[of.Name].ListedAt
	}
	return 0
}

// Objects returns the number of objects of a resource in the last commit.
func (w *Warehouse) Objects(of *resource.Resource) int64 {
	if s := w.Snapshot(); s != nil {
		return s.Manifest.Rows(of.Name)
	}
	return 0
}

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
