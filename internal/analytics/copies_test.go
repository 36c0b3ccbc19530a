package analytics_test

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"callhouse/internal/analytics"
	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/analytics/guard"
	"callhouse/internal/analytics/opened"
)

// Copies of pieces take at most an eighth of the memory for statements. The least recently used
// ones are dropped and read from files again, without disturbing running queries. Closing a
// warehouse does not wait for copies in progress.
func TestCopiesAreBounded(t *testing.T) {
	root := t.TempDir()
	var d analyticstest.Data
	for i := range 8 * 50 {
		d.Calls = append(d.Calls, row{"call_id": fmt.Sprint("c", i), "start_at": int64(1_700_000_000_000) + int64(i/50)*31*86_400_000, "summary": strings.Repeat(fmt.Sprint("so ", i), 6000)})
	}
	analyticstest.Write(t, root, 1, d)
	const memory = 64 << 20
	w, err := analytics.Open(t.Context(), root, analytics.Options{Options: opened.Options{Location: time.UTC, Threads: 1, Safe: &opened.Limits{Memory: memory, Temp: 1 << 20}, Dialect: &opened.Dialect{Definitions: "SELECT 1", Also: guard.Also{Schema: "none"}}, IDs: new(opened.IDs), Copies: true}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := w.Session(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	length := func(i int) int64 {
		t.Helper()
		id := fmt.Sprint("c", i)
		part, err := s.Part(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		stmt, err := s.Prepare(t.Context(), "SELECT length(summary) FROM "+part+".calls WHERE call_id = '"+id+"'", nil)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := stmt.Query(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		if err := w.Copied(); err != nil { // the copies are dropped while the rows are read
			t.Fatal(err)
		}
		got, err := rows.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := rows.Next(t.Context()); !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		return got[0].(int64)
	}
	most := int64(0)
	for _, i := range []int{0, 1, 2, 51, 52, 101, 102, 3, 151, 152, 201, 202, 251, 252, 301, 302, 351, 352, 4, 53, 54, 399} {
		if got, want := length(i), int64(6000*len(fmt.Sprint("so ", i))); got != want {
			t.Errorf("call %d: %d, want %d", i, got, want)
		}
		bytes := tableBytes(t, w)
		most = max(most, bytes)
	}
	if most < memory/16 || most > memory/8 {
		t.Errorf("the copies took %d bytes", most)
	}
	s.Top("calls", true)
	s.Close()
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}

// tableBytes returns the memory taken by DuckDB's own tables.
func tableBytes(t *testing.T, w *analytics.Warehouse) int64 {
	t.Helper()
	conn, err := w.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	all, err := conn.Column(t.Context(), "SELECT CAST(sum(memory_usage_bytes) AS VARCHAR) FROM duckdb_memory() WHERE tag = 'IN_MEMORY_TABLE'")
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.ParseInt(all[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
