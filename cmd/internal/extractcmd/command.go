// Package extractcmd holds the commands of extract, one file per command. They connect the crawler, which
// decides what to fetch, with the sink, which stores it, and keep the archive of recordings consistent
// with the warehouse. They decide neither.
package extractcmd

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/config"
	"callhouse/internal/api"
	"callhouse/internal/layout"
	"callhouse/internal/words"
)

const program = "extract"

const about = `extract copies an organisation's calls (transcripts, costs, analyses) from the service into a
local warehouse of Parquet files, within the service's request budget. It fetches new and changed
data and commits all tables atomically. An interrupted run resumes where it stopped.

Settings come from flags, the selected profile of a file, environment variables (--base-url is
CALLHOUSE_BASE_URL, and so on) and the top of the file, in this order; extract config shows them. The API key comes from
CALLHOUSE_API_KEY or a file, never from an argument.

Exit codes: 0 done; 1 failed, nothing lost; 2 wrong use or configuration; 3 committed, but
incomplete; 4 another run holds the warehouse; 130 interrupted, committed.`

// Run runs extract with its arguments, and returns its exit code.
func Run(ctx context.Context, env config.Environment, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return Program{Now: time.Now, Env: env}.Run(ctx, args, stdin, stdout, stderr)
}

// Program is extract with its own clock for the age of calls: whether they are over, settled, or due
// to be listed again. The pace of requests follows the real clock.
type Program struct {
	Now func() time.Time
	Env config.Environment
}

// Run is like the function Run, but uses the program's clock.
func (p Program) Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	secrets := words.NewSecrets(p.Env.Get(config.EnvKey))
	stderr = words.NewWriter(stderr, secrets)
	root, s := newRoot(p, secrets, stderr)
	root.SetArgs(append([]string{}, args...)) // cobra would take nil for the process's arguments
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	return cli.Report(stderr, program, cli.Rehint(err, s.Again))
}

// Command returns the tree of commands, for the manual and the shells' completions.
func Command() *cobra.Command {
	root, _ := newRoot(Program{Now: time.Now}, new(words.Secrets), io.Discard)
	return root
}

func newRoot(p Program, secrets *words.Secrets, stderr io.Writer) (*cobra.Command, *settings) {
	clock := api.NewClock(p.Now)
	s := &settings{Config: config.Config{Env: p.Env}, Clock: clock, Now: clock.Now, Secrets: secrets, Stderr: stderr}
	root := &cobra.Command{
		Use: program, Short: "Copy new and changed calls into the warehouse", Long: about,
		Example: `  extract run --base-url https://api.example.com --api-key-file /etc/callhouse/key
  extract plan --since 30d
  extract status
  extract verify`,
		Version: cli.Versions(fmt.Sprint("warehouse format ", layout.FormatVersion)), SilenceUsage: true, SilenceErrors: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return cli.UnknownCommand(cmd, "command", args[0], "run: extract --help")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().NFlag() > 0 {
				return cli.Usage("run: extract run", "a command is missing")
			}
			return cmd.Help()
		},
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(cli.FlagError)
	root.PersistentFlags().SortFlags = false
	s.AddFlags(root, config.Extract)
	root.PersistentPreRunE = s.prepareCommand
	runCmd := &cobra.Command{
		Use: "run", Short: "Fetch and commit new and changed data",
		Example: `  extract run --base-url https://api.example.com --api-key-file /etc/callhouse/key
  extract run --since 30d --max-duration 6h
  extract run --profile acme --quiet --metrics-file /var/lib/node_exporter/callhouse-{profile}.prom`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), s, stderr) },
	}
	s.runFlags(runCmd)
	s.yesFlags(runCmd)
	runCmd.Flags().StringArrayVar(&s.CallIDs, "call-id", nil, "also fetch the record of this call again, whatever is stored of it; repeatable")
	config.Grouped(runCmd)
	var planFormat string
	planCmd := &cobra.Command{
		Use: "plan", Short: "Estimate the cost of a run: pages, requests, minutes",
		Example: `  extract plan --since 90d
  extract plan --format json`,
		Long: "plan estimates the pages, requests and minutes of a run from the service's number of calls, which takes one or\n" +
			"two requests, and from what is due in the warehouse.",
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return plan(cmd.Context(), s, planFormat == "json", cmd.OutOrStdout(), stderr)
		},
	}
	s.runFlags(planCmd)
	cli.Choice(planCmd, &planFormat, "format", "", "text", "json")
	configCmd := configCommand(s)
	s.runFlags(configCmd)
	root.AddCommand(initCommand(s), runCmd, followCommand(s, stderr), planCmd, recordingsCommand(s, stderr), configCmd, statusCommand(s))
	root.AddCommand(importCommand(s, stderr), compactCommand(s, stderr), rollbackCommand(s, stderr), verifyCommand(s, stderr),
		repairCommand(s, stderr), showCommand(s), forgetCommand(s, stderr))
	config.Uses(root, "warehouse", "config", "profile")
	for _, cmd := range root.Commands() {
		if cmd != runCmd && cmd != configCmd && cmd.Name() != "follow" { // these use all settings
			config.Uses(cmd, "config", "profile")
		}
	}
	return root, s
}
