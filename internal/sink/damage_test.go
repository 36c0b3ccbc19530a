package sink

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
	"callhouse/internal/sink/disk"
	"callhouse/internal/test"
)

// damage opens a snapshot for tampering.
type damage struct {
	t    *testing.T
	root string
	s    *layout.Snapshot
}

func damageTo(t *testing.T, root string) *damage {
	t.Helper()
	s, err := layout.Current(root)
	test.OK(t, err)
	return &damage{t, root, s}
}

// manifest rewrites the manifest after edit.
func (d *damage) manifest(edit func(*layout.Manifest)) {
	d.t.Helper()
	edit(d.s.Manifest)
	raw, err := d.s.Manifest.Encode()
	test.OK(d.t, err)
	test.OK(d.t, os.WriteFile(filepath.Join(d.s.Dir, layout.ManifestName), raw, 0o600))
}

// file returns the file of a table with a day.
func (d *damage) file(table, period string) *layout.File {
	d.t.Helper()
	for _, f := range d.s.Manifest.FilesOf(table) {
		if f.Period == period {
			return f
		}
	}
	d.t.Fatalf("no file of %s for %s", table, period)
	return nil
}

// rows rewrites a file with other rows and updates the manifest.
func (d *damage) rows(f *layout.File, of *schema.Table, edit func([]parquet.Row) []parquet.Row) {
	d.t.Helper()
	r, err := openTable(anywhere, d.s.Path(f), tableByName(f.Table))
	test.OK(d.t, err)
	var rows []parquet.Row
	for {
		row, err := r.Next()
		test.OK(d.t, err)
		if row == nil {
			break
		}
		rows = append(rows, row.Clone())
	}
	test.OK(d.t, r.Close())
	w := newDataFiles(d.in(), f.Period, of)[0]
	for _, row := range edit(rows) {
		test.OK(d.t, w.Add(row))
	}
	now, err := w.Close()
	test.OK(d.t, err)
	test.OK(d.t, os.Remove(d.s.Path(f)))
	d.manifest(func(*layout.Manifest) { f.Path, f.Rows, f.Bytes, f.SHA256 = now.Path, now.Rows, now.Bytes, now.SHA256 })
}

// set changes a value of a row in a file.
func (d *damage) set(table, period string, of *schema.Table, row int, column string, v parquet.Value) {
	d.t.Helper()
	d.rows(d.file(table, period), of, func(r []parquet.Row) []parquet.Row {
		at := of.Column(column)
		r[row][at] = v.Level(0, r[row][at].DefinitionLevel(), at)
		return r
	})
}

// in makes data files in the snapshot.
func (d *damage) in() *builder {
	return &builder{fsys: anywhere, dir: d.s.Dir, dirs: map[string]bool{}}
}

// copySnapshot makes another snapshot with the same content.
func copySnapshot(t *testing.T, s *layout.Snapshot, number int64) {
	t.Helper()
	dir := filepath.Join(filepath.Dir(s.Dir), layout.SnapshotName(number))
	m := *s.Manifest
	m.Snapshot, m.Oldest = number, min(m.Oldest, number)
	raw, err := m.Encode()
	if err == nil {
		err = os.CopyFS(dir, os.DirFS(s.Dir))
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, layout.ManifestName), raw, 0o600)
	}
	test.OK(t, err)
}

func (d *damage) bytes(path string, edit func([]byte) []byte) {
	d.t.Helper()
	raw, err := os.ReadFile(path)
	test.OK(d.t, err)
	test.OK(d.t, os.Remove(path)) // not the other snapshots' file
	test.OK(d.t, os.WriteFile(path, edit(raw), 0o600))
}

const (
	today     = "2026-11-19"
	yesterday = "2026-11-18"
)

// damages are ways to damage a warehouse, by name, with the kind of the resulting problem.
var damages = map[string]struct {
	kind string
	do   func(*damage)
}{
	"turns-missing": {"missing", func(d *damage) { test.OK(d.t, os.Remove(d.s.Path(d.file("transcript_turns", today)))) }},
	"bit-flipped": {"checksum", func(d *damage) {
		d.bytes(d.s.Path(d.file("calls", today)), func(b []byte) []byte { b[len(b)/2] ^= 4; return b })
	}},
	"cut-short": {"checksum", func(d *damage) {
		d.bytes(d.s.Path(d.file("analysis_items", today)), func(b []byte) []byte { return b[:len(b)-9] })
	}},
	"not-parquet": {"unreadable", func(d *damage) {
		f := d.file("calls", today)
		d.bytes(d.s.Path(f), func(b []byte) []byte { return make([]byte, len(b)) })
		d.manifest(func(*layout.Manifest) { f.SHA256 = zeroSum(int(f.Bytes)) })
	}},
	"manifest-garbled": {"manifest", func(d *damage) {
		d.bytes(filepath.Join(d.s.Dir, layout.ManifestName), func(b []byte) []byte { return b[:len(b)/2] })
	}},
	"manifest-of-another-snapshot": {"manifest", func(d *damage) { d.manifest(func(m *layout.Manifest) { m.Snapshot = 77 }) }},
	"manifest-names-a-foreign-path": {"manifest", func(d *damage) {
		d.manifest(func(m *layout.Manifest) { m.Files[0].Path = "../../" + m.Files[0].Path })
	}},
	"snapshot-gone": {"current", func(d *damage) { test.OK(d.t, os.Rename(d.s.Dir, filepath.Join(d.root, "elsewhere"))) }},
	"call-twice": {"twice", func(d *damage) {
		d.rows(d.file("calls", today), &schema.Calls, func(r []parquet.Row) []parquet.Row { return slices.Insert(r, 1, r[0]) })
	}},
	"call-in-two-days": {"twice", func(d *damage) {
		var extra parquet.Row
		d.rows(d.file("calls", today), &schema.Calls, func(r []parquet.Row) []parquet.Row { extra = r[0]; return r })
		d.rows(d.file("calls", yesterday), &schema.Calls, func(r []parquet.Row) []parquet.Row { return append(r, extra) })
	}},
	"order-broken": {"order", func(d *damage) {
		d.rows(d.file("calls", today), &schema.Calls, func(r []parquet.Row) []parquet.Row { r[1], r[2] = r[2], r[1]; return r })
	}},
	"call-of-another-day": {"period", func(d *damage) {
		d.set("calls", today, &schema.Calls, 0, "start_at", parquet.Int64Value(testDay.AddDate(0, 0, -1).UnixMilli()))
	}},
	"count-wrong": {"count", func(d *damage) { d.set("calls", today, &schema.Calls, 1, "turn_count", parquet.Int32Value(7)) }},
	"opted-out-and-kept": {"withheld", func(d *damage) {
		d.set("calls", today, &schema.Calls, 1, "opt_out_sensitive_data_storage", parquet.BooleanValue(true))
	}},
	"turn-of-nobody": {"reference", func(d *damage) {
		d.rows(d.file("calls", today), &schema.Calls, func(r []parquet.Row) []parquet.Row { return slices.Delete(r, 1, 2) })
	}},
	"turn-gone": {"gap", func(d *damage) {
		d.rows(d.file("transcript_turns", today), &schema.Turns, func(r []parquet.Row) []parquet.Row { return r[1:] })
	}},
	"turn-of-another-start": {"reference", func(d *damage) {
		d.set("transcript_turns", today, &schema.Turns, 0, "call_start_at", parquet.Int64Value(testDay.UnixMilli()-1))
	}},
	"item-gone": {"gap", func(d *damage) { d.set("analysis_items", today, &schema.Items, 0, "position", parquet.Int32Value(1)) }},
	"turns-of-no-day": {"reference", func(d *damage) {
		d.manifest(func(m *layout.Manifest) {
			m.Files = slices.DeleteFunc(m.Files, func(f layout.File) bool { return f.Table == "calls" && f.Period == yesterday })
		})
	}},
	"rows-wrong": {"rows", func(d *damage) {
		f := d.file("transcript_turns", today)
		d.manifest(func(*layout.Manifest) { f.Rows++ })
	}},
	"coverage-overlaps": {"coverage", func(d *damage) {
		d.manifest(func(m *layout.Manifest) { m.Coverage[0].To = m.Coverage[1].From + 1 })
	}},
	"day-and-month": {"period", func(d *damage) {
		d.manifest(func(m *layout.Manifest) {
			f := *d.file("calls", "2026-10")
			f.Period = "2026-10-26"
			f.Path = layout.DataFile("calls", f.Period, disk.NewID())
			m.Files = append(m.Files, f)
		})
	}},
	"turns-of-no-calls": {"reference", func(d *damage) {
		d.manifest(func(m *layout.Manifest) {
			f := *d.file("transcript_turns", "2026-10")
			f.Period = "2026-09"
			f.Path = layout.DataFile("transcript_turns", f.Period, disk.NewID())
			m.Files = append(m.Files, f)
		})
	}},
	"column-missing": {"unreadable", func(d *damage) {
		fewer := schema.Items
		fewer.Columns = fewer.Columns[:len(fewer.Columns)-1]
		d.rows(d.file("analysis_items", today), &fewer, func(r []parquet.Row) []parquet.Row {
			for i := range r {
				r[i] = r[i][:len(fewer.Columns)]
			}
			return r
		})
	}},
	"column-more": {"unreadable", func(d *damage) {
		more := schema.Calls
		more.Columns = append(slices.Clone(more.Columns), schema.Column{Name: "made_up", ID: 99, Type: schema.Text})
		d.rows(d.file("calls", today), &more, func(rows []parquet.Row) []parquet.Row {
			for i := range rows {
				rows[i] = append(rows[i], parquet.ByteArrayValue([]byte("x")).Level(0, 1, len(rows[i])))
			}
			return rows
		})
	}},
	"runs-out-of-order": {"order", func(d *damage) {
		f := d.s.Manifest.FilesOf("runs")[0]
		test.OK(d.t, os.Remove(d.s.Path(f)))
		w := newDataFiles(d.in(), "", &schema.Runs)[0]
		for _, n := range []uint32{2, 1} {
			test.OK(d.t, w.Add((&schema.Run{ID: layout.RunID(testDay, n), Outcome: schema.OutcomeDone}).Row()))
		}
		now, err := w.Close()
		test.OK(d.t, err)
		d.manifest(func(*layout.Manifest) { *f = *now })
	}},
	"journal-broken": {"journal", func(d *damage) {
		refs, err := ListSegments(anywhere, d.root)
		test.OK(d.t, err)
		d.bytes(segmentPath(d.root, refs[0]), func(b []byte) []byte {
			bad := slices.Clone(b)
			bad[len(bad)-3] ^= 1
			return append(bad, b...) // a whole frame follows the broken one
		})
	}},
}

func zeroSum(n int) string {
	sum := sha256.Sum256(make([]byte, n))
	return hex.EncodeToString(sum[:])
}
