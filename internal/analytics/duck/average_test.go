package duck_test

import "testing"

import "callhouse/internal/test"

// DuckDB 1.5.5 and 1.5.6 average intervals inexactly over many rows: by 0.18 s in 1,500 s at
// 300,001 rows. docs/reference/queries.md mentions it; once the last case of this test fails,
// remove that sentence. The Postgres protocol has its own average.
func TestAverageOfIntervals(t *testing.T) {
	conn := connect(t)
	const average = `SELECT epoch(avg(over - start)), avg(i % ?2) FROM (SELECT i, TIMESTAMP '2026-01-01' AS start, start + INTERVAL (i % ?2) SECOND AS over FROM range(?1) t(i))`
	for _, c := range []struct {
		calls, below int64
		exact        bool
	}{{1, 86_400, true}, {2048, 86_400, true}, {4097, 86_400, true}, {10_000, 3001, true}, {300_001, 3001, false}} {
		rows := query(t, conn, average, c.calls, c.below)
		row, err := rows.Next(t.Context())
		test.OK(t, err)
		got, want := row[0].(float64), row[1].(float64)
		if exact := got-want < 1e-6 && want-got < 1e-6; exact != c.exact {
			t.Errorf("%d intervals below %d s: average of %v s, want %v", c.calls, c.below, got, want)
		}
	}
}
