package analytics

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/layout"
	sqlfiles "callhouse/sql"
)

// A report has only that defined which it is made of. What somebody else asks finds all.
func TestDefinitionsComeWhenTheyAreNamed(t *testing.T) {
	root := t.TempDir()
	analyticstest.Write(t, root, 1, analyticstest.Data{Calls: []analyticstest.Row{{"call_id": "c1"}}})
	open := func(o Options) *Warehouse {
		t.Helper()
		w, err := Open(t.Context(), root, o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := w.Close(); err != nil {
				t.Error(err)
			}
		})
		return w
	}
	read := func(rows *Rows, err error) (out []string) {
		for err == nil {
			var row []any
			if row, err = rows.Next(t.Context()); err == nil {
				out = append(out, fmt.Sprint(row...))
			}
		}
		if !errors.Is(err, io.EOF) {
			t.Error(err)
		}
		if rows != nil {
			rows.Close()
		}
		return out
	}

	w := open(Options{Prover: everything{}})
	all := len(w.undefined)
	read(w.Report(t.Context(), "volume", Params{}))
	left := w.undefined
	for _, name := range []string{"calls", "costs", "stored.runs", "wilson"} {
		if !slices.ContainsFunc(left, func(d definition) bool { return d.name == name }) {
			t.Errorf("%s is defined, and nobody asked for it", name)
		}
	}
	if len(left) == all {
		t.Error("nothing is defined")
	}
	var wg sync.WaitGroup // a warehouse may be asked several things at once
	for _, name := range []string{"callers", "tools", "coverage", "durations", "worst"} {
		wg.Go(func() { read(w.Report(t.Context(), name, Params{})) })
	}
	wg.Wait()

	// One that is safe has all from the beginning.
	const known = `SELECT schema_name || '.' || view_name FROM duckdb_views() WHERE NOT internal
		UNION ALL SELECT function_name FROM duckdb_functions() WHERE NOT internal AND ends_with(function_type, 'macro')
		UNION ALL SELECT type_name FROM duckdb_types() WHERE NOT internal ORDER BY ALL`
	got, safe := read(w.SQL(t.Context(), known)), open(Options{Safe: &Limits{Memory: 256 << 20, Temp: 1 << 20}})
	conn, err := safe.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	want, err := column(t.Context(), conn, known)
	if err != nil || len(want) != all || !slices.Equal(got, want) {
		t.Errorf("%v; of %d definitions SQL finds %d, and where all are made at once %d:\n%q\n%q", err, all, len(got), len(want), got, want)
	}
}

// everything is proven.
type everything struct{}

func (everything) Prove(context.Context, *layout.Snapshot, []*layout.File) error { return nil }

// namesIn sees every view of which a report's or a view's header tells.
func TestNamesOfWhatIsRead(t *testing.T) {
	for _, f := range append(Reports(), Tables()...) {
		names := namesIn(f.SQL)
		for _, r := range f.Reads {
			_, of, _ := strings.Cut(r, "stored.")
			_, isView := sqlfiles.View(r)
			if (isView || of != "") && !names[r] {
				t.Errorf("%s reads %s, which is not seen", f.Name, r)
			}
		}
	}
}
