package analytics

import (
	"testing"

	"callhouse/internal/layout"
)

// A small snapshot is read by one thread, a larger one by as many as DuckDB takes, and
// what somebody asks for is kept to.
func TestThreadsBySize(t *testing.T) {
	open := opener(t)
	for threads, o := range map[string]Options{"1": {}, "3": {Threads: 3}} {
		w := open(o)
		conn, err := w.connect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got, err := conn.Column(t.Context(), "SELECT CAST(current_setting('threads') AS VARCHAR)")
		conn.Close()
		if err != nil || len(got) != 1 || got[0] != threads {
			t.Errorf("%+v: %v threads, %v; want %s", o, got, err, threads)
		}
	}
	large := &layout.Snapshot{Manifest: &layout.Manifest{Files: []layout.File{{Bytes: 3 << 20}, {Bytes: 1 << 20}}}}
	if isSmall(large) {
		t.Error("4 MiB in two files are small")
	}
}
