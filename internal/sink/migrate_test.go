package sink

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"callhouse/internal/calls"
	"callhouse/internal/layout"
	"callhouse/internal/schema"
	"callhouse/internal/sink/erase"
	"callhouse/internal/sink/verify"
)

var fixture = flag.Bool("fixture", false, "keep a warehouse of today's format version in testdata, unless there is one")

// formatDir is where a warehouse of a format version is kept permanently.
func formatDir(version int) string { return filepath.Join("testdata", "format-"+strconv.Itoa(version)) }

// spoken returns the JSON of every call of a snapshot, one line each, by id.
func spoken(t *testing.T, s *layout.Snapshot) string {
	t.Helper()
	return jsonOf(readCalls(t, anywhere, s))
}

// jsonOf returns the JSON of calls, one line each, by id.
func jsonOf(calls map[string]*calls.Call) string {
	var ids []string
	for id := range calls {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	var out []byte
	for _, id := range ids {
		out = append(calls[id].AppendJSON(out), '\n')
	}
	return string(out)
}

// TestKeepFormat makes the fixture of the current format version. It must never be made again,
// since it is what that version wrote.
func TestKeepFormat(t *testing.T) {
	dir := formatDir(layout.FormatVersion)
	if _, err := os.Stat(dir); err == nil || !*fixture {
		return
	}
	root := sound(t)
	w := night(t, nil, root, 1)
	if _, err := w.Recover(context.Background()); err != nil {
		t.Fatal(err)
	}
	mustForget(t, w, erase.Selection{CallIDs: []string{"a1"}})
	want := spoken(t, w.Snapshot())
	if err := w.Put(context.Background(), storyRecord("left", 1)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(root, layout.LockName)); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(dir, "warehouse"), os.DirFS(root)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "calls.ndjson"), []byte(want), 0o600); err != nil {
		t.Fatal(err)
	}
}

// kept returns a copy of a warehouse of a format version, and the JSON of its calls.
func kept(t *testing.T, dir string) (root, calls string) {
	t.Helper()
	want, err := os.ReadFile(filepath.Join(dir, "calls.ndjson"))
	if err != nil {
		t.Fatal(err)
	}
	root = filepath.Join(t.TempDir(), "w")
	if err := os.CopyFS(root, os.DirFS(filepath.Join(dir, "warehouse"))); err != nil {
		t.Fatal(err)
	}
	return root, string(want)
}

// Warehouses of every format version are read, verified, written to, and migrated, without changing
// a call.
func TestEveryFormatVersion(t *testing.T) {
	for version := 1; version <= layout.FormatVersion; version++ {
		t.Run(strconv.Itoa(version), func(t *testing.T) {
			root, want := kept(t, formatDir(version))
			whole := func() {
				t.Helper()
				r, err := verify.Warehouse(context.Background(), verify.Options{Root: root, All: true})
				if err != nil || !r.Whole() {
					t.Fatalf("%+v, %v", r, err)
				}
			}
			whole()
			s, err := layout.Current(root)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, spoken(t, s)); d != "" {
				t.Fatalf("calls (-then +now):\n%s", d)
			}
			w := night(t, nil, root, 9)
			if _, _, err := w.Migrate(context.Background(), nil); err != nil {
				t.Fatal(err)
			}
			whole()
			if d := cmp.Diff(want, spoken(t, w.Snapshot())); d != "" {
				t.Fatalf("calls (-before migrate +after):\n%s", d)
			}
			if _, err := w.Recover(context.Background()); err != nil {
				t.Fatal(err)
			}
			if err := w.Put(context.Background(), storyRecord("a1", 5)); err != nil { // forgotten then
				t.Fatal(err)
			}
			mustCommit(t, w)
			calls := readCalls(t, anywhere, w.Snapshot())
			if calls["left"] == nil || calls["a1"] != nil {
				t.Error("the journal was not taken in, or a forgotten call came back")
			}
			whole()
		})
	}
}

// withoutColumn writes the files of calls of a day as before a column existed: its values are in
// extra.
func withoutColumn(t *testing.T, root, period, name string) {
	t.Helper()
	d := damageTo(t, root)
	was := schema.Calls
	at := was.Column(name)
	was.Columns = slices.Delete(slices.Clone(was.Columns), at, at+1)
	d.rows(d.file("calls", period), &was, func(rows []parquet.Row) []parquet.Row {
		for i, row := range rows {
			value := row[at]
			row = slices.Delete(row, at, at+1)
			for col := range row {
				row[col] = row[col].Level(0, row[col].DefinitionLevel(), col)
			}
			extra, col := "null", was.Column("extra")
			if !value.IsNull() {
				extra = strconv.Quote(string(value.ByteArray()))
			}
			if row[col].IsNull() {
				row[col] = parquet.ByteArrayValue([]byte(`{"`+name+`":`+extra+`}`)).Level(0, 1, col)
			} else if string(row[col].ByteArray()) == `{"$":{"absent":["`+name+`"]}}` {
				row[col] = parquet.NullValue().Level(0, 0, col)
			}
			rows[i] = row
		}
		return rows
	})
}

// A column that older files lack is filled from their extra: in a file that a commit rewrites
// anyway, and in all files by Migrate.
func TestPromote(t *testing.T) {
	for _, by := range []string{"migrate", "commit", "compaction"} {
		t.Run(by, func(t *testing.T) {
			root := filepath.Join(t.TempDir(), "w")
			w := night(t, nil, root, 0)
			var recs []schema.Record
			for _, id := range []string{"k1", "k2", "k3", "k4"} {
				rec := storyRecord("a", 2)
				rec.CallID = id
				rec.Body = bytes.Replace(rec.Body, []byte(`"id":"a"`), []byte(`"id":"`+id+`"`), 1)
				switch id {
				case "k4": // nothing was sent
					rec.Body = bytes.Replace(rec.Body, []byte(`"variant_label":null,`), nil, 1)
				case "k1", "k2":
					rec.Body = bytes.Replace(rec.Body, []byte(`"variant_label":null`), []byte(`"variant_label":"of `+id+`"`), 1)
				}
				recs = append(recs, rec)
			}
			if err := w.Put(context.Background(), recs...); err != nil {
				t.Fatal(err)
			}
			mustCommit(t, w)
			want := spoken(t, w.Snapshot())
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			withoutColumn(t, root, today, "variant_label")
			w = night(t, nil, root, 1)
			if call := readCalls(t, anywhere, w.Snapshot())["k1"]; call.Text("variant_label") != nil || call.Extra() == nil {
				t.Fatalf("the old file is none: %s in %s", call.Text("variant_label"), call.Extra())
			}
			if got := spoken(t, w.Snapshot()); got != want {
				t.Errorf("read from the old file the calls are\n%s, want\n%s", got, want)
			}
			batches, calls, err := outdated(context.Background(), w.reader(), "")
			if err != nil || !slices.Equal(slices.Concat(batches...), []string{today}) || calls != 4 {
				t.Errorf("outdated are %v with %d calls, %v", batches, calls, err)
			}
			switch by {
			case "migrate":
				if n, _, err := w.Migrate(context.Background(), nil); err != nil || n != 1 {
					t.Fatalf("migrated %d, %v", n, err)
				}
			case "commit":
				if err := w.Put(context.Background(), recs[2]); err != nil { // unchanged, except k3
					t.Fatal(err)
				}
				if err := w.Put(context.Background(), storyRecord("a", 1)); err != nil {
					t.Fatal(err)
				}
				mustCommit(t, w)
				mustForget(t, w, erase.Selection{CallIDs: []string{"a"}})
			case "compaction":
				if err := compact(w, "2026-11"); err != nil {
					t.Fatal(err)
				}
			}
			got := readCalls(t, anywhere, w.Snapshot())
			if string(got["k1"].Text("variant_label")) != "of k1" || string(got["k2"].Text("variant_label")) != "of k2" || got["k3"].Text("variant_label") != nil {
				t.Errorf("the column holds %q, %q, %q", got["k1"].Text("variant_label"), got["k2"].Text("variant_label"), got["k3"].Text("variant_label"))
			}
			if got["k1"].Extra() != nil {
				t.Errorf("extra still holds %s", got["k1"].Extra())
			}
			if now := spoken(t, w.Snapshot()); now != want {
				t.Errorf("the calls became\n%s, want\n%s", now, want)
			}
			if batches, _, err := outdated(context.Background(), w.reader(), ""); err != nil || len(batches) > 0 {
				t.Errorf("still outdated: %v, %v", batches, err)
			}
			if r, err := verify.Warehouse(context.Background(), verify.Options{Root: root}); err != nil || !r.Whole() {
				t.Errorf("verify: %+v, %v", r, err)
			}
		})
	}
}
