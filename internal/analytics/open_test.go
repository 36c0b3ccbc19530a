package analytics

import (
	"testing"

	"callhouse/internal/analytics/opened"
)

// A small snapshot is read with one thread, a larger one with DuckDB's default, and an explicit
// setting is respected.
func TestThreadsBySize(t *testing.T) {
	open := opener(t)
	for threads, o := range map[string]Options{"1": {}, "3": {Options: opened.Options{Threads: 3}}} {
		w := open(o)
		conn, err := w.Connect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got, err := conn.Column(t.Context(), "SELECT CAST(current_setting('threads') AS VARCHAR)")
		conn.Close()
		if err != nil || len(got) != 1 || got[0] != threads {
			t.Errorf("%+v: %v threads, %v; want %s", o, got, err, threads)
		}
	}
}
