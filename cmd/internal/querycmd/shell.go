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
		Short: "Ask in an interactive SQL shell",
		Long: `Ask in an interactive shell: SQL, which ends with a semicolon and may have
several lines, and reports by their names, as in: sentiment --by week. Tab
completes tables, columns, functions, reports and their flags; Ctrl-R searches
what was typed before; Ctrl-C cancels what runs, and nothing else. What begins
with a dot is for the shell: .help lists it.

Every statement reads the snapshot that is current when it starts. What comes on
stdin, where that is no terminal, is run as a script: without prompts, up to the
first error.`,
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
	cmd.Flags().BoolVar(&noHistory, "no-history", false, "keep what is typed in no file")
	return cmd
}
