package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/layout"
	"callhouse/internal/longtest"
	"callhouse/internal/sandbox"
	"callhouse/internal/sink/erase"
	"callhouse/internal/sink/snapshot"
	"callhouse/internal/test"
)

// A caller is forgotten by a number spelled differently from the service's: no table of any
// snapshot, no temporary file and no catalog has the number, the ids of the calls or their words.
func TestForgetCaller(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	c := found(t, sandbox.Options{World: sandbox.Config{Seed: 31, Calls: 120, Days: 4}})
	c.mustExtract()
	c.clock.Advance(20 * time.Hour)
	c.mustExtract()
	const person = "SELECT from_number AS n, count(*) AS calls FROM calls WHERE call_type = 'inbound' AND turn_count > 3 AND from_number LIKE '010%' GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 1"
	rows := c.sql(person)
	if len(rows) != 1 {
		t.Fatalf("nobody calls: %v", rows)
	}
	number := fmt.Sprint(rows[0]["n"])
	catalog := filepath.Join(t.TempDir(), "calls.duckdb")
	c.query("catalog", "--output", catalog).exits(t, cli.ExitOK)
	var ids, said []string
	for _, row := range c.sql("SELECT call_id AS id FROM calls WHERE from_number = '" + number + "' OR to_number = '" + number + "'") {
		ids = append(ids, fmt.Sprint(row["id"]))
	}
	// Texts that occur only in her calls.
	const everything = "(SELECT call_id, content AS said FROM transcript_turns UNION ALL SELECT call_id, arguments::VARCHAR FROM transcript_turns UNION ALL " +
		"SELECT call_id, dynamic_variables::VARCHAR FROM calls UNION ALL SELECT call_id, metadata::VARCHAR FROM calls)"
	for _, row := range c.sql("SELECT said FROM " + everything + " GROUP BY 1 HAVING length(said) > 20 AND bool_and(list_contains(['" + strings.Join(ids, "','") + "'], call_id)) LIMIT 20") {
		said = append(said, fmt.Sprint(row["said"]))
	}
	if len(said) == 0 {
		t.Fatal("her calls have nothing of their own")
	}
	digits := strings.TrimLeft(strings.TrimPrefix(number, "+"), "0")
	spelled := number[:len(number)-8] + "-" + number[len(number)-8:len(number)-4] + "-" + number[len(number)-4:]
	texts := append(append([]string{number, digits}, ids...), said...)
	current, err := layout.Current(c.warehouse)
	test.OK(t, err)
	before := everyRow(t, current)
	for _, text := range texts {
		if !strings.Contains(before, text) {
			t.Errorf("%q is nowhere before", text)
		}
	}

	r := extractAt(t.Context(), c.clock.Now, "forget", "--number", spelled, "--country", "KR", "--yes", "--warehouse", c.warehouse)
	var receipt erase.Receipt
	if err := json.Unmarshal([]byte(r.stdout), &receipt); err != nil || r.code != cli.ExitOK {
		t.Fatalf("exit code %d, %v\n%s", r.code, err, r.stderr)
	}
	if len(receipt.Calls) < len(ids) || receipt.Mentioned > 0 {
		t.Errorf("forget %s:\n%s", spelled, r.stderr)
	}
	nowhere(t, c.warehouse, texts...)
	nowhere(t, filepath.Dir(catalog), texts...)
	all, err := snapshot.Retained(c.warehouse)
	if err != nil || len(all) != 1 || receipt.Removed < 2 {
		t.Fatalf("%d snapshots, %d removed, %v", len(all), receipt.Removed, err)
	}
	left := everyRow(t, all[0])
	for _, text := range texts {
		if strings.Contains(left, text) {
			t.Errorf("%q is in the snapshot", text)
		}
	}
	if s := c.query("calls", "--number", number, "--format", "csv"); strings.Contains(s.stdout, number) {
		t.Errorf("query still finds her:\n%s", s.stdout)
	}
	extract(t.Context(), "verify", "--all", "--warehouse", c.warehouse).exits(t, cli.ExitOK)
}

// everyRow returns all values of all files of a snapshot as text.
func everyRow(t *testing.T, s *layout.Snapshot) string {
	t.Helper()
	var all strings.Builder
	for i := range s.Manifest.Files {
		path := s.Path(&s.Manifest.Files[i])
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
		r := queryAs(t, "sql", "SELECT t::VARCHAR AS row FROM read_parquet('"+path+"') t", "--warehouse", s.Root(), "--format", "ndjson")
		r.exits(t, cli.ExitOK)
		all.WriteString(strings.ReplaceAll(r.stdout, `\"`, `"`))
	}
	return all.String()
}
