package sink

import (
	"context"
	"fmt"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
)

// findRecordings collects the places of the calls' recordings: those in the rows of all snapshots,
// and those where a killed run may have stored one without a row.
func (f *erasure) findRecordings(ctx context.Context) error {
	seen := map[layout.Deletion]bool{}
	add := func(d layout.Deletion) {
		if !seen[d] {
			seen[d] = true
			f.recordings = append(f.recordings, d)
		}
	}
	for _, s := range f.all {
		m := s.Manifest
		for _, of := range m.FilesOf(schema.Calls.Name) {
			if m.Archive == "" || len(f.held[of.Path]) == 0 {
				continue
			}
			for _, t := range []*schema.Table{&schema.Calls, &schema.Recordings} {
				file := m.FileOf(t.Name, of.Period)
				if file == nil {
					continue
				}
				if err := f.ignoreRemoved(ctx, s, f.recordingsIn(s, file, t, f.held[of.Path], add)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// recordingsIn visits the places of some calls' recordings according to a file of calls or recordings.
func (f *erasure) recordingsIn(s *layout.Snapshot, file *layout.File, t *schema.Table, held map[string]bool,
	visit func(layout.Deletion)) error {
	column := "start_at"
	if t == &schema.Recordings {
		column = "path"
	}
	return f.w.read(s).Read(file, func(r *tableReader) error {
		return r.Each([]string{"call_id", column}, func(row []parquet.Value) {
			d := layout.Deletion{Archive: s.Manifest.Archive, CallID: string(row[0].ByteArray())}
			if t == &schema.Recordings {
				d.Path = string(schema.TextOf(row[1]))
			} else {
				d.Start = schema.MillisOf(row[1]).V
			}
			if held[d.CallID] && (d.Path != "" || t != &schema.Recordings) {
				visit(d)
			}
		})
	})
}

// listForDeletion lists the recordings for deletion as soon as the snapshot without their calls is current. So
// a crash in between neither deletes a recording of a call that still exists, nor loses track of one.
func (f *erasure) listForDeletion(number int64) error {
	if len(f.recordings) == 0 {
		return nil
	}
	list, err := readDeletions(f.w.opts.FS, f.w.opts.Root)
	if err != nil {
		return err
	}
	for _, d := range f.recordings {
		d.Snapshot = number
		list = append(list, d)
	}
	if err := setDeletions(f.w.opts.FS, f.w.opts.Root, list); err != nil {
		return fmt.Errorf("list the recordings to delete: %w", err)
	}
	return nil
}
