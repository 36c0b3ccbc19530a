package serve_test

import (
	"fmt"
	"strings"
	"testing"

	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/test"
)

// months returns calls of n months, so that each is in its own file.
func months(n int) (out []row) {
	for i := range n {
		out = append(out, row{"call_id": fmt.Sprintf("c%d", i), "status": "ended", "start_at": int64(1_700_000_000_000 + i*31*86_400_000)})
	}
	return out
}

// A repeated statement is answered from the current commit. A call is found by its id in its one
// file.
func TestAskedAgain(t *testing.T) {
	h := start(t, nil)
	c := h.connect(t, "")
	ask := func(sql string, args ...any) string {
		rows, err := c.Query(t.Context(), sql, args...)
		if err != nil {
			return err.Error()
		}
		defer rows.Close()
		var out []string
		for rows.Next() {
			values, err := rows.Values()
			test.OK(t, err)
			out = append(out, fmt.Sprint(values))
		}
		return strings.Join(out, " ")
	}
	const by = "SELECT call_id, outcome FROM calls WHERE call_id = "
	if _, err := c.Prepare(t.Context(), "by", by+"$1"); err != nil {
		t.Fatal(err)
	}
	for i := range int64(3) {
		analyticstest.Write(t, h.root, i+2, analyticstest.Data{Calls: months(int(i) + 5)})
		newest := fmt.Sprint("c", i+4)
		for sql, want := range map[string]string{
			"SELECT count(*) FROM calls WHERE duration_ms IS NULL":     fmt.Sprintf("[%d]", i+5),
			"SELECT call_id FROM calls ORDER BY start_at DESC LIMIT 1": "[" + newest + "]",
			by + "'c3'":   "[c3 unknown]",
			by + "'none'": "",
			by + "'" + newest + "' AND is_over ORDER BY start_at DESC LIMIT 1":                                                             "[" + newest + " unknown]",
			"SELECT EXISTS (SELECT 1 FROM calls AS d WHERE c.call_id = 'c3' AND d.call_id <> 'c3') FROM calls AS c WHERE c.call_id = 'c3'": "[true]",
		} {
			for range 2 {
				if got := ask(sql); got != want {
					t.Errorf("commit %d: %s: %s, want %s", i+2, sql, got, want)
				}
			}
		}
		if got := ask("by", newest); got != "["+newest+" unknown]" {
			t.Errorf("with a parameter: %s", got)
		}
	}
}
