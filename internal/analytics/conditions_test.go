package analytics

import (
	"strings"
	"testing"

	"callhouse/internal/analytics/analyticstest"
)

// DuckDB pushes a condition below the view calls by inlining the expressions of its columns. The
// expression of an outcome is long: it must occur once only, and not at all for a condition on
// answered calls.
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
