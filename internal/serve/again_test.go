package serve_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/analytics/rights"
)

// months returns calls of n months, so that each is in its own file.
func months(n int) (out []row) {
	for i := range n {
		out = append(out, row{"call_id": fmt.Sprintf("c%d", i), "status": "ended", "start_at": int64(1_700_000_000_000 + i*31*86_400_000)})
	}
	return out
}

// A repeated statement is answered without its files until there is a newer commit; one that
// depends on the time is not. A call is found by its id in its one file.
func TestAskedAgain(t *testing.T) {
	h := start(t, nil)
	analyticstest.Write(t, h.root, 2, analyticstest.Data{Calls: months(8)})
	c := h.connect(t, "")
	const by = "SELECT call_id, outcome FROM calls WHERE call_id = "
	ask := func(sql string, args ...any) string {
		rows, err := c.Query(t.Context(), sql, args...)
		if err != nil {
			return "failed"
		}
		defer rows.Close()
		var out []string
		for rows.Next() {
			values, err := rows.Values()
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, fmt.Sprint(values))
		}
		if rows.Err() != nil {
			return "failed"
		}
		return strings.Join(out, " ")
	}
	ask(by + "'c3'") // builds the index of ids
	for _, q := range []string{"SELECT count(*) FROM calls WHERE duration_ms IS NULL", "SELECT call_id FROM calls ORDER BY start_at DESC LIMIT 1"} {
		ask(q)
	}
	const twice = "SELECT EXISTS (SELECT 1 FROM calls AS d WHERE c.call_id = 'c3' AND d.call_id <> 'c3') FROM calls AS c WHERE c.call_id = 'c3'"
	if got := ask(twice); got != "[true]" {
		t.Errorf("%s: %s", twice, got)
	}
	if _, err := c.Prepare(t.Context(), "by", by+"$1"); err != nil {
		t.Fatal(err)
	}
	for _, q := range []string{by + "'c2'", by + "'c2' ", "SELECT * FROM calls LIMIT 1", "SELECT * FROM calls ORDER BY start_at DESC LIMIT 1"} {
		ask(q) // repeated statements trigger the copy
	}
	w, giveBack, err := h.houses.Borrow(t.Context(), time.UTC, rights.Rights{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Copied(); err != nil {
		t.Fatal(err)
	}
	giveBack()
	remove(t, h.root, func(path string) bool { return !strings.Contains(path, "calls/month=2024-02/") })
	for sql, want := range map[string]string{
		"SELECT count(*) FROM calls WHERE duration_ms IS NULL":                      "[8]",
		"SELECT call_id FROM calls ORDER BY start_at DESC LIMIT 1":                  "[c7]",
		"SELECT count(*) FROM calls WHERE duration_ms IS NULL AND start_at < now()": "failed",
		"SELECT call_id FROM calls LIMIT 2 OFFSET 1":                                "[c6] [c5]",
		"SELECT call_id FROM calls ORDER BY start_at DESC LIMIT 2":                  "[c7] [c6]",
		"SELECT call_id, count(*) FROM calls GROUP BY call_id LIMIT 2":              "failed",
		by + "'c2' AND is_over": "[c2 unknown]",
		by + "'c3'":             "[c3 unknown]",
		by + "'c3' AND status = 'ended' ORDER BY start_at DESC LIMIT 1": "[c3 unknown]",
	} {
		if got := ask(sql); got != want {
			t.Errorf("%s: %s, want %s", sql, got, want)
		}
	}
	for range 3 {
		if got := ask("by", "c3"); got != "[c3 unknown]" {
			t.Errorf("with a parameter: %s", got)
		}
	}
	analyticstest.Write(t, h.root, 3, analyticstest.Data{Calls: months(9)})
	for sql, want := range map[string]string{
		"SELECT count(*) FROM calls WHERE duration_ms IS NULL":     "[9]",
		"SELECT call_id FROM calls ORDER BY start_at DESC LIMIT 1": "[c8]",
		by + "'c8'":   "[c8 unknown]",
		by + "'none'": "",
	} {
		if got := ask(sql); got != want {
			t.Errorf("after a commit: %s: %s, want %s", sql, got, want)
		}
	}
}

// remove removes files of a warehouse's snapshots.
func remove(t *testing.T, root string, which func(path string) bool) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "snapshots", "*", "*", "*", "*.parquet"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, f := range slices.DeleteFunc(files, func(path string) bool { return !which(path) }) {
		if err := os.Remove(f); err != nil {
			t.Fatal(err)
		}
	}
}
