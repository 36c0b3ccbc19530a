package querycmd

import (
	"github.com/spf13/cobra"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/querycmd/safe"
	"callhouse/cmd/internal/querycmd/shell"
)

func (a *app) shellCommand() *cobra.Command {
	var noHistory bool
	var mode safe.Mode
	cmd := &cobra.Command{
		Use:   "shell",
		Short: "Start an interactive SQL shell",
		Long: `Start an interactive shell for SQL and reports. SQL ends with a semicolon and can
span several lines; a report runs by its name, e.g. sentiment --by week. Tab
completes tables, columns, functions, reports and their flags; Ctrl-R searches
the history; Ctrl-C cancels the running statement, not the shell. Commands of
the shell start with a dot: .help lists them.

Each statement reads the snapshot that is current when it starts. If stdin is
not a terminal, it is run as a script, without prompts, up to the first error.`,
		Example: `  query shell --tz Asia/Seoul
  query shell --format csv < month.sql > month.csv`,
		GroupID: "more",
		Args:    cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := mode.Read(a.Env); err != nil {
				return err
			}
			s, err := shell.New(&a.Command, mode, over)
			if err != nil {
				return err
			}
			return s.Run(cmd.Context(), noHistory, a.freeSignals)
		},
	}
	mode.Flags(cmd)
	cmd.Flags().BoolVar(&noHistory, "no-history", false, "do not save the history to a file")
	return cmd
}
