package e2e

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/cmdtest"
	"callhouse/cmd/internal/extractcmd"
	"callhouse/cmd/internal/querycmd"
	"callhouse/internal/layout"
	"callhouse/internal/longtest"
	"callhouse/internal/resource"
	"callhouse/internal/sandbox"
	"callhouse/internal/test"
)

const testKey = "a-key-that-must-never-show"

var worlds = longtest.Int("worlds", 1, 4, "how many times as many calls the tests of nights have as in the quick tests")

// sized returns a size for the quick or the long tests.
func sized(quick, long int64) int64 {
	return map[bool]int64{false: quick, true: long}[*worlds > 1]
}

// company is a sandbox with its own clock, and a warehouse for its calls.
type company struct {
	t         *testing.T
	clock     *sandbox.ManualClock
	service   *sandbox.Running
	warehouse string
	keyFile   string
}

// workday is a Wednesday afternoon in Seoul, the company's zone: at night and on Sundays there are
// few calls, and sometimes none in progress. It is fixed because another day has other calls.
var workday = time.Date(2026, 11, 18, 5, 30, 0, 0, time.UTC)

// found starts a company on a workday. Its service has no limits unless the options set them.
func found(t *testing.T, opts sandbox.Options) *company {
	t.Helper()
	return foundAt(t, workday, opts)
}

// foundNow starts a company for programs that use this machine's clock.
func foundNow(t *testing.T, opts sandbox.Options) *company {
	t.Helper()
	return foundAt(t, time.Now().Truncate(time.Millisecond), opts)
}

func foundAt(t *testing.T, now time.Time, opts sandbox.Options) *company {
	t.Helper()
	dir := t.TempDir()
	c := &company{t: t, warehouse: filepath.Join(dir, "warehouse"), keyFile: filepath.Join(dir, "key"),
		clock: sandbox.NewManualClock(now)}
	test.OK(t, os.WriteFile(c.keyFile, []byte(testKey+"\n"), 0o600))
	opts.Clock, opts.Keys = c.clock, append([]string{testKey}, opts.Keys...)
	if opts.PerSecond == 0 {
		opts.PerSecond, opts.PerMinute = -1, -1
	}
	server, err := sandbox.New(opts)
	test.OK(t, err)
	c.service, err = sandbox.Listen(t.Context(), "127.0.0.1:0", server)
	test.OK(t, err)
	t.Cleanup(func() { test.OK(t, c.service.Close()) })
	return c
}

// result is the exit code and output of a command.
type result struct {
	code           int
	stdout, stderr string
	args           string
}

// exits checks the exit code; prints and reports also check texts of stdout and stderr.
func (r result) exits(t *testing.T, code int) {
	t.Helper()
	r.check(t, code, "", nil)
}

func (r result) prints(t *testing.T, code int, texts ...string) result {
	t.Helper()
	return r.check(t, code, r.stdout, texts)
}

func (r result) reports(t *testing.T, code int, texts ...string) result {
	t.Helper()
	return r.check(t, code, r.stderr, texts)
}

func (r result) check(t *testing.T, code int, output string, texts []string) result {
	t.Helper()
	missing := slices.DeleteFunc(slices.Clone(texts), func(text string) bool { return strings.Contains(output, text) })
	if r.code != code || len(missing) > 0 {
		t.Errorf("%s: exit code %d, want %d; %q is missing in\n%s%s", r.args, r.code, code, missing, r.stdout, r.stderr)
	}
	return r
}

// extract runs extract against the company's service.
func (c *company) extract(ctx context.Context, args ...string) result {
	c.t.Helper()
	return extractAt(ctx, c.clock.Now, append(withRun(args)[:1:1], append([]string{"--warehouse", c.warehouse, "--base-url", c.service.URL, "--api-key-file", c.keyFile,
		"--organization-id", c.service.Server.Organisation().ID(),
		"--requests-per-second", "2000", "--requests-per-minute", "100000"}, withRun(args)[1:]...)...)...)
}

// withRun prepends run to arguments that do not begin with a command.
func withRun(args []string) []string {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		return append([]string{"run"}, args...)
	}
	return args
}

func extract(ctx context.Context, args ...string) result { return extractAt(ctx, time.Now, args...) }

// extractAt runs extract with the sandbox's clock, so that both have the same time.
func extractAt(ctx context.Context, now func() time.Time, args ...string) result {
	var out, errs bytes.Buffer
	code := extractcmd.Program{Now: now, Env: cmdtest.Env()}.Run(ctx, args, strings.NewReader(""), &out, &errs)
	return result{code, out.String(), errs.String(), fmt.Sprint(args)}
}

// mustExtract runs extract, which must succeed.
func (c *company) mustExtract(args ...string) result {
	c.t.Helper()
	r := c.extract(c.t.Context(), args...)
	r.exits(c.t, cli.ExitOK)
	return r
}

// query runs query over the company's warehouse.
func (c *company) query(args ...string) result {
	c.t.Helper()
	var out, errs bytes.Buffer
	code := querycmd.Run(c.t.Context(), cmdtest.Env(), append(args, "--warehouse", c.warehouse), strings.NewReader(""), &out, &errs)
	return result{code, out.String(), errs.String(), fmt.Sprint(args)}
}

// stored is a DuckDB for the tables as they are stored. Opening one for each statement, with all of
// query's views, would cost ten times as much, and half of the time of the tests of whole runs.
var stored = struct {
	sync.Mutex
	open func() (*sql.DB, error)
}{open: sync.OnceValues(func() (*sql.DB, error) { return sql.Open("duckdb", "?threads=1") })}

// sql returns the rows of a statement over the stored tables. objectsOf asks query.
func (c *company) sql(statement string) (rows []map[string]any) {
	c.t.Helper()
	s := current(c.t, c.warehouse)
	views := "SET TimeZone = 'UTC'"
	for _, table := range resource.Tables {
		if !strings.Contains(statement, table.Name) {
			continue
		}
		var from []string
		for _, f := range s.Manifest.FilesOf(table.Name) {
			from = append(from, "'"+s.Path(f)+"'")
		}
		text := fmt.Sprintf("read_parquet([%s], hive_partitioning = true)", strings.Join(from, ", "))
		if from == nil {
			var columns []string
			for i := range table.Columns {
				columns = append(columns, fmt.Sprintf("NULL::%s AS %s", table.Columns[i].Type.DuckDB(), table.Columns[i].Name))
			}
			text = "(SELECT " + strings.Join(columns, ", ") + ") WHERE false"
		}
		views += fmt.Sprintf("; CREATE OR REPLACE VIEW %s AS FROM %s", table.Name, text)
	}
	stored.Lock()
	defer stored.Unlock()
	db, err := stored.open()
	test.OK(c.t, err)
	_, err = db.ExecContext(c.t.Context(), views)
	test.OK(c.t, err)
	found, err := db.QueryContext(c.t.Context(), "SELECT to_json(q)::VARCHAR FROM ("+statement+") q")
	test.OK(c.t, err)
	defer found.Close()
	for found.Next() {
		var text string
		test.OK(c.t, found.Scan(&text))
		rows = append(rows, parse(c.t, []byte(text)).(objectJSON))
	}
	test.OK(c.t, found.Err())
	return rows
}

// objectsOf returns the rows of an answer of query, and its stderr.
func (c *company) objectsOf(args ...string) (rows []map[string]any, stderr string) {
	c.t.Helper()
	r := c.query(append(args, "--format", "json")...)
	dec := json.NewDecoder(strings.NewReader(r.stdout))
	dec.UseNumber()
	if err := dec.Decode(&rows); err != nil || r.code != cli.ExitOK {
		c.t.Fatalf("query %q failed with exit code %d, %v:\n%s%s", args, r.code, err, r.stdout, r.stderr)
	}
	return rows, r.stderr
}

// counts returns a statement's two columns, key and n, as a map; null is "null".
func (c *company) counts(statement string) map[string]int64 {
	c.t.Helper()
	out := map[string]int64{}
	for _, row := range c.sql(statement) {
		out[keyOf(row)] = number(c.t, row["n"])
	}
	return out
}

// current returns the current snapshot of a warehouse.
func current(t *testing.T, root string) *layout.Snapshot {
	t.Helper()
	s, err := layout.Current(root)
	test.OK(t, err)
	return s
}

// keyOf returns a row's key; null is "null".
func keyOf(row map[string]any) string {
	if key, ok := row["key"].(string); ok {
		return key
	}
	return "null"
}

// number returns an integer of an answer.
func number(t *testing.T, v any) int64 {
	t.Helper()
	n, err := v.(json.Number).Int64()
	test.OK(t, err)
	return n
}

// one returns the only value of a statement's answer.
func (c *company) one(statement string) any {
	c.t.Helper()
	rows := c.sql(statement)
	if len(rows) != 1 || len(rows[0]) != 1 {
		c.t.Fatalf("query sql %q gave %v, want one value", statement, rows)
	}
	for _, v := range rows[0] {
		return v
	}
	return nil
}
