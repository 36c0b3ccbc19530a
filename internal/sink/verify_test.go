package sink

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
)

// sound makes a warehouse with a compacted month, two days and older snapshots,
// and something in its journal.
func sound(t *testing.T) (root string) {
	t.Helper()
	root = filepath.Join(t.TempDir(), "w")
	w := night(t, Disk{}, root, 0)
	put := func(recs ...schema.Record) {
		t.Helper()
		if err := w.Put(context.Background(), recs...); err != nil {
			t.Fatal(err)
		}
	}
	put(storyRecord("a", 2), storyRecord("b", 3), storyRecord("y", 1), storyRecord("z", 2))
	start := testDay.UnixMilli()
	for _, id := range []string{"a0", "a1", "a2"} {
		put(schema.Record{Kind: schema.KindDetail, CallID: id, FetchedAt: start, Body: body(id, &start, &start, "ended", "positive", 2)})
	}
	put(schema.Record{Kind: schema.KindItem, CallID: "due", FetchedAt: start, Body: body("due", &start, &start, "ended", "", -1)})
	put(schema.Record{Kind: schema.KindItem, CallID: "unstarted", FetchedAt: start, Body: body("unstarted", nil, nil, "queued", "", -1)})
	put(schema.Record{Kind: schema.KindCovered, FetchedAt: start, Body: []byte(`{"from":0,"to":100,"listed_at":5}`)})
	put(schema.Record{Kind: schema.KindCovered, FetchedAt: start, Body: []byte(`{"from":200,"to":300,"listed_at":5}`)})
	mustCommit(t, w)
	mustFinish(t, w)
	put(storyRecord("b", 4))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return root
}

// damage opens a snapshot for tampering.
type damage struct {
	t    *testing.T
	root string
	s    *layout.Snapshot
}

func damageTo(t *testing.T, root string) *damage {
	t.Helper()
	s, err := layout.Current(root)
	if err != nil {
		t.Fatal(err)
	}
	return &damage{t, root, s}
}

func (d *damage) must(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

// manifest writes the manifest anew, as edit leaves it.
func (d *damage) manifest(edit func(*layout.Manifest)) {
	d.t.Helper()
	edit(d.s.Manifest)
	raw, err := json.Marshal(d.s.Manifest)
	d.must(err)
	d.must(os.WriteFile(filepath.Join(d.s.Dir, layout.ManifestName), raw, 0o600))
}

// file returns the file of a table that holds a day.
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

// rows writes a file anew with other rows, and has the manifest say what it is.
func (d *damage) rows(f *layout.File, table *schema.Table, edit func([]parquet.Row) []parquet.Row) {
	d.t.Helper()
	r, err := openTable(Disk{}, d.s.Path(f), tableOf(f.Table))
	d.must(err)
	var rows []parquet.Row
	for {
		row, err := r.next()
		d.must(err)
		if row == nil {
			break
		}
		rows = append(rows, row.Clone())
	}
	d.must(r.close())
	b := &builder{fsys: Disk{}, dir: d.s.Dir, dirs: map[string]bool{}}
	w := newTableWriter(b, newCodec(), table, f.Period)
	for _, row := range edit(rows) {
		d.must(w.add(row))
	}
	now, err := w.close()
	d.must(err)
	d.must(os.Remove(d.s.Path(f)))
	d.manifest(func(*layout.Manifest) { f.Path, f.Rows, f.Bytes, f.SHA256 = now.Path, now.Rows, now.Bytes, now.SHA256 })
}

func (d *damage) bytes(path string, edit func([]byte) []byte) {
	d.t.Helper()
	raw, err := os.ReadFile(path)
	d.must(err)
	d.must(os.Remove(path)) // not the file of the other snapshots
	d.must(os.WriteFile(path, edit(raw), 0o600))
}

const (
	today     = "2026-11-19"
	yesterday = "2026-11-18"
)

// damages are ways to break a warehouse, by name, and the kind of problem that
// tells of it.
var damages = map[string]struct {
	kind string
	do   func(*damage)
}{
	"turns-missing": {"missing", func(d *damage) { d.must(os.Remove(d.s.Path(d.file("transcript_turns", today)))) }},
	"bit-flipped": {"checksum", func(d *damage) {
		d.bytes(d.s.Path(d.file("calls", today)), func(b []byte) []byte { b[len(b)/2] ^= 4; return b })
	}},
	"cut-short": {"size", func(d *damage) {
		d.bytes(d.s.Path(d.file("analysis_items", today)), func(b []byte) []byte { return b[:len(b)-9] })
	}},
	"not-parquet": {"unreadable", func(d *damage) {
		f := d.file("calls", today)
		d.bytes(d.s.Path(f), func(b []byte) []byte { return make([]byte, len(b)) })
		d.manifest(func(*layout.Manifest) { f.SHA256 = zeroSum(int(f.Bytes)) })
	}},
	"manifest-from-the-future": {"version", func(d *damage) { d.manifest(func(m *layout.Manifest) { m.FormatVersion = 99 }) }},
	"manifest-garbled": {"manifest", func(d *damage) {
		d.bytes(filepath.Join(d.s.Dir, layout.ManifestName), func(b []byte) []byte { return b[:len(b)/2] })
	}},
	"manifest-of-another-snapshot": {"manifest", func(d *damage) { d.manifest(func(m *layout.Manifest) { m.Snapshot = 77 }) }},
	"manifest-names-a-foreign-path": {"manifest", func(d *damage) {
		d.manifest(func(m *layout.Manifest) { m.Files[0].Path = "../../" + m.Files[0].Path })
	}},
	"snapshot-gone": {"manifest", func(d *damage) { d.must(os.Rename(d.s.Dir, filepath.Join(d.root, "elsewhere"))) }},
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
		d.rows(d.file("calls", today), &schema.Calls, func(r []parquet.Row) []parquet.Row {
			setValue(r[0], &schema.Calls, "start_at", parquet.Int64Value(testDay.AddDate(0, 0, -1).UnixMilli()))
			return r
		})
	}},
	"count-wrong": {"count", func(d *damage) {
		d.rows(d.file("calls", today), &schema.Calls, func(r []parquet.Row) []parquet.Row {
			setValue(r[1], &schema.Calls, "turn_count", parquet.Int32Value(7))
			return r
		})
	}},
	"times-reversed": {"times", func(d *damage) {
		d.rows(d.file("calls", today), &schema.Calls, func(r []parquet.Row) []parquet.Row {
			setValue(r[1], &schema.Calls, "fetched_at", parquet.Int64Value(1))
			return r
		})
	}},
	"month-wrong": {"month", func(d *damage) {
		d.rows(d.file("transcript_turns", today), &schema.Turns, func(r []parquet.Row) []parquet.Row {
			setValue(r[1], &schema.Turns, "month", parquet.ByteArrayValue([]byte("2026-10")))
			return r
		})
	}},
	"opted-out-and-kept": {"withheld", func(d *damage) {
		d.rows(d.file("calls", today), &schema.Calls, func(r []parquet.Row) []parquet.Row {
			setValue(r[1], &schema.Calls, "opt_out_sensitive_data_storage", parquet.BooleanValue(true))
			return r
		})
	}},
	"turn-of-nobody": {"reference", func(d *damage) {
		d.rows(d.file("calls", today), &schema.Calls, func(r []parquet.Row) []parquet.Row { return slices.Delete(r, 1, 2) })
	}},
	"turn-gone": {"gap", func(d *damage) {
		d.rows(d.file("transcript_turns", today), &schema.Turns, func(r []parquet.Row) []parquet.Row { return r[1:] })
	}},
	"turn-of-another-start": {"reference", func(d *damage) {
		d.rows(d.file("transcript_turns", today), &schema.Turns, func(r []parquet.Row) []parquet.Row {
			setValue(r[0], &schema.Turns, "call_start_at", parquet.Int64Value(testDay.UnixMilli()-1))
			return r
		})
	}},
	"item-gone": {"gap", func(d *damage) {
		d.rows(d.file("analysis_items", today), &schema.Items, func(r []parquet.Row) []parquet.Row {
			setValue(r[0], &schema.Items, "position", parquet.Int32Value(1))
			return r
		})
	}},
	"turns-of-no-day": {"reference", func(d *damage) {
		d.manifest(func(m *layout.Manifest) {
			m.Files = slices.DeleteFunc(m.Files, func(f layout.File) bool { return f.Table == "calls" && f.Period == yesterday })
		})
	}},
	"rows-wrong": {"rows", func(d *damage) {
		f := d.file("transcript_turns", today)
		d.manifest(func(*layout.Manifest) { f.Rows++ })
	}},
	"figures-wrong": {"figures", func(d *damage) {
		f := d.file("calls", today)
		d.manifest(func(*layout.Manifest) { f.Due = 0 })
	}},
	"expiry-forgotten": {"figures", func(d *damage) {
		f := d.file("calls", today)
		d.manifest(func(*layout.Manifest) { f.NextExpiry = nil })
	}},
	"watermark-wrong": {"figures", func(d *damage) { d.manifest(func(m *layout.Manifest) { m.Watermark++ }) }},
	"coverage-overlaps": {"coverage", func(d *damage) {
		d.manifest(func(m *layout.Manifest) { m.Coverage[0].To = m.Coverage[1].From + 1 })
	}},
	"day-and-month": {"period", func(d *damage) {
		d.manifest(func(m *layout.Manifest) {
			f := *d.file("calls", "2026-10")
			f.Period = "2026-10-26"
			f.Path = layout.DataFile("calls", f.Period, newID())
			m.Files = append(m.Files, f)
		})
	}},
	"column-missing": {"columns", func(d *damage) {
		fewer := schema.Items
		fewer.Columns = fewer.Columns[:len(fewer.Columns)-1]
		d.rows(d.file("analysis_items", today), &fewer, func(r []parquet.Row) []parquet.Row {
			for i := range r {
				r[i] = r[i][:len(fewer.Columns)]
			}
			return r
		})
	}},
	"file-unreferenced": {"unreferenced", func(d *damage) {
		f := d.file("calls", today)
		d.must(os.Link(d.s.Path(f), filepath.Join(d.s.Dir, layout.DataFile("calls", today, newID()))))
	}},
	"runs-out-of-order": {"order", func(d *damage) {
		f := d.s.Manifest.FilesOf("runs")[0]
		d.must(os.Remove(d.s.Path(f)))
		w := newRunsWriter(&builder{fsys: Disk{}, dir: d.s.Dir, dirs: map[string]bool{}}, newCodec())
		for _, n := range []uint32{2, 1} {
			d.must(w.add(schema.AppendRunRow(nil, &schema.Run{ID: layout.RunID(testDay, n), Outcome: schema.OutcomeDone})))
		}
		now, err := w.close()
		d.must(err)
		d.manifest(func(*layout.Manifest) { *f = *now })
	}},
	"journal-broken": {"journal", func(d *damage) {
		refs, err := listJournal(Disk{}, d.root)
		d.must(err)
		d.bytes(refs[0].path(d.root), func(b []byte) []byte {
			bad := slices.Clone(b)
			bad[len(bad)-3] ^= 1
			return append(bad, b...) // a whole frame stands behind the broken one
		})
	}},
}

func setValue(row parquet.Row, table *schema.Table, name string, v parquet.Value) {
	at := table.Column(name)
	row[at] = v.Level(0, row[at].DefinitionLevel(), at)
}

func TestVerifyFindsEveryDamage(t *testing.T) {
	for name, c := range damages {
		t.Run(name, func(t *testing.T) {
			root := sound(t)
			c.do(damageTo(t, root))
			r, err := Verify(context.Background(), VerifyOptions{Root: root})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(r.Problems, func(p Problem) bool { return p.Kind == c.kind }) {
				t.Errorf("found %v, want a problem of the kind %q", r.Problems, c.kind)
			}
			if r.Whole() || r.Count < int64(len(r.Problems)) {
				t.Errorf("%d problems counted, %d named", r.Count, len(r.Problems))
			}
			for _, p := range r.Problems {
				if strings.Contains(p.Path, root) || p.What == "" {
					t.Errorf("badly told: %+v", p)
				}
			}
		})
	}
}

func TestVerifyOfAWholeWarehouse(t *testing.T) {
	root := sound(t)
	before := listing(t, root)
	for _, all := range []bool{false, true} {
		r, err := Verify(context.Background(), VerifyOptions{Root: root, All: all})
		if err != nil {
			t.Fatal(err)
		}
		if !r.Whole() || len(r.Leftovers) > 0 || len(r.Notes) > 0 {
			t.Errorf("all %v: %+v", all, r)
		}
		if r.Calls != 9 || r.Turns != 14 || r.Items != 7 || r.Runs != 1 || r.Journal != 1 {
			t.Errorf("all %v: counted %+v", all, r)
		}
		if want := map[bool]int{false: 1, true: 2}[all]; len(r.Snapshots) != want {
			t.Errorf("all %v: looked at %v", all, r.Snapshots)
		}
	}
	if after := listing(t, root); !slices.Equal(before, after) {
		t.Errorf("verify changed the warehouse from %v to %v", before, after)
	}
}

// An older snapshot is looked at only with All, and what it shares with the
// current one is read once.
func TestVerifyOlderSnapshots(t *testing.T) {
	root := sound(t)
	old, err := layout.Open(root, "000001")
	if err != nil {
		t.Fatal(err)
	}
	d := &damage{t, root, old}
	f := d.file("calls", "2026-10-25") // compacted since
	d.bytes(old.Path(f), func(b []byte) []byte { b[len(b)/2] ^= 4; return b })
	for all, want := range map[bool]int64{false: 0, true: 1} {
		r, err := Verify(context.Background(), VerifyOptions{Root: root, All: all})
		if err != nil {
			t.Fatal(err)
		}
		if r.Count != want {
			t.Errorf("all %v: found %v", all, r.Problems)
		}
	}
}

// What a crash leaves is no damage.
func TestVerifyTellsLeftoversFromDamage(t *testing.T) {
	root := sound(t)
	for _, dir := range []string{
		filepath.Join(layout.SnapshotsName, layout.TempName("000003", newID())), filepath.Join(layout.SnapshotsName, "000003"),
	} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("snapshots/000003", filepath.Join(root, layout.TempName("current", newID()))); err != nil {
		t.Fatal(err)
	}
	r, err := Verify(context.Background(), VerifyOptions{Root: root})
	if err != nil || !r.Whole() || len(r.Leftovers) != 3 {
		t.Errorf("%+v, %v", r, err)
	}
	w := night(t, Disk{}, root, 5)
	r, err = Verify(context.Background(), VerifyOptions{Root: root})
	if err != nil || len(r.Notes) != 1 || r.Journal != 0 {
		t.Errorf("while a run holds it: %+v, %v", r, err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Verify(context.Background(), VerifyOptions{Root: t.TempDir()}); !errors.Is(err, layout.ErrNoWarehouse) {
		t.Errorf("of an empty folder: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Verify(ctx, VerifyOptions{Root: root}); !errors.Is(err, context.Canceled) {
		t.Errorf("when cancelled: %v", err)
	}
}

// listing returns the names, sizes and times of all files.
func listing(t *testing.T, root string) (out []string) {
	t.Helper()
	err := filepath.Walk(root, func(path string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			out = append(out, path+" "+info.ModTime().Format(time.RFC3339Nano))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func zeroSum(n int) string {
	sum := sha256.Sum256(make([]byte, n))
	return hex.EncodeToString(sum[:])
}
