package sink

import (
	"errors"
	"iter"

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

// Objects returns how many objects of a resource the last commit has.
func (w *Warehouse) Objects(of *resource.Resource) int64 {
	if s := w.Snapshot(); s != nil {
		return s.Manifest.Rows(of.Name)
	}
	return 0
}

// Incomplete yields the keys of the objects of the last commit whose own record and
// lists are to be fetched: those that changed since these were, or of which they were
// fetched before a time, in ms since 1970 UTC.
func (w *Warehouse) Incomplete(of *resource.Resource, before int64) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		in, err := w.reader().Objects(of)
		if err != nil {
			yield("", err)
		}
		if err != nil || in == nil {
			return
		}
		var keys []string // the file is not kept open while they are fetched
		for {
			var o schema.Object
			more, err := in.Next(&o)
			if err != nil {
				yield("", errors.Join(err, in.Close()))
				return
			}
			if !more {
				break
			}
			if at := of.Complete(&o); !of.Deleted(&o) && (at == 0 || at < before) {
				keys = append(keys, of.KeyOf(o.Row))
			}
		}
		if err := in.Close(); err != nil {
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

// Masks says whether values of calls are masked.
func (w *Warehouse) Masks() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.masker != nil
}
