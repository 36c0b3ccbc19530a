package serve_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// A plan is one column of lines, and its first line has an estimate for postgres_fdw.
func testPlan(t *testing.T, h *house) {
	c := h.connect(t, "")
	r := c.PgConn().ExecParams(t.Context(), "EXPLAIN SELECT call_id FROM calls WHERE duration_ms > $1", [][]byte{[]byte("5")}, nil, nil, nil).Read()
	if r.Err != nil || len(r.FieldDescriptions) != 1 || r.FieldDescriptions[0].Name != "QUERY PLAN" || len(r.Rows) < 5 {
		t.Fatalf("%v, %v, %d rows", r.Err, r.FieldDescriptions, len(r.Rows))
	}
	first := string(r.Rows[0][0])
	var from, to, rows float64
	var width int
	if n, err := fmt.Sscanf(first[strings.LastIndexByte(first, '('):], "(cost=%f..%f rows=%f width=%d)", &from, &to, &rows, &width); n != 4 {
		t.Errorf("%q: %v", first, err)
	}
	if got := texts(t, c, "EXPLAIN (FORMAT json) SELECT 1"); len(got) != 1 || !strings.HasPrefix(got[0], "[") {
		t.Errorf("as JSON: %q", got)
	}
}

// Zones given by their offset, as Sequelize and others set them.
func testOffsets(t *testing.T, h *house) {
	c := h.connect(t, "")
	for set, want := range map[string]string{"INTERVAL '+00:00' HOUR TO MINUTE": "00+00", "INTERVAL '+02:00' HOUR TO MINUTE": "02+02", "INTERVAL '-03:00' HOUR TO MINUTE": "21-03", "5": "05+05", "-7": "17-07", "'Europe/Berlin'": "01+01"} {
		if got := texts(t, c, "SET TIME ZONE "+set+"; SELECT to_char(i, 'HH24') || right(i::text, 3) FROM (SELECT timestamptz '2026-01-01 00:00:00Z' AS i) x"); !slices.Equal(got, []string{want}) {
			t.Errorf("%s: %v, want %s", set, got, want)
		}
	}
	if _, err := c.Exec(t.Context(), "SET TIME ZONE INTERVAL '+05:30' HOUR TO MINUTE"); code(err) != "22023" {
		t.Errorf("half an hour: %v", err)
	}
}
