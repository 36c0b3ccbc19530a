package querycmd

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/analytics"
)

func (a *app) initCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "init",
		Short: "Print a script with which the stock duckdb shell opens the warehouse",
		Long: `Print a script of SQL that makes, in DuckDB's own shell or in any program with
DuckDB in it, the tables of query list as views over the current snapshot. The
snapshot is resolved once, now: all that the script makes is of one commit. It
stays for 24 hours after the next commit, so make the script anew when it is used.`,
		Example: `  query init --tz Asia/Seoul --output calls.sql && duckdb -init calls.sql`,
		GroupID: "more",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if a.format != "" {
				return cli.Usage("", "init prints SQL, it takes no --format")
			}
			snap, loc, err := a.opened(cmd.Context())
			if err != nil {
				return err
			}
			head := fmt.Sprintf("-- Snapshot %d of a warehouse of calls, committed %s.\n-- Made by: query init\n\nSET TimeZone = '%s';\n\n",
				snap.Manifest.Snapshot, snap.Manifest.CommittedAt.UTC().Format(time.RFC3339), strings.ReplaceAll(loc.String(), "'", "''"))
			script := head + analytics.CatalogScript(snap, loc)
			print := func(w io.Writer) error {
				_, err := io.WriteString(w, script)
				return err
			}
			if a.output != "" {
				return writeFileMode(a.output, 0o644, print) // it holds no data
			}
			return print(a.stdout)
		},
	}
}
