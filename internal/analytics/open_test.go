package analytics

import (
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/analytics/database"
	"callhouse/internal/layout"
	"callhouse/internal/longtest"
	"callhouse/internal/test"
)

// A snapshot of up to 4 MB is read with one thread, a larger one with DuckDB's default, and an
// explicit setting is respected.
func TestThreadsBySize(t *testing.T) {
	longtest.Only(t)
	open := opener(t)
	threads := func(o Options) string {
		t.Helper()
		conn, err := open(o).Connect(t.Context())
		test.OK(t, err)
		defer conn.Close()
		got, err := conn.Column(t.Context(), "SELECT CAST(current_setting('threads') AS VARCHAR)")
		test.OK(t, err)
		return strings.Join(got, " ")
	}
	three := Options{Options: database.Options{Threads: 3}}
	if small, given := threads(Options{}), threads(three); small != "1" || given != "3" {
		t.Errorf("a small snapshot has %s threads, and %s instead of the given 3", small, given)
	}
	w := open(Options{})
	analyticstest.Edit(t, filepath.Join(w.Snapshot().Dir, layout.ManifestName), func(m *layout.Manifest) { m.Files[0].Bytes += 4 << 20 })
	if large := threads(Options{}); large == "1" && runtime.NumCPU() > 1 {
		t.Error("a large snapshot is read with one thread")
	}
}

// The snapshot of an open warehouse is in use until it is closed.
func TestOpenSnapshotsAreHeld(t *testing.T) {
	root := t.TempDir()
	analyticstest.Write(t, root, 1, analyticstest.Data{})
	w, err := Open(t.Context(), root, Options{})
	test.OK(t, err)
	manifest := filepath.Join(w.Snapshot().Dir, layout.ManifestName)
	if !layout.InUse(manifest) {
		t.Error("nobody holds the snapshot while it is read")
	}
	test.OK(t, w.Close())
	if layout.InUse(manifest) {
		t.Error("the snapshot is held after its last reader")
	}
}

// DuckDB pushes a condition below the view calls by inlining the expressions of its columns. The expression of
// an outcome is long: it must occur once only, and not at all for a condition on answered calls.
func TestConditionsOnOutcomesAreNotMultiplied(t *testing.T) {
	root := t.TempDir()
	analyticstest.Write(t, root, 1, analyticstest.Data{Calls: []analyticstest.Row{{"call_id": "a"}}})
	conn := openAll(t, root, Options{})
	for where, most := range map[string]int{"outcome = 'failed'": 1, "outcome_kind = 'error'": 1, "is_completed": 1, "is_answered": 0} {
		times := 0
		for _, row := range answers(t, conn, "EXPLAIN (FORMAT json) SELECT count(*) FROM calls WHERE "+where) {
			times += strings.Count(row[1].(string), "ended by an operator")
		}
		if times != most {
			t.Errorf("WHERE %s decides %d times how a call ended, want %d", where, times, most)
		}
	}
}
