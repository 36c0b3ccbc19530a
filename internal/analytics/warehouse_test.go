package analytics_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"callhouse/internal/analytics"
	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/analytics/duck"
	"callhouse/internal/analytics/guard"
	"callhouse/internal/analytics/question"
	"callhouse/internal/layout"
	"callhouse/internal/longtest"
	"callhouse/internal/test"
	sqlfiles "callhouse/sql"
)

// The headers of the views are correct: the columns of the result, their order and types, and which
// are never null. Empty tables have the same columns as filled ones.
func TestViewsAreAsDescribed(t *testing.T) {
	tried := longtest.Each(4)
	for name, w := range longtest.Sorted(map[string]*analytics.Warehouse{"filled": sharedWarehouse(t, false), "empty": warehouse(t, analyticstest.Data{}, nil)}) {
		for i, v := range sqlfiles.ViewsByName() {
			if name == "empty" && !tried(i) {
				continue
			}
			rows, err := w.SQL(t.Context(), "SELECT * FROM "+v.Name)
			test.OK(t, err)
			columns := rows.Columns()
			lines := all(t, rows, nil)
			if len(columns) != len(v.Columns) {
				t.Errorf("%s: %d columns, the header tells of %d", v.Name, len(columns), len(v.Columns))
				continue
			}
			for i, c := range v.Columns {
				if got := columns[i]; got.Name != c.Name || got.Type != c.Type {
					t.Errorf("%s: column %d is %s %s, the header says %s %s", v.Name, i, got.Name, got.Type, c.Name, c.Type)
				}
				for _, line := range lines {
					if c.NotNull && line[i] == nil {
						t.Errorf("%s.%s is NOT NULL by its header, and null", v.Name, c.Name)
					}
				}
			}
			if name == "filled" && len(lines) == 0 {
				t.Errorf("%s: no rows", v.Name)
			}
		}
	}
}

// The headers of the reports describe their columns correctly.
func TestReportsAreAsDescribed(t *testing.T) {
	w := warehouse(t, analyticstest.Data{Calls: []row{{"call_id": "c", "agent_id": "a", "duration_ms": int64(5)}},
		Items: []row{{"call_id": "c", "name": "resolved", "value": "true"}}}, nil)
	for _, f := range longtest.Some(4, sqlfiles.Reports()) {
		p := question.Params{Call: "c", Words: []string{"w"}, Field: "resolved=true"}
		if f.Grouped() {
			p.By = "agent"
		}
		rows, err := askFor(t.Context(), w, f.Name, p)
		test.OK(t, err)
		for i, c := range rows.Columns() {
			want := f.Columns[i]
			if i == 0 && f.Grouped() {
				want.Name = "agent"
			}
			if c.Name != want.Name || c.Type != want.Type {
				t.Errorf("%s: column %d is %s %s, the header says %s %s", f.Name, i, c.Name, c.Type, want.Name, want.Type)
			}
		}
		if n := len(rows.Columns()); n != len(f.Columns) {
			t.Errorf("%s: %d columns, the header tells of %d", f.Name, n, len(f.Columns))
		}
		rows.Close()
	}
}

// Conditions on a call, its start and its month reach the files through every view: otherwise a
// question about a week would read all years.
func TestConditionsReachTheFiles(t *testing.T) {
	w := warehouse(t, analyticstest.Data{
		Calls: []row{{"call_id": "c", "start_at": int64(1)}},
		Turns: []row{{"call_id": "c", "call_start_at": int64(1), "role": "tool_call_invocation", "tool_call_id": "t"}},
		Items: []row{{"call_id": "c", "call_start_at": int64(1)}},
	}, nil)
	for _, c := range []struct{ table, start string }{
		{"calls", "start_at"}, {"transcript_turns", "call_start_at"}, {"tool_calls", "call_start_at"}, {"analysis_items", "call_start_at"},
	} {
		for _, column := range []string{"call_id", c.start, "month"} {
			plan := fmt.Sprint(sqlOf(t, w, fmt.Sprintf("EXPLAIN (FORMAT json) SELECT count(*), max(hash(t)) FROM %s t WHERE %s > '1970-01-02'", c.table, column)))
			_, scan, _ := strings.Cut(plan, "READ_PARQUET")
			want := `"Filters": *"[^"]*\b` + column + `\b`
			if column == "month" { // the file's name suffices, and it is not opened
				want = `"Scanning Files": *"0/1"`
			}
			if !regexp.MustCompile(want).MatchString(scan) {
				t.Errorf("a condition on %s.%s does not reach the file:\n%s", c.table, column, plan)
			}
		}
	}
}

func TestOnlyReadingIsRun(t *testing.T) {
	w := sharedWarehouse(t, false)
	out := filepath.Join(t.TempDir(), "out.csv")
	for _, text := range []string{
		"SELECT 1", "FROM calls", "VALUES (1)", "WITH x AS (SELECT 1) FROM x", "DESCRIBE calls", "SHOW TABLES",
		"SUMMARIZE calls", "EXPLAIN SELECT 1", "EXPLAIN ANALYZE SELECT count(*) FROM calls", "SELECT 1;",
		"-- note\nEXPLAIN /* x */ ANALYZE -- y\n SELECT 1", "EXPLAIN (ANALYZE, FORMAT json) SELECT 1", "SELECT 'DROP TABLE calls; --'",
	} {
		rows, err := w.SQL(t.Context(), text)
		if err != nil {
			t.Errorf("SQL(%q): %v", text, err)
			continue
		}
		all(t, rows, nil)
	}
	for _, text := range analyticstest.Changing(out, w.Snapshot().Path(w.Snapshot().Manifest.FilesOf("calls")[0])) {
		rows, err := w.SQL(t.Context(), text)
		if err == nil {
			rows.Close()
		}
		if !errors.Is(err, guard.ErrNotReading) {
			t.Errorf("SQL(%q): error %v, want ErrNotReading", text, err)
		}
		if _, err := os.Stat(out); !errors.Is(err, os.ErrNotExist) {
			t.Fatalf("%q wrote %s: %v", text, out, err)
		}
	}
	if _, err := w.SQL(t.Context(), "SELECT 1\x00; DROP VIEW calls"); err == nil {
		t.Error("a zero byte ends no statement")
	}
	if _, err := w.SQL(t.Context(), "SELECT 1; SELECT 2"); !errors.Is(err, duck.ErrManyStatements) {
		t.Errorf("two statements: %v", err)
	}
	if _, err := w.SQL(t.Context(), " -- nothing\n"); !errors.Is(err, duck.ErrNoStatement) {
		t.Errorf("no statement: %v", err)
	}
}

func TestOpenErrors(t *testing.T) {
	root := t.TempDir()
	if _, err := analytics.Open(t.Context(), root, analytics.Options{}); !errors.Is(err, layout.ErrNoWarehouse) {
		t.Errorf("Open of nothing: %v", err)
	}
	analyticstest.Write(t, root, 1, analyticstest.Data{Calls: []row{{"call_id": "c"}}})
	manifest := filepath.Join(root, "snapshots/000001/manifest.json")
	raw, err := os.ReadFile(manifest)
	test.OK(t, err)
	analyticstest.Edit(t, manifest, func(m *layout.Manifest) { m.FormatVersion = 99 })
	var version *layout.VersionError
	if _, err := analytics.Open(t.Context(), root, analytics.Options{}); !errors.As(err, &version) || version.Got != 99 {
		t.Errorf("Open of a newer version: %v", err)
	}
	test.OK(t, os.WriteFile(manifest, raw, 0o644))
	w := open(t, root, nil)
	var unknown *question.UnknownError
	_, err = askFor(t.Context(), w, "sentimnt", question.Params{})
	if !errors.As(err, &unknown) || unknown.Nearest != "sentiment" {
		t.Errorf("unknown report: %v", err)
	}
	for by, near := range map[string]string{"agnet": "agent", "metadata": "metadata.KEY", "metadata.": "metadata.KEY", "agent_id; DROP": "agent", "zzz": ""} {
		_, err = askFor(t.Context(), w, "sentiment", question.Params{By: by})
		if !errors.As(err, &unknown) || unknown.Nearest != near {
			t.Errorf("--by %q: %v, nearest %q, want %q", by, err, unknown.Nearest, near)
		}
	}
}

// askFor returns the rows of a report.
func askFor(ctx context.Context, w *analytics.Warehouse, report string, p question.Params) (*analytics.Rows, error) {
	a, err := w.Ask(ctx, analytics.Question{Report: report, Params: p})
	if err != nil {
		return nil, err
	}
	return a.Rows, nil
}
