package health

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/words"
)

// Err makes the command's error of a verdict that the first line has told.
func (h *State) Err() error {
	if h.Verdict == Fine {
		return nil
	}
	return cli.Told(cli.Fail(cli.ExitIncomplete, errors.New(h.Headline()), ""))
}

// Headline is the verdict in a line.
func (h *State) Headline() string {
	if h.Verdict != Fine {
		return h.Verdict + ": " + strings.Join(h.Reasons, "; ")
	}
	return fmt.Sprintf("%s: last success %s ago, %s calls", Fine, age(h.LastSuccess.Age), humanize.Comma(h.Snapshot.Calls))
}

// Write tells a person.
func (h *State) Write(w io.Writer) error {
	var b strings.Builder
	words.Fprintln(&b, h.Headline())
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
		return cli.Clock(d)
	}
	return fmt.Sprintf("%dd %02dh", int(d.Hours())/24, int(d.Hours())%24)
}
