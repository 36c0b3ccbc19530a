package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/config"
	"callhouse/cmd/internal/extractcmd"
	"callhouse/cmd/internal/querycmd"
	"callhouse/internal/sandbox"
	"callhouse/internal/scratch"
)

const program = "demo"

// The service's limits, and the demo's speed-up of the sandbox.
const (
	perSecond = 5
	perMinute = 120
	faster    = 100
)

const about = `demo starts the sandbox, a stand-in for the service, on a free port with its request limits raised
100-fold, copies its calls with extract, and prints three reports with query. It keeps the warehouse;
a second run copies only new calls.`

type options struct {
	warehouse string
	calls     int64
	days      int
	seed      uint64
}

// run runs the demo and returns its exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	o := options{}
	cmd := &cobra.Command{
		Use: program, Short: "Sandbox, extract and three reports in one command", Long: about,
		Version: cli.Version(), Args: cobra.NoArgs, SilenceUsage: true, SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error { return demo(cmd.Context(), &o, stdin, stdout, stderr) },
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return cli.Usage("demo --help lists the flags", "%w", cli.FlagValue(err))
	})
	f := cmd.Flags()
	f.StringVar(&o.warehouse, "warehouse", "./demo-warehouse", "folder of the warehouse")
	f.Int64Var(&o.calls, "calls", 2000, "number of calls in the sandbox")
	f.IntVar(&o.days, "days", 30, "days over which the calls are spread")
	f.Uint64Var(&o.seed, "seed", 1, "seed of the invented company")
	cmd.SetArgs(args)
	cmd.SetIn(stdin)
	cmd.SetOut(stdout)
	cmd.SetErr(stderr)
	return cli.Report(stderr, program, cmd.ExecuteContext(ctx))
}

// demo runs the three commands in one process.
func demo(ctx context.Context, o *options, stdin io.Reader, stdout, stderr io.Writer) (err error) {
	dir, err := scratch.Make(scratch.Demo)
	if err != nil {
		return fmt.Errorf("create a folder for the key: %w", err)
	}
	defer func() { err = cmp.Or(err, dir.Remove()) }()
	key, keyFile := rand.Text(), filepath.Join(dir.Path, "key")
	if err := os.WriteFile(keyFile, []byte(key+"\n"), 0o600); err != nil {
		return fmt.Errorf("write the key: %w", err)
	}
	server, err := sandbox.New(sandbox.Options{
		World: sandbox.Config{Seed: o.seed, Calls: o.calls, Days: o.days},
		Keys:  []string{key}, PerSecond: perSecond * faster, PerMinute: perMinute * faster,
	})
	if err != nil {
		return cli.Usage("", "%w", err)
	}
	service, err := sandbox.Listen(ctx, "127.0.0.1:0", server)
	if err != nil {
		return fmt.Errorf("start the sandbox: %w", err)
	}
	defer service.Close()

	say := func(format string, args ...any) { fmt.Fprintf(stderr, format+"\n", args...) }
	say("1. Service: the sandbox at %s invents a company with %d calls in %d days.", service.URL, o.calls, o.days)
	say("   Its limits are raised %d-fold for this demo: %d requests per second, %d per minute.", faster, perSecond*faster, perMinute*faster)
	say("")
	say("2. extract copies the calls into %s", o.warehouse)
	// The demo ignores the machine's configuration.
	code := extractcmd.Run(ctx, config.Environment{}, []string{
		"run", "--warehouse", o.warehouse, "--base-url", service.URL, "--api-key-file", keyFile,
		"--organization-id", server.Organisation().ID(),
		"--requests-per-second", strconv.Itoa(perSecond * faster), "--requests-per-minute", strconv.Itoa(perMinute * faster),
	}, stdin, stdout, stderr)
	if code != cli.ExitOK {
		return cli.Fail(code, fmt.Errorf("extract failed with exit code %d", code), "")
	}
	if st := service.Server.Stats(); st.AboveLimit > 0 || st.RateLimited > 0 {
		return fmt.Errorf("extract exceeded a limit with %d requests, and %d were rejected", st.AboveLimit, st.RateLimited)
	}

	say("\n3. query prints reports")
	for _, report := range [][]string{{"sentiment"}, {"disconnections"}, {"durations", "--by", "call_type"}} {
		args := append(report, "--warehouse", o.warehouse)
		say("\n   query %s", strings.Join(report, " "))
		if code := querycmd.Run(ctx, config.Environment{}, args, stdin, stdout, stderr); code != cli.ExitOK {
			return cli.Fail(code, fmt.Errorf("query %s failed with exit code %d", report[0], code), "")
		}
	}
	say("\nTry more queries on this warehouse:")
	for _, next := range []string{
		"durations --by agent",
		"sentiment --by day --since 7d --tz Asia/Seoul",
		"disconnections --by metadata.campaign",
		`sql "SELECT role, count(*) AS turns FROM transcript_turns GROUP BY role ORDER BY turns DESC"`,
		"list",
	} {
		say("  go run ./cmd/query --warehouse %s %s", o.warehouse, next)
	}
	return nil
}
