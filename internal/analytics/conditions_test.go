package analytics

import (
	"strings"
	"testing"

	"callhouse/internal/analytics/analyticstest"
)

// DuckDB moves a condition below the view calls by inserting what its columns are made of. What an
// outcome is made of is a long text: it is there once, and not at all for calls that were answered.
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
