package extractcmd

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/config"
	"callhouse/cmd/internal/progress"
	"callhouse/internal/layout"
	"callhouse/internal/words"
)

const program = "extract"

const about = `extract copies an organisation's calls (transcripts, costs, analyses) from the service into a
local warehouse of Parquet files, within the service's request budget. It takes what is new or
changed, and commits all tables at once or not at all. Started again, it goes on where it stopped.

Settings come from flags, the environment and a file, in this order: extract config shows them.
The API key comes from CALLHOUSE_API_KEY, a file or systemd, never from an argument.

Exit codes: 0 done; 1 failed, nothing lost; 2 wrong use; 3 committed, but not all;
4 another run holds the warehouse; 130 interrupted, committed.`

// Run runs extract with its arguments, and returns its exit code.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	noCore()
	return Program{Now: time.Now}.Run(ctx, args, stdin, stdout, stderr)
}

// Program is extract by a clock that tells what the time is for calls: whether
// they are over, settled, or to be listed again. How fast requests may follow
// each other goes by the real one.
type Program struct{ Now func() time.Time }

// Run is the function Run by the program's clock.
func (p Program) Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	secrets := words.NewSecrets(os.Getenv(envKey))
	stderr = words.NewWriter(stderr, secrets)
	root := newRoot(p.Now, secrets, stderr)
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if format, _ := root.PersistentFlags().GetString("log-format"); format == "json" {
		err = told(progress.Logger(stderr, format, true), err)
	}
	return cli.Report(stderr, program, err)
}

// always are the flags that every command uses.
var always = []string{"warehouse", "config", "profile"}

// usedFlags are the others of the inherited flags that a command uses. run and
// config use all of them.
var usedFlags = map[string][]string{
	"plan":     {"base-url", "api-key-file", "api-key-env", "requests-per-second", "requests-per-minute", "share", "keep", "window", "log-format", "quiet"},
	"verify":   {"base-url", "api-key-file", "api-key-env", "requests-per-second", "requests-per-minute", "share", "log-format", "quiet", "mask", "mask-key-file", "keep", "window"},
	"import":   {"mask", "mask-key-file", "group-readable", "log-format", "quiet"},
	"compact":  {"group-readable", "log-format", "quiet"},
	"migrate":  {"group-readable", "log-format", "quiet"},
	"rollback": {"group-readable", "quiet"},
	"forget":   {"group-readable", "log-format", "quiet"},
	"status":   nil,
	"show":     nil,
}

// Command returns the tree of commands, for the manual and the shells' completions.
func Command() *cobra.Command { return newRoot(time.Now, new(words.Secrets), io.Discard) }

func newRoot(now func() time.Time, secrets *words.Secrets, stderr io.Writer) *cobra.Command {
	s := &settings{now: now, secrets: secrets, stderr: stderr}
	doRun := func(cmd *cobra.Command, _ []string) error { return runProfiles(cmd, s, stderr) }
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
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().NFlag() == 0 && cli.IsTerminal(cmd.InOrStdin()) {
				return cmd.Help()
			}
			progress.Logger(stderr, s.logFormat, s.quiet).Warn("extract without a command will show its help from the next release on: write extract run")
			return doRun(cmd, args)
		},
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(cli.FlagError)
	f := root.PersistentFlags()
	f.SortFlags = false
	f.StringVar(&s.warehouse, "warehouse", "./warehouse", "folder of the warehouse ("+envWarehouse+")")
	f.StringVar(&s.baseURL, "base-url", "", "address of the service, the part before /v3 ("+envBaseURL+")")
	f.StringVar(&s.keyFile, "api-key-file", "", "file that holds the API key, readable by its owner alone")
	f.StringVar(&s.keyEnv, "api-key-env", "", "name of the environment variable that holds the API key, if not CALLHOUSE_API_KEY")
	f.IntVar(&s.perSecond, "requests-per-second", 5, "requests that the service allows in a second")
	f.IntVar(&s.perMinute, "requests-per-minute", 120, "requests that the service allows in a minute")
	f.Float64Var(&s.share, "share", 1, "part of both limits that this run may use; the rest is left to others")
	f.StringVar(&s.logFormat, "log-format", "text", "text or json, for the log on standard error")
	f.BoolVarP(&s.quiet, "quiet", "q", false, "say nothing but warnings and errors")
	s.addConfigFlags(f)
	addRunFlags := func(cmd *cobra.Command) {
		f := cmd.Flags()
		f.SortFlags = false
		f.StringVar(&s.since, "since", "", "leave calls alone that started before: 2026-11-01, 2026-11-01T08:00:00Z, 30d")
		cli.SpanVar(f, &s.maxDuration, "max-duration", 0, "stop in good order after so long, as in 6h (exit code 3)")
		cli.SpanVar(f, &s.relistEvery, "relist-every", 7*24*time.Hour, "how often all calls are listed again, a part a run; 0 for never")
		f.BoolVar(&s.full, "full", false, "list all calls again, whatever was listed before")
		f.StringVar(&s.metricsFile, "metrics-file", "", "write Prometheus metrics here for node_exporter, as in callhouse.prom; {profile} stands for the profile's name")
		f.StringVar(&s.pingURL, "ping-url", "", "address to ask for when a run is done, and with /fail behind it when it is not")
		config.Bind(f, config.Extract)
	}
	addYes := func(cmd *cobra.Command) {
		cmd.Flags().BoolVar(&s.yes, "yes", false, "do what a safety check refuses: erase much at once (--keep), or believe this machine's clock where the service's contradicts it")
		cmd.Flags().BoolVar(&s.adopt, "adopt", false, "take the calls of this address and key into the warehouse, though they look like another organisation's")
	}
	addRunFlags(root)
	addYes(root)
	addAllFlag(s, root)
	root.Flags().VisitAll(func(f *pflag.Flag) { f.Hidden = true }) // they are run's
	root.PersistentPreRunE = s.prepare
	runCmd := &cobra.Command{
		Use: "run", Short: "Fetch what is new or changed, and commit it",
		Example: `  extract run --base-url https://api.example.com --api-key-file /etc/callhouse/key
  extract run --since 30d --max-duration 6h
  extract run --all --quiet --metrics-file /var/lib/node_exporter/callhouse-{profile}.prom`,
		Args: cobra.NoArgs, RunE: doRun,
	}
	addRunFlags(runCmd)
	addYes(runCmd)
	addAllFlag(s, runCmd)
	var planFormat string
	var planJSON bool
	planCmd := &cobra.Command{
		Use: "plan", Short: "Say what run would cost: pages, details, requests, minutes",
		Example: `  extract plan --since 90d
  extract plan --max-duration 6h --format json`,
		Long: "plan says what run would cost at the most, and what --max-duration would leave over. It asks the service for\n" +
			"the sizes of the parts of its list that a run would go over: a request each, usually one or two.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := oneOf("--format", planFormat, "text", "json"); err != nil {
				return err
			}
			return plan(cmd.Context(), s, planJSON || planFormat == "json", cmd.OutOrStdout(), stderr)
		},
	}
	addRunFlags(planCmd)
	planCmd.Flags().StringVar(&planFormat, "format", "text", "text or json")
	planCmd.Flags().BoolVar(&planJSON, "json", false, "print JSON")
	_ = planCmd.Flags().MarkHidden("json") // --format json is how all commands say it
	configCmd := configCommand(s)
	addRunFlags(configCmd)
	root.AddCommand(runCmd, planCmd, configCmd)
	root.AddCommand(maintenance(s, stderr)...)
	cli.Complete(root, "log-format", "text", "json")
	cli.CompleteFrom(root, "profile", func() []string { return config.ProfileNames(s.configFile) })
	for _, cmd := range root.Commands() {
		if cmd.Flags().Lookup("format") != nil {
			cli.Complete(cmd, "format", "text", "json")
		}
	}
	cli.Uses(root, always...)
	for _, cmd := range root.Commands() {
		if uses, ok := usedFlags[cmd.Name()]; ok {
			cli.Uses(cmd, append(uses, always...)...)
		}
	}
	for _, name := range []string{"metrics-file", "ping-url"} { // the settings of plan are those of run
		planCmd.Flags().Lookup(name).Hidden = true
	}
	return root
}
