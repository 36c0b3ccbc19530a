package extractcmd

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/health"
	"callhouse/internal/sink"
)

// nightly is how old the last success may be if a run should succeed every night.
const nightly = 26 * time.Hour

const statusAbout = `status shows the last success, the last run and how it ended, how fresh the data is, and what is
pending. It sends no request, takes no lock, reads no call, and may be used during a run. The first
word is the problem, or "fine"; the second line is the command that helps.

Exit code 0: fine. 3: the last run did not succeed, a part of the list was never read, or there was
no success within --max-age. 1: the warehouse is damaged, as far as the last run or extract verify
found, or there is none.

With --all, or several profiles, each line begins with the profile's name, --format json prints a
list, and the exit code is the worst one.`

func statusCommand(s *settings) *cobra.Command {
	var maxAge time.Duration
	var format string
	cmd := &cobra.Command{
		Use: "status", Short: "Say whether all is well: last runs, freshness, what is pending", Long: statusAbout,
		Example: `  extract status
  extract status --max-age 2d --format json
  extract status --all`,
		Args: cli.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
			if s.allProfiles || len(s.Named) > 1 {
				return printStatuses(cmd, s, maxAge, format)
			}
			return printStatus(s, maxAge, format, cmd.OutOrStdout())
		},
	}
	cmd.Flags().SortFlags = false
	cli.SpanVar(cmd.Flags(), &maxAge, "max-age", nightly, "how old the last success may be; 0 for any age")
	cli.Choice(cmd, &format, "format", "", "text", "json")
	s.allFlag(cmd)
	return cmd
}

// health returns how the warehouse is.
func (s *settings) health(maxAge time.Duration) (*health.State, error) {
	if _, err := os.Stat(s.Warehouse); errors.Is(err, fs.ErrNotExist) {
		return nil, s.noWarehouse()
	}
	history, err := sink.ReadHistory(s.Warehouse)
	if problemOf(err) == cli.Damaged {
		h := health.Unreadable(err)
		h.Warehouse, h.Profile = s.Warehouse, s.Profile
		return h, nil
	}
	if err != nil {
		return nil, explain(err)
	}
	if history.Snapshot == nil && len(history.Runs) == 0 && !history.Held {
		return nil, s.noWarehouse()
	}
	h := health.Examine(history, s.now(), maxAge)
	h.Warehouse, h.Profile = s.Warehouse, s.Profile
	of, err := s.resources()
	if err != nil {
		return nil, err
	}
	h.Unasked = s.unasked(of)
	return h, nil
}

func printStatus(s *settings, maxAge time.Duration, format string, stdout io.Writer) error {
	h, err := s.health(maxAge)
	if err != nil {
		return err
	}
	if format == "json" {
		err = writeJSON(stdout, h)
	} else {
		err = h.Write(s.text(stdout))
	}
	if err != nil {
		return err
	}
	return h.Err()
}

// printStatuses prints the status of several profiles: lines with the profile's
// name, or one list in JSON. If a warehouse cannot be read, the error is printed.
// The exit code is the worst one.
func printStatuses(cmd *cobra.Command, s *settings, maxAge time.Duration, format string) error {
	var mu sync.Mutex // prefixed wants one; nothing else writes
	all, code := []*health.State{}, cli.ExitOK
	for _, name := range s.Named {
		p, err := s.of(cmd, name)
		if err != nil {
			return err
		}
		prefix := "[" + name + "] "
		h, err := p.health(maxAge)
		if err == nil {
			all = append(all, h)
			if format == "text" {
				if err := h.Write(p.text(&prefixed{mu: &mu, out: cmd.OutOrStdout(), prefix: prefix})); err != nil {
					return err
				}
			}
			err = h.Err()
		}
		code = worse(code, cli.Report(&prefixed{mu: &mu, out: cmd.ErrOrStderr(), prefix: prefix}, program, err))
	}
	if format == "json" {
		if err := writeJSON(cmd.OutOrStdout(), all); err != nil {
			return err
		}
	}
	if code == cli.ExitOK {
		return nil
	}
	return cli.Reported(cli.Fail(code, errors.New("not all profiles are fine"), "")) // each was told
}
