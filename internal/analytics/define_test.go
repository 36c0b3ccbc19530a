package analytics

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/analytics/database"
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

// A report defines only the tables that it needs. A user's statement finds everything.
func TestDefinitionsComeWhenTheyAreNeeded(t *testing.T) {
	longtest.Only(t)
	open := opener(t)
	w := open(Options{})
	var wg sync.WaitGroup // a warehouse may run several queries at once
	for _, name := range []string{"volume", "callers", "coverage", "durations", "worst"} {
		wg.Go(func() {
			rows, err := askFor(t.Context(), w, name, question.Params{})
			if err != nil {
				t.Error(err)
				return
			}
			rows.Close()
		})
	}
	wg.Wait()
	some := defined(t, w)
	for name, wanted := range map[string]bool{"main.calls": true, "stored.calls": true, "main.costs": false, "stored.tool_calls": false, "wilson": true} {
		if slices.Contains(some, name) != wanted {
			t.Errorf("%s is defined: %v", name, !wanted)
		}
	}
	for _, o := range []Options{{Options: database.Options{Safe: &database.Limits{Memory: 256 << 20, Temp: 1 << 20}}}, {}} {
		w := open(o)
		for _, text := range []string{"SELECT count(*) FROM costs JOIN agents USING (agent_id) WHERE wilson(1, 2, 1) > 0",
			"FROM main.Agents_AT /* then */ (now())", "FROM query('FROM \"tools_at\"\n(now())')"} {
			if rows, err := w.SQL(t.Context(), text); err == nil {
				rows.Close()
			} else if o.Safe == nil {
				t.Errorf("%s: %v", text, err)
			}
			if slices.Contains(defined(t, w), "agents_at") != strings.Contains(strings.ToLower(text), "_at") {
				t.Errorf("after %s, the macros over views are defined or missing", text)
			}
		}
		if all := defined(t, w); !slices.Contains(all, "stored.runs") || !slices.Contains(all, "main.transcript_turns") || len(all) <= len(some) {
			t.Errorf("SQL finds %d definitions: %q", len(all), all)
		}
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
