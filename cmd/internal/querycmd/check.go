package querycmd

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/querycmd/answer"
	"callhouse/cmd/internal/querycmd/safe"
	"callhouse/internal/analytics"
	"callhouse/internal/analytics/duck"
	"callhouse/internal/analytics/format"
	"callhouse/internal/analytics/guard"
	"callhouse/internal/analytics/value"
	"callhouse/internal/words"
	sqlfiles "callhouse/sql"
)

// checking is one run of query check.
type checking struct {
	*answer.Command `json:"-"`
	dir             string // of the user's own tests; empty: none
	safe            safe.Mode

	// In safe mode, these fields are sent to a separate process as JSON.
	Show    int // number of faulty rows shown per test
	MaxAge  time.Duration
	Tests   []*verdict
	Summary bool // show no faulty rows, even in a table
}

func (a *app) checkCommand() *cobra.Command {
	c := &checking{Command: &a.Command}
	cmd := &cobra.Command{
		Use:   "check [NAME...]",
		Short: "Run data tests, built-in and your own",
		Long: `Run data tests. A test is a SELECT that returns the rows that violate it. Some are
built in; --checks names a folder with your own, one per file NAME.sql. The comment
at the top of a file describes the test; the line "-- severity: warn" makes it a
warning. A file with the name of a built-in test replaces that test. Statements can
use $now, the current time, and $max_age, the value of --max-age in seconds.

With --safe or CALLHOUSE_SAFE=1, all tests run in one process with limits, as
untrusted statements do in query sql.

Exit codes: 0 if no test fails (warnings do not count), 3 if one fails, 2 if a
test is not a valid SELECT; the error names its file and line.`,
		Example: `  query check
  query check --checks ./checks --show 10
  query check freshness --max-age 26h`,
		GroupID: "more",
		RunE:    func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args) },
	}
	c.safe.Flags(cmd)
	f := cmd.Flags()
	f.StringVar(&c.dir, "checks", "", "`DIR` with your own tests")
	f.IntVar(&c.Show, "show", 3, "show at most `N` rows of each failed test; 0 for none")
	cli.SpanVar(f, &c.MaxAge, "max-age", 26*time.Hour, "maximum age of the last successful run, for the test freshness")
	return cmd
}

// verdict is the result of a test.
type verdict struct {
	*sqlfiles.Check
	File    string // empty: built-in
	count   int64
	columns []value.Column
	rows    [][]any // the first faulty rows
}

func (v *verdict) severity() string {
	if v.Warn {
		return "warn"
	}
	return "error"
}

func (c *checking) run(ctx context.Context, names []string) (err error) {
	if err := c.safe.Read(c.Env); err != nil {
		return err
	}
	if c.Show < 0 || c.MaxAge < 0 {
		return cli.Usage("run: query check --help", "--show and --max-age must not be negative")
	}
	loc, err := c.Location()
	if err != nil {
		return err
	}
	if _, err := c.OutputFormat(); err != nil {
		return err
	}
	if c.Tests, err = c.collect(names); err != nil {
		return err
	}
	c.Summary = c.Output != ""
	failed, err := c.answer(ctx, loc)
	if err != nil {
		return err
	}
	if len(failed) > 0 {
		return cli.Fail(cli.ExitIncomplete, fmt.Errorf("%d of %d tests failed: %s", len(failed), len(c.Tests),
			strings.Join(failed, ", ")), "")
	}
	return nil
}

// answer runs the tests, prints the results, and returns the failed tests.
func (c *checking) answer(ctx context.Context, loc *time.Location) (failed []string, err error) {
	if c.safe.On {
		raw, err := json.Marshal(c)
		if err != nil {
			return nil, err
		}
		said, err := c.safe.RunJob(ctx, c.Command, safe.Job{Checks: raw}, loc)
		if err != nil {
			return nil, err
		}
		return said.Failed, nil
	}
	w, err := c.Open(ctx, loc)
	if err != nil {
		return nil, err
	}
	defer func() { err = cmp.Or(err, w.Close()) }()
	return c.check(ctx, w)
}

// check runs the tests on an open warehouse; see answer.
func (c *checking) check(ctx context.Context, w *analytics.Warehouse) (failed []string, err error) {
	now := time.Now()
	for _, v := range c.Tests {
		if err := c.test(ctx, w, v, now); err != nil {
			return nil, err
		}
		if v.count > 0 && !v.Warn {
			failed = append(failed, v.Name)
		}
	}
	return failed, c.tell(ctx, c.Tests, w.Location())
}

// checkAll is check in a separate process; raw is the JSON of the tests.
func checkAll(ctx context.Context, a *answer.Command, w *analytics.Warehouse, raw json.RawMessage) ([]string, error) {
	c := &checking{Command: a}
	if err := json.Unmarshal(raw, c); err != nil {
		return nil, err
	}
	return c.check(ctx, w)
}

// collect returns the tests to run by name: built-in ones, and the user's, which replace built-in
// ones of the same name.
func (c *checking) collect(names []string) ([]*verdict, error) {
	by := map[string]*verdict{}
	for _, t := range sqlfiles.Checks() {
		by[t.Name] = &verdict{Check: t}
	}
	if c.dir != "" {
		const hint = "--checks needs a folder with tests, one per file NAME.sql"
		files, err := filepath.Glob(filepath.Join(escapeGlob(c.dir), "*.sql"))
		if err != nil {
			return nil, cli.Usage(hint, "read the tests: %v", err)
		}
		if len(files) == 0 {
			return nil, cli.Usage(hint, "no tests in %s", c.dir)
		}
		for _, file := range files {
			text, err := answer.ReadFile(file)
			if err != nil {
				return nil, cli.Usage(hint, "read the tests: %v", err)
			}
			t, err := sqlfiles.ParseCheck(strings.TrimSuffix(filepath.Base(file), ".sql"), text)
			if err != nil {
				return nil, cli.Usage(hint, "%s: %v", file, err)
			}
			by[t.Name] = &verdict{Check: t, File: file}
		}
	}
	var known []string
	for name := range by {
		known = append(known, name)
	}
	slices.Sort(known)
	if len(names) == 0 {
		names = known
	}
	var out []*verdict
	for _, name := range names {
		v, ok := by[name]
		if !ok {
			hint := cli.Suggest(name, known, "available: "+strings.Join(known, ", "))
			return nil, cli.Usage(hint, "unknown test %q", name)
		}
		out = append(out, v)
	}
	return out, nil
}

// escapeGlob returns a pattern that matches only the path itself.
func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// test runs one test: it counts the faulty rows and keeps the first ones.
func (c *checking) test(ctx context.Context, w *analytics.Warehouse, v *verdict, now time.Time) error {
	rows, err := ask(ctx, w, v.SQL, map[string]string{
		"now": now.UTC().Format(time.RFC3339Nano), "max_age": fmt.Sprint(int64(c.MaxAge.Seconds()))})
	if err != nil {
		return v.explain(err)
	}
	defer rows.Close()
	v.columns = rows.Columns()
	for len(v.rows) < c.Show {
		row, err := rows.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return v.explain(err)
		}
		v.rows = append(v.rows, slices.Clone(row))
		v.count++
	}
	for {
		n, err := rows.Skip(ctx)
		if err != nil {
			return v.explain(err)
		}
		if n == 0 {
			return nil
		}
		v.count += int64(n)
	}
}

// ask runs a statement with values for its parameters.
func ask(ctx context.Context, w *analytics.Warehouse, text string, values map[string]string) (*analytics.Rows, error) {
	rows, err := w.SQLWith(ctx, text, values)
	var p *analytics.ParamError
	if !errors.As(err, &p) || len(p.Unused) == 0 {
		return rows, err
	}
	for _, name := range p.Unused {
		delete(values, name)
	}
	return w.SQLWith(ctx, text, values)
}

// explain adds the location to a test's error.
func (v *verdict) explain(err error) error {
	place := v.File
	if place == "" {
		place = v.Name
	}
	var d *duck.Error
	switch {
	case errors.As(err, &d) && d.Kind != "IO" && d.Kind != "Out of Memory":
		if d.Line > 0 {
			place = fmt.Sprintf("%s:%d:%d", place, d.Line, d.Column)
		}
		return cli.Usage(answer.SQLHint(d), "%s: %s", place, d.Text())
	case cli.Is[*guard.UnsafeError](err):
		return cli.Usage("a test can only read the tables of query list", "%s: %v", place, err)
	case cli.Is[*analytics.ParamError](err):
		return cli.Usage("the parameters of a test are $now and $max_age", "%s: %v", place, err)
	case errors.Is(err, guard.ErrNotReading), errors.Is(err, duck.ErrNoStatement), errors.Is(err, duck.ErrManyStatements):
		return cli.Usage("a test must be one SELECT", "%s: %v", place, err)
	}
	return fmt.Errorf("%s: %w", place, err)
}

// tell writes the results: for people a table and the first faulty rows of each test, in JSON all
// fields, in other formats the table.
func (c *checking) tell(ctx context.Context, tests []*verdict, loc *time.Location) error {
	kind, err := c.OutputFormat()
	if err != nil {
		return err
	}
	if kind == format.JSON {
		return c.tellJSON(ctx, tests, loc)
	}
	columns := []value.Column{
		{Name: "check", Type: "VARCHAR", Kind: value.Text}, {Name: "severity", Type: "VARCHAR", Kind: value.Text},
		{Name: "violations", Type: "BIGINT", Kind: value.Integer}, {Name: "finds", Type: "VARCHAR", Kind: value.Text, Wrap: true},
	}
	var rows [][]any
	for _, v := range tests {
		rows = append(rows, []any{v.Name, v.severity(), v.count, v.About})
	}
	r, err := c.Write(ctx, format.NewStatic(columns, rows), loc)
	if err != nil {
		return err
	}
	c.Notes(r)
	if kind != format.Table || c.Summary {
		return nil
	}
	for _, v := range tests {
		if len(v.rows) == 0 {
			continue
		}
		words.Fprintf(c.Stdout, "\n%s: first %d of %d rows\n", v.Name, len(v.rows), v.count)
		if _, err := c.Write(ctx, format.NewStatic(v.columns, v.rows), loc); err != nil {
			return err
		}
	}
	return nil
}

func (c *checking) tellJSON(ctx context.Context, tests []*verdict, loc *time.Location) error {
	type line struct {
		Check      string          `json:"check"`
		Severity   string          `json:"severity"`
		Violations int64           `json:"violations"`
		Finds      string          `json:"finds"`
		File       string          `json:"file,omitempty"`
		Rows       json.RawMessage `json:"rows"`
	}
	out := []line{}
	for _, v := range tests {
		var rows bytes.Buffer
		if _, err := format.Write(ctx, &rows, format.JSON, format.NewStatic(v.columns, v.rows), format.Options{Location: loc}); err != nil {
			return err
		}
		out = append(out, line{v.Name, v.severity(), v.count, v.About, v.File, rows.Bytes()})
	}
	text, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the results: %w", err)
	}
	text = append(text, '\n')
	if c.Output == "" {
		_, err = c.Stdout.Write(text)
		return err
	}
	return c.WriteFile(c.Output, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}
