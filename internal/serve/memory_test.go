package serve

import (
	"strings"
	"testing"

	"callhouse/internal/analytics/duck"
	"callhouse/internal/analytics/value"
)

// Results that may change are not cached. DuckDB reports its volatile functions.
func TestPassing(t *testing.T) {
	err := duck.InMemory(func(conn *duck.Conn) error {
		volatile, err := conn.Column(t.Context(), `WITH RECURSIVE passing AS (
				SELECT function_name AS name FROM duckdb_functions() WHERE stability <> 'CONSISTENT' AND function_name <> 'error'
			UNION
				SELECT f.function_name FROM duckdb_functions() AS f JOIN passing AS p ON regexp_matches(lower(f.macro_definition), '\b' || p.name || '\b')
			) SELECT name FROM passing`)
		if err != nil || len(volatile) < 20 {
			t.Fatal(volatile, err)
		}
		for _, name := range volatile {
			if !passes("SELECT "+name+"(status) FROM calls", nil) {
				t.Errorf("%s passes for a function of its arguments alone", name)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"SELECT 'today'::date", "SELECT relname FROM pg_class", "SELECT CURRENT_DATE", "SELECT user", "FROM calls USING SAMPLE 3"} {
		if !passes(text, nil) {
			t.Errorf("%s: would be kept", text)
		}
	}
	if !passes("SELECT $1::date", []any{"Tomorrow"}) || passes("SELECT $1 FROM calls", []any{"x", int64(1)}) {
		t.Error("values of parameters are not looked at as they should be")
	}
}

// The cache of a house stays within its limits.
func TestMemoryIsBounded(t *testing.T) {
	m := newMemory()
	text := strings.Repeat("x", mostAnswer/2)
	for i := range 200 {
		row := []value.Value{value.Of(text)}
		m.keepAnswer(string(rune('a'+i)), &kept{rows: [][]value.Value{row}, bytes: sizeOf(row)})
	}
	if n := m.answers.Len(); m.bytes > mostAnswers || n < 10 || n*mostAnswer/2 > mostAnswers {
		t.Errorf("%d answers of %d bytes are kept", n, m.bytes)
	}
}
