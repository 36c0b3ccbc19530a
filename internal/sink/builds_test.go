package sink

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callhouse/internal/calls"
	"callhouse/internal/layout"
	"callhouse/internal/schema"
	"callhouse/internal/sink/verify"
)

// keptBuilds returns the folders made by testdata/keep-build.
func keptBuilds(t *testing.T) []string {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join("testdata", "build-*"))
	if err != nil || len(dirs) < 3 {
		t.Fatalf("%d builds are kept, %v", len(dirs), err)
	}
	return dirs
}

// linesOf returns the stored calls of a build, one line each, by id.
func linesOf(t *testing.T, dir string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, "calls.ndjson.gz"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A warehouse of a released build, with unsettled calls, is whole; its calls are those that the
// build showed, also after migrate and after another night, in which the calls settle.
func TestEveryBuild(t *testing.T) {
	t.Parallel()
	for _, dir := range keptBuilds(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			root := filepath.Join(t.TempDir(), "w")
			if err := os.CopyFS(root, os.DirFS(filepath.Join(dir, "warehouse"))); err != nil {
				t.Fatal(err)
			}
			whole := func(when string) {
				t.Helper()
				r, err := verify.Warehouse(context.Background(), verify.Options{Root: root, All: true})
				if err != nil || !r.Whole() {
					t.Fatalf("%s: %+v, %v", when, r, err)
				}
			}
			whole("as it was made")
			s, err := layout.Current(root)
			if err != nil {
				t.Fatal(err)
			}
			want := linesOf(t, dir)
			if d := cmp.Diff(want, spoken(t, s)); d != "" {
				t.Fatalf("calls (-then +now):\n%s", d)
			}
			again := filepath.Join(t.TempDir(), "w")
			if err := os.CopyFS(again, os.DirFS(root)); err != nil {
				t.Fatal(err)
			}
			nightly := night(t, nil, again, 9)
			if s.Manifest.Underived() == 0 {
				t.Error("the build knew the facts of transcripts")
			}
			if err := nightly.Finish(context.Background(), doneRow(nightly)); err != nil {
				t.Fatal(err)
			}
			if n := nightly.Snapshot().Manifest.Underived(); n > 0 {
				t.Errorf("after a night %d calls lack the facts of their transcripts", n)
			}
			if d := cmp.Diff(want, spoken(t, nightly.Snapshot())); d != "" {
				t.Fatalf("calls (-before the night +after):\n%s", d)
			}
			w := night(t, nil, root, 9)
			if _, _, err := w.Migrate(context.Background(), nil); err != nil {
				t.Fatal(err)
			}
			whole("migrated")
			if d := cmp.Diff(want, spoken(t, w.Snapshot())); d != "" {
				t.Fatalf("calls (-before migrate +after):\n%s", d)
			}
			fetched, settled := w.opts.Now().UnixMilli(), 0
			for id, call := range readCalls(t, anywhere, w.Snapshot()) {
				if !call.Unsettled() {
					continue
				}
				settled++
				line := strings.TrimSpace(jsonOf(map[string]*calls.Call{id: call}))
				if err := w.Put(context.Background(), schema.Record{Kind: schema.KindDetail, CallID: id, FetchedAt: max(fetched, call.FetchedAt()+1), Body: settle(t, line)}); err != nil {
					t.Fatal(err)
				}
			}
			if settled == 0 {
				t.Fatal("no call is unsettled")
			}
			mustCommit(t, w)
			whole("another night")
			var unsettled int64
			for _, f := range w.Snapshot().Manifest.Files {
				unsettled += f.Unsettled
			}
			if unsettled != 0 {
				t.Errorf("%d calls are still unsettled", unsettled)
			}
			if then, now := strings.Count(want, "\n"), strings.Count(spoken(t, w.Snapshot()), "\n"); then != now {
				t.Errorf("%d calls, there were %d", now, then)
			}
		})
	}
}

// settle adds what an unsettled call lacks.
func settle(t *testing.T, line string) []byte {
	t.Helper()
	var call map[string]json.RawMessage
	if err := json.Unmarshal([]byte(line), &call); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"status": `"ended"`, "end_at": string(call["start_at"]), "call_cost": `{"total_cost":"1.0000"}`,
		"call_analysis": `{"summary":"s","user_sentiment":"neutral","custom_analysis_data":[]}`,
	} {
		if name != "end_at" || string(call[name]) == "null" {
			call[name] = json.RawMessage(value)
		}
	}
	body, err := json.Marshal(call)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// Months compacted by an earlier build of this format, without FactTables, get them once: from a
// night's run or from migrate.
func TestMonthsAreCountedOnce(t *testing.T) {
	files := func(s *layout.Snapshot) (calls string, tallies int) {
		for _, table := range schema.FactTables {
			tallies += len(s.Manifest.FilesOf(table.Name))
		}
		return s.Manifest.FileOf(schema.Calls.Name, "2026-10").Path, tallies
	}
	for name, renew := range map[string]func(*Warehouse) error{
		"night":   func(w *Warehouse) error { return w.Finish(t.Context(), doneRow(w)) },
		"migrate": func(w *Warehouse) error { _, _, err := w.Migrate(t.Context(), nil); return err },
	} {
		root := filepath.Join(t.TempDir(), "w")
		if err := os.CopyFS(root, os.DirFS(filepath.Join("testdata", "format-4", "warehouse"))); err != nil {
			t.Fatal(err)
		}
		w := night(t, nil, root, 9)
		old, n := files(w.Snapshot())
		if n > 0 || !w.Snapshot().Manifest.Uncounted(w.Snapshot().Manifest.FileOf(schema.Calls.Name, "2026-10")) {
			t.Fatalf("%d files of tallies are there already", n)
		}
		if err := renew(w); err != nil {
			t.Fatal(err)
		}
		first, n := files(w.Snapshot())
		if first == old || n < 2 {
			t.Errorf("%s: the month is %s, as before: %v; %d files of tallies", name, first, first == old, n)
		}
		if _, _, err := w.Migrate(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if again, _ := files(w.Snapshot()); again != first {
			t.Errorf("%s: the month was written again", name)
		}
	}
}
