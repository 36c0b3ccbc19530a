package sink

import (
	"errors"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
	"callhouse/internal/sink/snapshot"
)

// Aging returns how many calls of the last commit started before Options.KeepFrom,
// and so would be left out of the next one, and how many there are. A call without
// a start counts as one that stays.
func (w *Warehouse) Aging() (aged, total int64, err error) {
	s := w.Snapshot()
	if s == nil || w.opts.KeepFrom.IsZero() {
		return 0, 0, nil
	}
	from := w.opts.KeepFrom.UnixMilli()
	for _, f := range s.Manifest.FilesOf(schema.Calls.Name) {
		total += f.Rows
		switch {
		case snapshot.EndOf(f.Period) <= from:
			aged += f.Rows
		case f.MinStart != nil && *f.MinStart < from:
			n, err := w.startedBefore(s, f, from)
			if err != nil {
				return 0, 0, err
			}
			aged += n
		}
	}
	return aged, total, nil
}

func (w *Warehouse) startedBefore(s *layout.Snapshot, f *layout.File, from int64) (n int64, err error) {
	t, err := snapshot.NewReader(w.opts.FS, s, w.proofs).Open(f)
	if err != nil {
		return 0, err
	}
	at := t.Column("start_at")
	err = t.Each([]string{"start_at"}, func(row []parquet.Value) {
		if start := t.Instant(at, row[0]); start.OK && start.V < from {
			n++
		}
	})
	return n, errors.Join(err, t.Close())
}
