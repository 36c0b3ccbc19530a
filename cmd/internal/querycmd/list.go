package querycmd

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/querycmd/answer"
	"callhouse/internal/analytics/format"
	"callhouse/internal/analytics/question"
	"callhouse/internal/words"
	sqlfiles "callhouse/sql"
)

func (a *app) listCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List reports, and tables that sql can read",
		Args:  cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var rows [][]any
			for _, f := range sqlfiles.Reports() {
				rows = append(rows, []any{f.Name, "report", f.Answers})
			}
			for _, f := range sqlfiles.ViewsByName() {
				rows = append(rows, []any{f.Name, "table", f.Answers})
			}
			return a.WriteStatic(cmd.Context(), []string{"name", "kind", "answers"}, rows)
		},
	}
}

func (a *app) describeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "describe [REPORT | TABLE]",
		Short: "Describe a report or table and its columns",
		Long: `Describe a report or table: the question it answers, what one row is, and the
type, unit and meaning of each column. Without a name: the columns of all tables.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return cli.Usage("run: query list", "describe takes one name, got %d", len(args))
			}
			return nil
		},
		ValidArgs: append(answer.Names(sqlfiles.Reports()), answer.Names(sqlfiles.ViewsByName())...),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return a.describeAll(cmd.Context())
			}
			found, err := question.Describe(args[0])
			if err != nil {
				return err
			}
			return a.describe(cmd.Context(), found)
		},
	}
}

func (a *app) describeAll(ctx context.Context) error {
	var rows [][]any
	for _, f := range sqlfiles.ViewsByName() {
		for _, row := range columnRows(f) {
			rows = append(rows, append([]any{f.Name}, row...))
		}
	}
	return a.WriteStatic(ctx, append([]string{"table"}, heads...), rows)
}

// describe prints a definition, or two if a report and a table share a name. People get the texts
// too, other formats only the columns.
func (a *app) describe(ctx context.Context, found []*sqlfiles.File) error {
	kind, err := a.OutputFormat()
	if err != nil {
		return err
	}
	if kind != format.Table || a.Output != "" {
		var rows [][]any
		for _, f := range found {
			rows = append(rows, columnRows(f)...)
		}
		return a.WriteStatic(ctx, heads, rows)
	}
	for i, f := range found {
		if i > 0 {
			words.Fprintln(a.Stdout)
		}
		if len(found) > 1 {
			words.Fprintf(a.Stdout, "%s ", []string{"REPORT", "TABLE"}[i])
		}
		if _, err := io.WriteString(a.Stdout, longText(f)+"\n\n"+sentence(f.Grain)+".\n\n"); err != nil {
			return err
		}
		if err := a.WriteStatic(ctx, heads, columnRows(f)); err != nil {
			return err
		}
	}
	return nil
}

// heads are the headings of a description.
var heads = []string{"column", "type", "unit", "meaning"}

func columnRows(f *sqlfiles.File) (rows [][]any) {
	for _, c := range f.Columns {
		unit := any(c.Unit)
		if c.Unit == "" {
			unit = nil
		}
		// DuckDB's short name of the type saves space.
		typ := strings.ReplaceAll(c.Type, "TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ")
		if c.NotNull {
			typ += " NOT NULL"
		}
		rows = append(rows, []any{c.Name, typ, unit, c.Meaning})
	}
	return rows
}

const textWidth = 79

// sentence capitalises s.
func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// longText returns a definition's header as text.
func longText(f *sqlfiles.File) string {
	out := f.Name + ": " + f.Answers
	for _, p := range strings.Split(f.Text, "\n\n") {
		if p != "" {
			out += "\n\n" + answer.Wrap(strings.Fields(p), textWidth)
		}
	}
	return out
}

// wrapped breaks a text into lines that can be indented.
func wrapped(text string) string { return answer.Wrap(strings.Fields(text), textWidth-2) }
