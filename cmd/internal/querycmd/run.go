// Package querycmd implements the commands of query. They parse flags, call internal/analytics, and
// write the answer. Data goes to stdout or --output, everything else to stderr. The package
// contains no SQL and changes nothing in a warehouse except the pins of catalogs.
package querycmd

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	_ "time/tzdata" // for machines without time zone data

	"github.com/spf13/cobra"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/config"
	"callhouse/cmd/internal/querycmd/answer"
	"callhouse/cmd/internal/querycmd/mcp"
	"callhouse/cmd/internal/querycmd/safe"
	"callhouse/internal/analytics/database"
	"callhouse/internal/isolate"
	"callhouse/internal/words"
	sqlfiles "callhouse/sql"
)

// Name is the command's name in its output.
const Name = "query"

// Run runs the command with args, without the program's name, and returns its exit code. Cancelling
// ctx stops the query.
func Run(ctx context.Context, env config.Environment, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	// Otherwise a closed pipe would end the process at once and leave its temporary files.
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	defer signal.Stop(pipe)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	grace := 3 * time.Second
	if slices.Contains(args, "serve") || slices.Contains(args, "publish") { // requests and commits are finished
		grace = 30 * time.Second
	}
	free := cli.Signals(cancel, grace)
	defer free()
	stderr = words.NewWriter(stderr, nil)
	a := &app{Command: answer.Command{Config: config.Config{Env: env}, Stdin: stdin, Stdout: stdout, Stderr: stderr}, freeSignals: free}
	root := a.root()
	root.SetArgs(append([]string{}, args...)) // cobra treats nil as the process's arguments
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	switch {
	case errors.Is(err, syscall.EPIPE), errors.Is(err, io.ErrClosedPipe):
		return cli.ExitOK // the reader has closed the pipe, as head does
	case err != nil && ctx.Err() != nil:
		return cli.Report(stderr, Name, cli.Fail(cli.ExitInterrupted, errors.New("interrupted"), ""))
	}
	return cli.Report(stderr, Name, cli.Rehint(a.Explain(err), a.Again))
}

// app is one run of the program with its flags.
type app struct {
	answer.Command
	answer.Question        // of reports
	freeSignals     func() // lets the shell handle signals
}

// Command returns the tree of commands, for the manual and completions.
func Command() *cobra.Command { return over(answer.Command{Stdout: io.Discard, Stderr: io.Discard}) }

// over returns the tree of commands with given settings.
func over(c answer.Command) *cobra.Command { return (&app{Command: c}).root() }

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:           Name,
		Short:         "Answer questions about a warehouse of calls",
		Version:       cli.Versions("DuckDB " + database.EngineVersion()),
		SilenceErrors: true, SilenceUsage: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return cli.UnknownCommand(cmd, "report or command", args[0], "run: query list")
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		if cmd != root {
			help(cmd, args)
			return
		}
		cmd.Print(rootHelp)
	})
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(cli.FlagError)
	root.AddGroup(&cobra.Group{ID: "reports"})
	a.commonFlags(root)
	for _, f := range sqlfiles.Reports() {
		root.AddCommand(a.reportCommand(f))
	}
	root.AddCommand(a.pageCommand(), a.sqlCommand(), a.checkCommand(), a.shellCommand(), a.listCommand(), a.describeCommand())
	root.AddCommand(a.catalogCommand(), a.exportCommand(), a.publishCommand(), a.alertCommand(),
		a.serveCommand(), mcp.Command(&a.Command), a.isolatedCommand())
	root.AddCommand(flagsTopic(root))
	for _, cmd := range root.Commands() {
		if cmd.GroupID == "reports" || cmd.Name() == "flags" || cmd.Name() == "shell" {
			continue // they use all settings
		}
		others := []string{"config", "profile"}
		switch cmd.Name() {
		case "alert":
			for _, sub := range cmd.Commands() {
				config.Uses(sub, "config", "profile", "output")
			}
		case "serve", "mcp": // they write no answer to a file
		case "export": // into a folder
			others = append(others, "decimal")
		case "sql":
			others = append(others, "output", "decimal")
		default:
			others = append(others, "output")
		}
		config.Uses(cmd, others...)
	}
	return root
}

// isolatedCommand returns the hidden command of processes that run other people's SQL.
func (a *app) isolatedCommand() *cobra.Command {
	return &cobra.Command{
		Use: isolate.Name, Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var job struct { // one of them
				Statement *safe.Job
				Sessions  *sessionJob
			}
			ctx, cancel := context.WithCancel(cmd.Context())
			defer cancel()
			err := isolate.ReadJob(a.Stdin, &job, cancel)
			switch {
			case err == nil && job.Statement != nil:
				return job.Statement.Run(ctx, a.Stdout)
			case err == nil && job.Sessions != nil:
				return job.Sessions.Run(ctx, a.Stdout)
			}
			return cli.Usage("run: query sql --safe, or query serve", "%s is an internal command of query", isolate.Name)
		},
	}
}
