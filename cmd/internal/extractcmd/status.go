package extractcmd

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/sink"
	"callhouse/internal/words"
)

// nightly is how old a success may be where a run is to succeed every night.
const nightly = 26 * time.Hour

const statusAbout = `status tells how the warehouse and its runs are: the last success, the last run and what became of
it, how fresh the data is, what is pending. It asks the service nothing, takes no lock, reads no
call, and may be asked while a run is on. The first line is the verdict, made for monitoring.

Exit code 0: fine. 3: not whole (the last run did not end well, or a part of the list was never
read), or stale (no success within --max-age). 1: damaged, or no warehouse.

With --all, or several profiles, each line begins with the profile's name, --format json prints a list, and the exit
code is the worst one.`

func statusCommand(s *settings) *cobra.Command {
	var maxAge time.Duration
	var format string
	cmd := &cobra.Command{
		Use: "status", Short: "Say whether all is well: last runs, freshness, what is pending", Long: statusAbout,
		Example: `  extract status
  extract status --max-age 2d --format json
  extract status --all`,
		Args: noArgs, RunE: func(cmd *cobra.Command, _ []string) error {
			if err := oneOf("--format", format, "text", "json"); err != nil {
				return err
			}
			if s.allProfiles || len(s.profiles) > 1 {
				return tellStatuses(cmd, s, maxAge, format)
			}
			return tellStatus(s, maxAge, format, cmd.OutOrStdout())
		},
	}
	cmd.Flags().SortFlags = false
	cli.SpanVar(cmd.Flags(), &maxAge, "max-age", nightly, "how old the last success may be; 0 for any age")
	cmd.Flags().StringVar(&format, "format", "text", "text or json")
	addAllFlag(s, cmd)
	return cmd
}

// health returns how the warehouse is.
func (s *settings) health(maxAge time.Duration) (*health, error) {
	if _, err := os.Stat(s.warehouse); errors.Is(err, fs.ErrNotExist) {
		return nil, s.noWarehouse()
	}
	history, err := sink.ReadHistory(s.warehouse)
	if err != nil {
		return nil, explain(err)
	}
	if history.Snapshot == nil && len(history.Runs) == 0 && !history.Held {
		return nil, s.noWarehouse()
	}
	h := examine(history, s.now(), maxAge)
	h.Warehouse, h.Profile = s.warehouse, s.profile
	return h, nil
}

func tellStatus(s *settings, maxAge time.Duration, format string, stdout io.Writer) error {
	h, err := s.health(maxAge)
	if err != nil {
		return err
	}
	if format == "json" {
		err = writeJSON(stdout, h)
	} else {
		err = h.write(s.text(stdout))
	}
	if err != nil {
		return err
	}
	return h.verdict()
}

// verdict makes the command's error of a verdict that the first line has told.
func (h *health) verdict() error {
	if h.Verdict == fine {
		return nil
	}
	return cli.Told(cli.Fail(cli.ExitIncomplete, errors.New(h.headline()), ""))
}

// tellStatuses tells of several profiles: each line with its profile's name, or
// as one list in JSON. Of one that has no warehouse, or none that can be read,
// the error is told. The exit code is the worst one.
func tellStatuses(cmd *cobra.Command, s *settings, maxAge time.Duration, format string) error {
	var mu sync.Mutex // prefixed wants one; nothing else writes
	all, code := []*health{}, cli.ExitOK
	for _, name := range s.profiles {
		p, err := s.of(cmd, name)
		if err != nil {
			return err
		}
		prefix := "[" + name + "] "
		h, err := p.health(maxAge)
		if err == nil {
			all = append(all, h)
			if format == "text" {
				if err := h.write(p.text(&prefixed{mu: &mu, out: cmd.OutOrStdout(), prefix: prefix})); err != nil {
					return err
				}
			}
			err = h.verdict()
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
	return cli.Told(cli.Fail(code, errors.New("not all profiles are fine"), "")) // each was told
}

// headline is the verdict in a line.
func (h *health) headline() string {
	if h.Verdict != fine {
		return h.Verdict + ": " + strings.Join(h.Reasons, "; ")
	}
	return fmt.Sprintf("%s: last success %s ago, %s calls", fine, age(h.LastSuccess.Age), humanize.Comma(h.Snapshot.Calls))
}

// write tells a person.
func (h *health) write(w io.Writer) error {
	var b strings.Builder
	words.Fprintln(&b, h.headline())
	line := func(name, format string, args ...any) {
		words.Fprintf(&b, "  %-12s  %s\n", name, fmt.Sprintf(format, args...))
	}
	if h.Profile != "" {
		line("profile", "%s", h.Profile)
	}
	line("last success", "%s", h.LastSuccess.text())
	if h.LastRun != nil && (h.LastSuccess == nil || h.LastRun.ID != h.LastSuccess.ID) {
		line("last run", "%s", h.LastRun.text())
	}
	if r := h.Running; r != nil {
		line("running", "process %d on %s since %s (%s)", r.PID, r.Host, r.Since.Format(time.DateTime), age(r.Age))
	}
	line("newest call", "%s", h.NewestCall.text())
	line("listed", "%s", h.Listed.text())
	line("pending", "%s without their transcript, %s not settled", cli.Plural(h.Pending, "call"), humanize.Comma(h.Unsettled))
	if h.UnheldCosts > 0 {
		line("costs", "%s with a cost that total_cost cannot hold, and no report sums (query coverage)", cli.Plural(h.UnheldCosts, "call"))
	}
	if h.OlderFiles > 0 {
		line("older files", "%s: costs of more than four decimals in them are not summed yet (extract migrate)", cli.Plural(int64(h.OlderFiles), "file"))
	}
	if r := h.LastRun; r != nil {
		line("last night", "%s; %s new, %s changed, %s set aside; drift %s", cli.Plural(r.Requests, "request"), humanize.Comma(r.New),
			humanize.Comma(r.Changed), humanize.Comma(r.SetAside), humanize.Comma(r.Drift))
	}
	for _, g := range h.Gaps {
		line("never listed", "%s to %s", g.From.Format(time.DateTime), g.To.Format(time.DateTime))
	}
	if h.Journal > 0 {
		line("journal", "%s fetched and not committed", humanize.IBytes(uint64(h.Journal)))
	}
	line("warehouse", "%s: snapshot %d of %s (%d kept), %s calls in %s, %s", h.Warehouse, h.Snapshot.Number,
		h.Snapshot.CommittedAt.Format(time.DateTime), h.Snapshot.Kept, humanize.Comma(h.Snapshot.Calls),
		cli.Plural(int64(h.Snapshot.Files), "file"), humanize.IBytes(uint64(h.Snapshot.Bytes)))
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *runState) text() string {
	if r == nil {
		return "none"
	}
	at := r.StartedAt
	if r.EndedAt != nil {
		at = *r.EndedAt
	}
	text := fmt.Sprintf("%s, %s ago: %s", at.Format(time.DateTime), age(r.Age), r.Outcome)
	if r.Error != "" {
		text += " (" + r.Error + ")"
	}
	return text
}

func (m *moment) text() string {
	if m == nil {
		return "none"
	}
	return fmt.Sprintf("%s, %s ago", m.At.Format(time.DateTime), age(m.Age))
}

// age writes a span of seconds as a person reads it: 8s, 1m 05s, 2h 03m, 3d 04h.
func age(seconds float64) string {
	d := time.Duration(seconds) * time.Second
	if d < 48*time.Hour {
		return clock(d)
	}
	return fmt.Sprintf("%dd %02dh", int(d.Hours())/24, int(d.Hours())%24)
}
