package duck_test

import (
	"errors"
	"strings"
	"testing"

	"callhouse/internal/analytics/duck"
	"callhouse/internal/test"
)

// The position of an error is found in long lines too, of which DuckDB quotes only a part, unless
// that part occurs twice.
func TestPlaceInLongLines(t *testing.T) {
	db, err := duck.Open(duck.Config{Threads: 1})
	test.OK(t, err)
	defer db.Close()
	conn, err := db.Connect()
	test.OK(t, err)
	defer conn.Close()
	many := strings.Repeat("'가나다' AS some_name, ", 12)
	for _, c := range []struct {
		text         string
		line, column int
	}{
		{"SELECT nothing FROM range(1)", 1, 8},
		{"SELECT 1,\n  nothing FROM range(1)", 2, 3},
		{"SELECT " + many + "nothing FROM range(1)", 1, 8 + len([]rune(many))},
		{"SELECT 1,\n" + many + "nothing\nFROM range(1)", 2, 1 + len([]rune(many))},
		{"SELECT " + many + many + "1\n+ nothing FROM range(1)", 2, 3},
	} {
		_, err := conn.Prepare(t.Context(), c.text)
		var e *duck.Error
		if !errors.As(err, &e) || e.Line != c.line || e.Column != c.column {
			t.Errorf("%q: %+v, want line %d, column %d", c.text, err, c.line, c.column)
		}
		if table, column, ok := e.MissingColumn(); !ok || table != "" || column != "nothing" {
			t.Errorf("%q: missing is %q of %q, %t", c.text, column, table, ok)
		}
	}
}
