package extractcmd

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/words"
)

// worst orders the exit codes of several profiles, worst first: errors that need a person come before
// those that the next run resolves.
var worst = []int{cli.ExitUsage, cli.ExitFailed, cli.ExitLocked, cli.ExitInterrupted, cli.ExitIncomplete, cli.ExitOK}

// worse returns the worse of two exit codes.
func worse(a, b int) int { return worst[min(slices.Index(worst, a), slices.Index(worst, b))] }

// runProfiles runs the selected profiles, one after another.
func runProfiles(cmd *cobra.Command, s *settings, stderr io.Writer) error {
	if len(s.Named) < 2 {
		return run(cmd.Context(), s, stderr)
	}
	var all []*settings
	places, metrics := map[string]string{}, map[string]string{}
	for _, name := range s.Named {
		p, err := s.of(cmd, name)
		if err != nil {
			return err
		}
		if other, ok := places[p.place()]; ok {
			return cli.Usage("give each profile its own warehouse", "the profiles %q and %q share a warehouse: %s", other, name, p.place())
		}
		if other, ok := metrics[p.metricsPath()]; ok && p.metricsPath() != "" {
			return cli.Usage("use {profile} in its name", "the profiles %q and %q share a metrics file: %s", other, name, p.metricsPath())
		}
		places[p.place()], metrics[p.metricsPath()] = name, name
		all = append(all, p)
	}
	return oneByOne(cmd.Context(), all, stderr, run)
}

// oneByOne calls do for several profiles. A failure of one does not stop the others, but an interrupt
// does. The error carries the worst exit code.
func oneByOne(ctx context.Context, all []*settings, stderr io.Writer, do func(context.Context, *settings, io.Writer) error) error {
	code := cli.ExitOK
	var ended []string
	for _, s := range all {
		words.Fprintf(stderr, "profile %s:\n", s.Profile)
		if one := cli.Report(stderr, program, do(ctx, s, stderr)); one != cli.ExitOK {
			ended = append(ended, fmt.Sprintf("%s (exit code %d)", s.Profile, one))
			code = worse(code, one)
		}
		if ctx.Err() != nil {
			break
		}
	}
	if len(ended) == 0 {
		return nil
	}
	return cli.Fail(code, fmt.Errorf("%d of %d profiles failed or are incomplete: %s", len(ended), len(all), strings.Join(ended, ", ")), "")
}
