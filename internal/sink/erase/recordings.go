package erase

import (
	"context"
	"fmt"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
	"callhouse/internal/sink/snapshot"
	"callhouse/internal/sink/table"
)

// findRecordings looks up where the recordings of the calls are: in the rows of all snapshots, and
// where a run that was killed may have stored one without a row.
func (f *erasure) findRecordings(ctx context.Context) error {
	seen := map[layout.Deletion]bool{}
	add := func(d layout.Deletion) {
		if !seen[d] {
			seen[d] = true
			f.recordings = append(f.recordings, d)
		}
	}
	read := map[string]bool{}
	for _, s := range f.all {
		m := s.Manifest
		if m.Archive == "" {
			continue
		}
		for _, of := range m.FilesOf(schema.Calls.Name) {
			held := f.held[of.Path]
			if len(held) == 0 {
				continue
			}
			for _, t := range []struct {
				*schema.Table
				column string
				of     func(parquet.Value) layout.Deletion
			}{
				{&schema.Calls, "start_at", func(v parquet.Value) layout.Deletion { return layout.Deletion{Start: schema.MillisOf(v).V} }},
				{&schema.Recordings, "path", func(v parquet.Value) layout.Deletion { return layout.Deletion{Path: string(schema.TextOf(v))} }},
			} {
				file := m.FileOf(t.Name, of.Period)
				if file == nil || read[m.Archive+file.Path] {
					continue
				}
				read[m.Archive+file.Path] = true
				err := snapshot.NewReader(f.w.FS, s, f.w.Proofs).Read(file, func(r *table.Reader) error {
					return r.Each([]string{"call_id", t.column}, func(row []parquet.Value) {
						id := string(row[0].ByteArray())
						if !held[id] || t.Table == &schema.Recordings && row[1].IsNull() {
							return
						}
						d := t.of(row[1])
						d.Archive, d.CallID = m.Archive, id
						add(d)
					})
				})
				if err != nil {
					return err
				}
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// doom lists the recordings as to be deleted as soon as the snapshot without their calls is the
// current one. So a crash in between neither deletes a recording of a call that is still there, nor
// loses where one is.
func (f *erasure) doom(number int64) error {
	if len(f.recordings) == 0 {
		return nil
	}
	list, err := snapshot.Deletions(f.w.FS, f.w.Root)
	if err != nil {
		return err
	}
	for _, d := range f.recordings {
		d.Snapshot = number
		list = append(list, d)
	}
	if err := snapshot.SetDeletions(f.w.FS, f.w.Root, list); err != nil {
		return fmt.Errorf("list the recordings to delete: %w", err)
	}
	return nil
}
