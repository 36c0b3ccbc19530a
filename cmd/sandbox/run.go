package main

import (
	"context"
	"fmt"
	"io"
	"time"
	_ "time/tzdata" // for machines without time zones

	"github.com/spf13/cobra"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/sandbox"
	"callhouse/internal/sandbox/world"
)

// run executes one command line and returns its exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newServe()
	root.AddCommand(newGenerate())
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.SilenceErrors, root.SilenceUsage = true, true
	root.Version = cli.Version()
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return cli.Usage("see "+c.CommandPath()+" --help", "%w", cli.FlagValue(err))
	})
	return cli.Report(stderr, "sandbox", root.ExecuteContext(ctx))
}

// noArguments rejects positional arguments as a usage error.
func noArguments(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return cli.Usage("see "+c.CommandPath()+" --help", "unknown command %q of %s", args[0], c.CommandPath())
	}
	return nil
}

// worldFlags are the flags that choose the calls.
type worldFlags struct {
	config sandbox.Config
	faults string
}

func (w *worldFlags) add(c *cobra.Command) {
	f, cfg := c.Flags(), &w.config
	f.Int64Var(&cfg.Calls, "calls", 5000, "number of calls so far")
	f.IntVar(&cfg.Days, "days", 30, "days over which the calls are spread, approximately; new calls arrive at the same rate")
	f.Uint64Var(&cfg.Seed, "seed", 1, "seed of the company: the same seed gives the same data")
	f.IntVar(&cfg.Agents, "agents", 30, "number of voice agents; 0: none, and only calls created by clients")
	f.IntVar(&cfg.Campaigns, "campaigns", 3, "number of campaigns so far; their calls are among --calls")
	f.BoolVar(&cfg.Personal, "personal", false, "plant personal data, and what looks like it, into conversations")
	f.BoolVar(&cfg.Steady, "steady", false, "calls arrive at the same rate at all hours and on all days")
	f.Float64Var(&cfg.DeleteRate, "delete-rate", 0, "share of calls that are deleted within 10 days")
	f.StringVar(&w.faults, "call-faults", "",
		"shares of calls that are late, replaced or in another form, as KIND=RATE,…; an unknown KIND lists all kinds")
	f.Float64Var(&cfg.DriftRate, "drift-rate", 0, "share of calls with future changes of the API: unknown values, fields, types")
}

// world returns the configuration of a world whose calls have started by origin.
func (w *worldFlags) world(origin time.Time) (sandbox.Config, error) {
	cfg := w.config
	var err error
	cfg.Faults, err = world.ParseFaults(w.faults)
	cfg.Origin = origin
	if cfg.Agents == 0 {
		cfg.Agents = -1
	}
	if cfg.Campaigns == 0 {
		cfg.Campaigns = -1
	}
	return cfg, err
}

// instant is a flag for a time in RFC 3339.
type instant struct{ time.Time }

func (i *instant) String() string {
	if i.IsZero() {
		return ""
	}
	return i.Format(time.RFC3339)
}

func (i *instant) Type() string { return "time" }

func (i *instant) Set(s string) error {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return fmt.Errorf("use a time such as 2026-11-19T12:00:00Z")
	}
	i.Time = t
	return nil
}

// defaultNow is the default of a frozen clock: a Thursday evening in the company's zone, a busy
// time.
var defaultNow = time.Date(2026, 11, 19, 9, 30, 0, 0, time.UTC)
