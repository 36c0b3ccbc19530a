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
		Short: "Print a script with which the stock duckdb shell, Spark or Trino opens the warehouse",
		Long: `Print a script of SQL that makes, in DuckDB's own shell or in any program with
DuckDB in it, the tables of query list as views over the current snapshot. The
snapshot is resolved once, now: all that the script makes is of one commit. It
stays for 24 hours after the next commit, so make the script anew when it is used.

With --dialect spark or trino the script makes tables of the snapshot's folders
there, with exactly the columns of the files and month: no local days (--tz), no
outcomes.`,
		Example: `  query init --tz Asia/Seoul --output calls.sql && duckdb -init calls.sql
  query init --dialect spark --output calls.sql && spark-sql -f calls.sql
  query init --dialect trino --output calls.sql && trino --file calls.sql`,
		GroupID: "more",
		Args:    cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if a.Format != "" {
				return cli.Usage("", "init prints SQL, it takes no --format")
			}
			snap, loc, err := a.opened(cmd.Context())
			if err != nil {
				return err
			}
			if dialect != "duckdb" {
				script, ok := engine.Script(snap, dialect)
				if !ok {
					return cli.Usage("dialects: "+strings.Join(dialects, ", "), "there is no dialect %q", dialect)
				}
				if n := snap.Manifest.OlderFiles(); n > 0 {
					return cli.Fail(cli.ExitFailed, fmt.Errorf("%d files are of an older format, whose times and costs %s would read wrongly",
						n, dialect), "run: extract migrate")
				}
				return a.printScript(script)
			}
			zone := fmt.Sprintf("\nSET TimeZone = '%s';\n\n", strings.ReplaceAll(loc.String(), "'", "''"))
			return a.printScript(engine.Head(snap, "query init") + zone + catalog.Script(snap, loc))
		},
	}
	cmd.Flags().StringVar(&dialect, "dialect", dialect, "`ENGINE` whose SQL it is: "+strings.Join(dialects, ", "))
	cli.Complete(cmd, "dialect", dialects...)
	return cmd
}

func (a *app) printScript(script string) error {
	print := func(w io.Writer) error {
		if cli.CanDraw(w) { // elsewhere the script stays exact
			script = words.Lines(script)
		}
		_, err := io.WriteString(w, script)
		return err
	}
	if a.Output != "" {
		return answer.WriteFileMode(a.Output, 0o644, print) // no data in it
	}
	return print(a.Stdout)
}
