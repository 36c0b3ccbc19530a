package analytics_test

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"callhouse/internal/analytics"
	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/analytics/database"
	"callhouse/internal/analytics/question"
	"callhouse/internal/layout"
	"callhouse/internal/longtest"
	"callhouse/internal/test"
	sqlfiles "callhouse/sql"
)

// blank overwrites all data of a Parquet file with zeros, except its footer.
func blank(t *testing.T, path string) (restore func()) {
	t.Helper()
	raw := test.Read(t, path)
	zeroed := slices.Clone(raw)
	footer := len(raw) - 8 - int(binary.LittleEndian.Uint32(raw[len(raw)-8:]))
	clear(zeroed[4:footer])
	write := func(b []byte) {
		test.OK(t, os.WriteFile(path, b, 0o600))
	}
	write(zeroed)
	return func() { write(raw) }
}

// A report over damaged files is refused or right: each refusal names a damaged file, and once those that it
// names are restored, the answer is the right one, although all other files are still damaged.
func TestReportsOverDamagedFiles(t *testing.T) {
	longtest.Only(t)
	root := t.TempDir()
	r := rand.New(rand.NewPCG(11, 0))
	data := randomData(r, 8)
	analyticstest.Write(t, root, 1, data)
	snap, err := layout.Current(root)
	test.OK(t, err)
	answer := func(name string, p question.Params) ([][]any, error) {
		t.Helper()
		w, err := analytics.Open(t.Context(), root, analytics.Options{Options: database.Options{Location: time.UTC}})
		test.OK(t, err)
		defer w.Close()
		rows, err := askFor(t.Context(), w, name, p)
		if _, damaged := errors.AsType[*layout.DamageError](err); damaged {
			return nil, err
		}
		return all(t, rows, err), nil
	}
	left := 0
	for _, f := range sqlfiles.Reports() {
		p := question.Params{Call: data.Calls[0]["call_id"].(string), Words: []string{"a"}}
		if f.Grouped() {
			p.By = "agent"
		}
		if slices.Contains(f.Flags, "field") {
			named := slices.IndexFunc(data.Items, func(i row) bool { return i["name"] != nil })
			p.Field = data.Items[named]["name"].(string) + "=true"
		}
		want, err := answer(f.Name, p)
		test.OK(t, err)
		restore := map[string]func(){} // by path
		for i := range snap.Manifest.Files {
			path := snap.Path(&snap.Manifest.Files[i])
			restore[path] = blank(t, path)
		}
		got, err := answer(f.Name, p)
		for err != nil {
			damage, _ := errors.AsType[*layout.DamageError](err)
			put, known := restore[damage.Path]
			if !known {
				t.Fatalf("%s: %v, and that file is not damaged", f.Name, err)
			}
			put()
			delete(restore, damage.Path)
			got, err = answer(f.Name, p)
		}
		left += len(restore)
		for _, put := range restore {
			put()
		}
		test.NoDiff(t, diff(want, got), "%s over damaged files (-want +got)", f.Name)
	}
	if left == 0 {
		t.Error("every report named all files, which shows nothing")
	}
}
