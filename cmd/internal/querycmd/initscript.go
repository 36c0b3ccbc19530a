package querycmd

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/querycmd/answer"
	"callhouse/internal/analytics/catalog"
	"callhouse/internal/analytics/engine"
	"callhouse/internal/words"
)

func (a *app) initCommand() *cobra.Command {
	dialect := "duckdb"
	dialects := append([]string{dialect}, engine.Names()...)
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Print a script that opens the warehouse in the duckdb shell, Spark or Trino",
		Long: `Print an SQL script that creates the tables of query list as views over the current
snapshot, in DuckDB's own shell or any program that embeds DuckDB. All views read
the snapshot that is current now. It is kept for 24 hours after the next commit, so
print the script again for each use.

With --dialect spark or trino, the script creates tables over the snapshot's folders
instead. They have only the columns of the files and month: no local days (--tz) and
no outcomes.`,
		Example: `  query init --tz Asia/Seoul --output calls.sql && duckdb -init calls.sql
  query init --dialect spark --output calls.sql && spark-sql -f calls.sql
  query init --dialect trino --output calls.sql && trino --file calls.sql`,
		GroupID: "more",
		Args:    cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if a.Format != "" {
				return cli.Usage("", "init prints SQL and takes no --format")
			}
			snap, loc, err := a.opened(cmd.Context())
			if err != nil {
				return err
			}
			if dialect != "duckdb" {
				script, ok := engine.Script(snap, dialect)
				if !ok {
					return cli.Usage("dialects: "+strings.Join(dialects, ", "), "unknown dialect %q", dialect)
				}
				return a.printScript(script)
			}
			zone := fmt.Sprintf("\nSET TimeZone = '%s';\n\n", strings.ReplaceAll(loc.String(), "'", "''"))
			return a.printScript(engine.Head(snap, "query init") + zone + catalog.Script(snap, loc))
		},
	}
	cmd.Flags().StringVar(&dialect, "dialect", dialect, "SQL dialect of `ENGINE`: "+strings.Join(dialects, ", "))
	cli.Complete(cmd, "dialect", dialects...)
	return cmd
}

func (a *app) printScript(script string) error {
	print := func(w io.Writer) error {
		if cli.CanDraw(w) { // other outputs get the exact script
			script = words.Lines(script)
		}
		_, err := io.WriteString(w, script)
		return err
	}
	if a.Output != "" {
		return answer.WriteFileMode(a.Output, 0o644, print) // the file contains no data
	}
	return print(a.Stdout)
}
