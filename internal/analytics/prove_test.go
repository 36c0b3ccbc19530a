package analytics_test

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"callhouse/internal/analytics"
	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/analytics/opened"
	"callhouse/internal/analytics/question"
	"callhouse/internal/layout"
	sqlfiles "callhouse/sql"
)

// provenFiles are the files for which proof was requested.
type provenFiles map[string]bool

func (p provenFiles) Prove(_ context.Context, _ *layout.Snapshot, files []*layout.File) error {
	for _, f := range files {
		p[f.Path] = true
	}
	return nil
}

// blank overwrites all data of a Parquet file with zeros, except its footer.
func blank(t *testing.T, path string) (restore func()) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	zeroed := slices.Clone(raw)
	footer := len(raw) - 8 - int(binary.LittleEndian.Uint32(raw[len(raw)-8:]))
	clear(zeroed[4:footer])
	write := func(b []byte) {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(zeroed)
	return func() { write(raw) }
}

// No report reads any unproven file: if all other files are damaged, its answer is the same.
func TestReportsReadOnlyWhatIsProven(t *testing.T) {
	root := t.TempDir()
	r := rand.New(rand.NewPCG(11, 0))
	data := randomData(r, 40)
	analyticstest.Write(t, root, 1, data)
	snap, err := layout.Current(root)
	if err != nil {
		t.Fatal(err)
	}
	answer := func(name string, p question.Params, prover opened.Prover) [][]any {
		t.Helper()
		w, err := analytics.Open(t.Context(), root, analytics.Options{Options: opened.Options{Location: time.UTC, Prover: prover}})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		rows, err := w.Report(t.Context(), name, p)
		return all(t, rows, err)
	}
	unproven := 0
	every := min(*everyQuestion, 10)
	for i, f := range sqlfiles.Reports() {
		if i%every != 0 {
			continue
		}
		p := question.Params{Call: data.Calls[0]["call_id"].(string), Words: []string{"a"}}
		if f.Grouped() {
			p.By = "agent"
		}
		if slices.Contains(f.Flags, "field") {
			named := slices.IndexFunc(data.Items, func(i row) bool { return i["name"] != nil })
			p.Field = data.Items[named]["name"].(string) + "=true"
		}
		proven := provenFiles{}
		want := answer(f.Name, p, proven)
		var restore []func()
		for i := range snap.Manifest.Files {
			if file := &snap.Manifest.Files[i]; !proven[file.Path] {
				restore = append(restore, blank(t, snap.Path(file)))
			}
		}
		unproven += len(restore)
		got := answer(f.Name, p, nil)
		for _, put := range restore {
			put()
		}
		if d := diff(want, got); d != "" {
			t.Errorf("%s read a file that was not proven (-want +got):\n%s", f.Name, d)
		}
	}
	if unproven == 0 {
		t.Error("every report had all files proven, which shows nothing")
	}
}
