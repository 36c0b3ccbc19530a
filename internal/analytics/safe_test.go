package analytics_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/analytics/duck"
	"callhouse/internal/analytics/guard"
	"callhouse/internal/longtest"
	"callhouse/internal/test"
)

// Ordinary statements are allowed.
func TestSafePasses(t *testing.T) {
	w := sharedWarehouse(t, true)
	for _, text := range longtest.Some(2, []string{
		"SELECT count(*) FROM calls", "FROM main.calls", "FROM stored.calls", "FROM memory.main.calls", "FROM Calls", "DESCRIBE calls", "SUMMARIZE calls",
		"SHOW TABLES", "EXPLAIN SELECT 1", "VALUES (1)",
		`WITH "my calls" AS (FROM calls) SELECT * FROM "my calls"`, "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 9) FROM r",
		"SELECT * FROM range(3), generate_series(1, 2), unnest([1, 2])", "SELECT j.value FROM calls, json_each(metadata, '$.a') AS j",
		"SELECT sum(duration_ms) OVER (ORDER BY start_at) FROM calls", "PIVOT calls ON status IN ('ended') USING count(*)",
		"SELECT list_transform([1], lambda x: x + 1), getvariable('tz'), local_time(start_at), percent_of(1, 2) FROM calls",
		"SELECT (SELECT max(turn) FROM transcript_turns t WHERE t.call_id = c.call_id) FROM calls c", "SELECT 'read_csv(''/etc/passwd'')'",
		"SELECT regexp_replace(content, 'l+', 'L') FROM transcript_turns -- COPY calls TO 'x'",
		"FROM costs", "FROM tool_calls", "FROM analysis_items", "FROM runs",
	}) {
		rows, err := w.SQL(t.Context(), text)
		t.Log(text)
		all(t, rows, err)
	}
}

// No plan names a file: an untrusted author of a statement must not learn where the warehouse is.
// ANALYZE, whose answer names files, is refused in every spelling.
func TestSafePlansNameNoFile(t *testing.T) {
	longtest.Only(t)
	w := sharedWarehouse(t, true)
	const of = " SELECT count(*), max(hash(c)) FROM calls c WHERE start_at > '2020-01-01'"
	var unsafe *guard.UnsafeError
	for _, explain := range []string{"EXPLAIN ANALYZE", "explain analyse", "EXPLAIN/**/ANALYZE", "EXPLAIN -- x\nANALYZE", "EXPLAIN (ANALYZE)",
		"EXPLAIN (analyze, FORMAT json)", "EXPLAIN (FORMAT json, ANALYZE)", "EXPLAIN ANALYZE (FORMAT json)", "EXPLAIN (/* */ANALYZE true)",
		`EXPLAIN ("analyze")`, "EXPLAIN ANALYZE /* (FORMAT json) */"} {
		if _, err := w.SQL(t.Context(), explain+of); !errors.As(err, &unsafe) && !errors.Is(err, guard.ErrNotReading) {
			t.Errorf("%s: %v, want it refused", explain, err)
		}
	}
	for _, explain := range []string{"EXPLAIN", "/* a */ EXPLAIN -- b\n", "EXPLAIN (FORMAT json)", "EXPLAIN ( FORMAT text )",
		"EXPLAIN (FORMAT html)", "EXPLAIN (FORMAT graphviz)", "EXPLAIN (FORMAT yaml)", "EXPLAIN (FORMAT mermaid)"} {
		for _, of := range []string{of, " FROM stored.calls", " FROM agents", " FROM tool_calls"} {
			rows, err := w.SQL(t.Context(), explain+of)
			if err != nil {
				t.Errorf("%s%s: %v", explain, of, err)
				continue
			}
			for _, row := range all(t, rows, nil) {
				if text := fmt.Sprint(row...); strings.Contains(text, ".parquet") || strings.Contains(text, "snapshots") {
					t.Errorf("%s%s: %s", explain, of, text)
				}
			}
		}
	}
}

// Statements that reach outside the warehouse are refused and have no effect.
func TestSafeRefuses(t *testing.T) {
	w := sharedWarehouse(t, true)
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	snapshot := w.Snapshot().Dir
	link := filepath.Join(snapshot, "calls", "link.parquet")
	test.OK(t, os.Symlink("/etc/passwd", link))
	file := w.Snapshot().Path(w.Snapshot().Manifest.FilesOf("calls")[0])
	var unsafe *guard.UnsafeError
	for _, text := range analyticstest.Unsafe(out, file, link) {
		_, err := w.SQL(t.Context(), text)
		if !errors.As(err, &unsafe) {
			t.Errorf("SQL(%.80q): %v, want it refused", text, err)
		} else if s := err.Error(); strings.ContainsAny(s, "\n\r") || len(s) > 200 {
			t.Errorf("SQL(%.80q): %q is not one short line", text, s)
		}
	}
	for _, text := range analyticstest.Changing(out, file) {
		if _, err := w.SQL(t.Context(), text); !errors.Is(err, guard.ErrNotReading) {
			t.Errorf("SQL(%q): %v, want ErrNotReading", text, err)
		}
	}
	for _, text := range []string{"SELECT 1; SELECT 2", "SELECT 1; COPY calls TO '" + out + "'", "SELECT 1;;ATTACH '" + out + "' AS x;"} {
		if _, err := w.SQL(t.Context(), text); !errors.Is(err, duck.ErrManyStatements) && !errors.Is(err, guard.ErrNotReading) {
			t.Errorf("SQL(%q): %v, want it refused", text, err)
		}
	}
	var d *duck.Error
	for _, text := range []string{"WITH x AS (COPY calls TO '" + out + "') FROM x", "SELECT * FROM (DROP VIEW calls)", "SELECT 1\x00; COPY calls TO '" + out + "'"} {
		if _, err := w.SQL(t.Context(), text); !errors.As(err, &d) || d.Kind != "Parser" {
			t.Errorf("SQL(%q): %v, want an error of the parser", text, err)
		}
	}
	// A missing table is a mistake, not an attack: DuckDB suggests a name.
	if _, err := w.SQL(t.Context(), "FROM callz"); !errors.As(err, &d) || d.Kind != "Catalog" {
		t.Errorf("FROM callz: %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("files were written: %v, %v", left, err)
	}
}
