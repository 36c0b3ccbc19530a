package analytics

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/analytics/opened"
	"callhouse/internal/analytics/question"
	"callhouse/internal/longtest"
	"callhouse/internal/test"
)

// opener returns a function that opens a warehouse of one call, each time anew.
func opener(t *testing.T) func(Options) *Warehouse {
	t.Helper()
	root := t.TempDir()
	analyticstest.Write(t, root, 1, analyticstest.Data{Calls: []analyticstest.Row{{"call_id": "c1"}}})
	return func(o Options) *Warehouse {
		t.Helper()
		w, err := Open(t.Context(), root, o)
		test.OK(t, err)
		t.Cleanup(func() { test.OK(t, w.Close()) })
		return w
	}
}

// A report defines only what it needs. A user's statement finds every definition.
func TestDefinitionsComeWhenTheyAreNamed(t *testing.T) {
	open := opener(t)
	read := func(rows *Rows, err error) (out []string) {
		for err == nil {
			var row []any
			if row, err = rows.Next(t.Context()); err == nil {
				out = append(out, fmt.Sprint(row...))
			}
		}
		if !errors.Is(err, io.EOF) {
			t.Error(err)
		}
		if rows != nil {
			rows.Close()
		}
		return out
	}

	w := open(Options{})
	read(askFor(t.Context(), w, "volume", question.Params{}))
	some := defined(t, w)
	for _, name := range []string{"main.calls", "main.costs", "stored.runs", "wilson"} {
		if slices.Contains(some, name) {
			t.Errorf("%s is defined, and nobody asked for it", name)
		}
	}
	if len(some) == 0 {
		t.Error("nothing is defined")
	}
	var wg sync.WaitGroup // a warehouse may run several queries at once
	for _, name := range []string{"callers", "tools", "coverage", "durations", "worst"} {
		wg.Go(func() { read(askFor(t.Context(), w, name, question.Params{})) })
	}
	wg.Wait()

	// After a statement that needs all definitions, all are there.
	got, whole := read(w.SQL(t.Context(), whatIsDefined)), open(Options{})
	conn, err := whole.Connect(t.Context())
	test.OK(t, err)
	defer conn.Close()
	test.OK(t, whole.DefineAll(t.Context(), conn))
	if want := defined(t, whole); len(want) <= len(some) || !slices.Equal(got, want) {
		t.Errorf("SQL finds %d definitions, and where all are made at once %d:\n%q\n%q", len(got), len(want), got, want)
	}
}

const whatIsDefined = `SELECT schema_name || '.' || view_name FROM duckdb_views() WHERE NOT internal
	UNION ALL SELECT function_name FROM duckdb_functions() WHERE NOT internal AND ends_with(function_type, 'macro')
	UNION ALL SELECT type_name FROM duckdb_types() WHERE NOT internal ORDER BY ALL`

// defined returns the names of the definitions made so far.
func defined(t *testing.T, w *Warehouse) []string {
	t.Helper()
	conn, err := w.Connect(t.Context())
	test.OK(t, err)
	defer conn.Close()
	names, err := conn.Column(t.Context(), whatIsDefined)
	test.OK(t, err)
	return names
}

// However a user's statement spells the names that it reads, its answer and its error are the same
// as if everything were defined.
func TestStatementsFindWhatTheyName(t *testing.T) {
	open := opener(t)
	answer := func(w *Warehouse, text string) string {
		rows, err := w.SQL(t.Context(), text)
		if err != nil {
			return err.Error()
		}
		defer rows.Close()
		out := ""
		for {
			row, err := rows.Next(t.Context())
			if err != nil {
				return out + err.Error()
			}
			out += fmt.Sprintln(row...)
		}
	}
	texts := map[string]bool{
		`SELECT 1`:                     true,
		`SELECT count(*) FROM "CALLS"`: true,
		`SELECT count(*) FROM memory.main.Calls JOIN costs USING (call_id)`: true,
		`SELECT count(*) FROM stored.calls`:                                 true,
		`SELECT Wilson(1, 2, 1), main."PERCENT_OF"(1, 3)`:                   true,
		`SELECT CAST('Monday' AS weekday_name)`:                             true,
		`SELECT count(*) FROM agents_at(now())`:                             true,
		`SELECT count(*) FROM U&"\0063alls"`:                                true, // DuckDB has no such names
		`SELECT count(*) FROM query('SELECT * FROM cal' || 'ls')`:           false,
		`SELECT count(*) FROM query_table('cal' || 'ls')`:                   false,
		`SELECT left(json_serialize_plan('SELECT * FROM cal' || 'ls'), 20)`: false,
		`SELECT view_name FROM duckdb_views() WHERE NOT internal`:           false,
		`SELECT table_name FROM INFORMATION_SCHEMA.tables`:                  false,
		`SHOW TABLES`:               false,
		`DESCRIBE call`:             false,
		`FROM cals`:                 false,
		`SELECT willson(1, 2, 1)`:   false,
		`SELECT nothing FROM calls`: false,
	}
	for _, o := range []Options{{}, {Options: opened.Options{Safe: &opened.Limits{Memory: 256 << 20, Temp: 1 << 20}}}} {
		all := open(o)
		conn, err := all.Connect(t.Context())
		test.OK(t, err)
		defer conn.Close()
		test.OK(t, all.DefineAll(t.Context(), conn))
		every := len(defined(t, all))
		tried, n := longtest.Each(6), 0
		for text, lazy := range texts {
			if n++; !tried(n - 1) {
				continue
			}
			w := open(o)
			got, want := answer(w, text), answer(all, text)
			if got != want {
				t.Errorf("%s: %s\nwhere all is defined: %s", text, got, want)
			}
			lazy = lazy && (o.Safe == nil || strings.HasSuffix(got, io.EOF.Error())) // refused statements are tried twice
			if n := len(defined(t, w)); lazy != (n < every) {
				t.Errorf("%s: %d of %d definitions are made; want only some: %v", text, n, every, lazy)
			}
		}
	}
}
