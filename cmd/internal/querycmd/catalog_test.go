package querycmd_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/analytics/duck"
	"callhouse/internal/longtest"
	"callhouse/internal/sink"
	"callhouse/internal/test"
)

// ask runs a statement in a stock DuckDB over files, and returns the first row's first value.
func ask(t *testing.T, setup, text string) any {
	t.Helper()
	db, err := duck.Open(duck.Config{Threads: 1})
	test.OK(t, err)
	defer func() {
		test.OK(t, db.Close())
	}()
	conn, err := db.Connect()
	test.OK(t, err)
	defer conn.Close()
	test.OK(t, conn.Exec(t.Context(), setup))
	rows, err := conn.Query(t.Context(), text)
	test.OK(t, err)
	defer rows.Close()
	row, err := rows.Next(t.Context())
	test.OK(t, err)
	return row[0]
}

func TestCatalog(t *testing.T) {
	copyWarehouse(t)
	const attach = "ATTACH 'callhouse.duckdb' AS c (READ_ONLY)"
	for range 2 { // twice in the same place
		r := run(t, "", "catalog", "--tz", "Asia/Seoul")
		if r.code != 0 || r.out != "" || !strings.Contains(r.stderr, "views of snapshot 1") || !strings.Contains(r.stderr, "days in Asia/Seoul") {
			t.Fatal(r)
		}
		if n := ask(t, attach, "SELECT count(*) FROM c.calls WHERE local_date = DATE '2024-11-20'"); n != int64(4) {
			t.Errorf("%v calls on a day of Seoul, want 4", n)
		}
	}
	if left, err := filepath.Glob("*callhouse.duckdb*"); err != nil || len(left) != 1 {
		t.Errorf("left: %v, %v", left, err)
	}
	if left, err := filepath.Glob(".callhouse*"); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	pins, err := filepath.Glob("warehouse/pins/*.json")
	if err != nil || len(pins) != 1 {
		t.Fatalf("pins: %v, %v", pins, err)
	}
	raw := test.Read(t, pins[0])
	path, err := filepath.Abs("callhouse.duckdb")
	test.OK(t, err)
	var p sink.Pinned
	if err := json.Unmarshal(raw, &p); err != nil || p.Catalog != path || len(p.Snapshots) != 1 || p.Snapshots[0].Snapshot != 1 || p.Snapshots[0].Until != nil {
		t.Errorf("the pin is %s, %v", raw, err)
	}
}

// A catalog of a moved warehouse has its old path, and can be recreated in the same place.
func TestCatalogAfterAMove(t *testing.T) {
	longtest.Only(t)
	copyWarehouse(t)
	const attach = "ATTACH 'callhouse.duckdb' AS c (READ_ONLY)"
	run(t, "", "catalog").exits(t, 0)
	old, err := filepath.Abs("warehouse")
	test.OK(t, err)
	test.OK(t, os.Rename("warehouse", "moved"))
	if got := ask(t, attach, "SELECT folder FROM c.snapshot"); !strings.HasPrefix(got.(string), old) {
		t.Errorf("it looks in %v", got)
	}
	run(t, "", "catalog", "--warehouse", "moved").exits(t, 0)
	if n := ask(t, attach, "SELECT count(*) FROM c.calls"); n != int64(8) {
		t.Errorf("%v calls", n)
	}
}

// A catalog replaces only another catalog.
func TestCatalogSparesOthers(t *testing.T) {
	longtest.Only(t)
	copyWarehouse(t)
	for name, content := range map[string]string{"notes.txt": "mine", "empty.duckdb": ""} {
		test.OK(t, os.WriteFile(name, []byte(content), 0o644))
	}
	ask(t, "ATTACH 'mine.duckdb' AS m; CREATE TABLE m.t (a INT); DETACH m; ATTACH 'view.duckdb' AS v; CREATE VIEW v.v AS SELECT 1; DETACH v", "SELECT 1")
	test.OK(t, os.Symlink("mine.duckdb", "link.duckdb"))
	for name, want := range map[string]string{"notes.txt": "is not a DuckDB file", "empty.duckdb": "is not a DuckDB file", "mine.duckdb": "contains something else", "view.duckdb": "contains something else", "warehouse": "is a folder",
		"link.duckdb": "is not a regular file", "no/such/folder/x.duckdb": "write "} {
		before, _ := os.ReadFile(name)
		r := run(t, "", "catalog", "--output", name)
		after, _ := os.ReadFile(name)
		if r.code == 0 || !strings.Contains(r.stderr, want) || string(before) != string(after) {
			t.Errorf("--output %s: %v", name, r)
		}
	}
	if pins, err := filepath.Glob("warehouse/pins/*.json"); err != nil || len(pins) > 1 { // those of the missing folder
		t.Errorf("pins of what was not made: %v, %v", pins, err)
	}
	for _, args := range [][]string{{"--format", "csv"}, {"--tz", "Mars/Olympus"}, {"now"}} {
		run(t, "", append([]string{"catalog"}, args...)...).exits(t, cli.ExitUsage)
	}
	run(t, "", "catalog", "--warehouse", "elsewhere").reports(t, cli.ExitFailed, "no warehouse")
}

// Another user's warehouse is readable: nothing is pinned, and a note says so.
func TestCatalogOfAReadOnlyWarehouse(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write everywhere")
	}
	copyWarehouse(t)
	test.OK(t, os.Chmod("warehouse", 0o500))
	defer func() { _ = os.Chmod("warehouse", 0o700) }() // otherwise the folder cannot be removed
	run(t, "", "catalog").reports(t, 0, "cannot be pinned")
}

// Every example of SQL runs in a stock DuckDB on the catalog.
func TestCatalogRunsExamples(t *testing.T) {
	longtest.Only(t)
	dir := goldenDir(t)
	copyWarehouse(t)
	copyExamples(t, dir)
	run(t, "", "catalog").exits(t, 0)
	files, err := filepath.Glob("examples/*.sql")
	test.OK(t, err)
	var all []string
	for _, name := range files {
		all = append(all, "(SELECT count(*) FROM (\n"+string(test.Read(t, name))+"))")
	}
	ask(t, "ATTACH 'callhouse.duckdb' AS c (READ_ONLY); USE c", "SELECT "+strings.Join(all, ", "))
	if len(files) < 5 {
		t.Errorf("%d examples", len(files))
	}
}

func TestCatalogAsSQL(t *testing.T) {
	copyWarehouse(t)
	r := run(t, "", "catalog", "--sql", "--tz", "Asia/Seoul")
	if r.code != 0 || r.stderr != "" {
		t.Fatal(r)
	}
	if n := ask(t, r.out, "SELECT count(*) FROM calls WHERE local_date = DATE '2024-11-20'"); n != int64(4) {
		t.Errorf("%v calls on a day of Seoul, want 4", n)
	}
	if f := run(t, "", "catalog", "--sql", "--tz", "Asia/Seoul", "--output", "calls.sql"); f.code != 0 || f.out != "" {
		t.Error(f)
	}
	if raw, err := os.ReadFile("calls.sql"); err != nil || string(raw) != r.out {
		t.Errorf("the file is another script: %v", err)
	}
	if pins, err := filepath.Glob("warehouse/pins"); err != nil || len(pins) > 0 {
		t.Error("a script pins nothing")
	}
}
