package querycmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/analytics"
	"callhouse/internal/analytics/format"
	"callhouse/internal/analytics/value"
	"callhouse/internal/words"
	sqlfiles "callhouse/sql"
)

// checking is one run of query check.
type checking struct {
	*app
	maxAge time.Duration
}

func (a *app) checkCommand() *cobra.Command {
	c := &checking{app: a}
	cmd := &cobra.Command{
		Use:   "check [NAME...]",
		Short: "Run data tests",
		Long: `Run data tests over the whole warehouse. A test finds the rows that violate it.

Exit codes: 0 if no test fails (warnings do not count), 3 if one fails.`,
		Example: `  query check
  query check freshness --max-age 26h`,
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args) },
	}
	f := cmd.Flags()
	cli.SpanVar(f, &c.maxAge, "max-age", 26*time.Hour, "maximum age of the last successful run, for the test freshness")
	return cmd
}

// shownRows is the number of faulty rows shown of a failed test.
const shownRows = 10

// verdict is the result of a test.
type verdict struct {
	*sqlfiles.Check
	count   int64
	columns []value.Column
	rows    [][]any // the first faulty rows
}

func (c *checking) run(ctx context.Context, names []string) (err error) {
	if c.maxAge < 0 {
		return cli.Usage("run: query check --help", "--max-age must not be negative")
	}
	if _, err := c.OutputFormat(); err != nil {
		return err
	}
	tests, err := chosen(names)
	if err != nil {
		return err
	}
	w, err := c.Open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, w.Close()) }()
	var failed []string
	for _, v := range tests {
		if err := c.test(ctx, w, v); err != nil {
			return fmt.Errorf("%s: %w", v.Name, err)
		}
		if v.count > 0 && !v.Warn {
			failed = append(failed, v.Name)
		}
	}
	if err := c.print(ctx, tests, w.Location()); err != nil {
		return err
	}
	if len(failed) > 0 {
		return cli.Fail(cli.ExitIncomplete, fmt.Errorf("%d of %d tests failed: %s", len(failed), len(tests),
			strings.Join(failed, ", ")), "")
	}
	return nil
}

// chosen returns the tests to run; without names, all of them.
func chosen(names []string) (out []*verdict, err error) {
	tests := sqlfiles.Checks()
	if len(names) > 0 {
		tests, err = named("test", names, tests, func(t *sqlfiles.Check) string { return t.Name })
	}
	for _, t := range tests {
		out = append(out, &verdict{Check: t})
	}
	return out, err
}

// test runs one test: it counts the faulty rows and keeps the first ones.
func (c *checking) test(ctx context.Context, w *analytics.Warehouse, v *verdict) error {
	values := map[string]string{}
	if strings.Contains(v.SQL, "$max_age") {
		values["max_age"] = fmt.Sprint(int64(c.maxAge.Seconds()))
	}
	rows, err := w.SQLWith(ctx, v.SQL, values)
	if err != nil {
		return err
	}
	defer rows.Close()
	v.columns = rows.Columns()
	for len(v.rows) < shownRows {
		row, err := rows.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		v.rows = append(v.rows, slices.Clone(row))
		v.count++
	}
	others, err := (&format.First{Source: rows}).Others(ctx)
	v.count += others
	return err
}

// print writes the results: a table and, for people, the first faulty rows of each test.
func (c *checking) print(ctx context.Context, tests []*verdict, loc *time.Location) error {
	columns := []value.Column{
		{Name: "check", Type: "VARCHAR", Kind: value.Text}, {Name: "severity", Type: "VARCHAR", Kind: value.Text},
		{Name: "violations", Type: "BIGINT", Kind: value.Integer}, {Name: "finds", Type: "VARCHAR", Kind: value.Text, Wrap: true},
	}
	var rows [][]any
	for _, v := range tests {
		severity := "error"
		if v.Warn {
			severity = "warn"
		}
		rows = append(rows, []any{v.Name, severity, v.count, v.About})
	}
	r, err := c.Write(ctx, format.NewStatic(columns, rows), loc)
	if err != nil {
		return err
	}
	c.Notes(r)
	if kind, err := c.OutputFormat(); err != nil || kind != format.Table || c.Output != "" {
		return err
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
