package status

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/layout"
	"callhouse/internal/schema"
	"callhouse/internal/sink/disk"
	"callhouse/internal/words"
)

// Headline returns the verdict in one line.
func (h *State) Headline() string {
	if h.Verdict != Fine {
		return string(h.Problem) + ": " + strings.Join(h.Reasons, "; ")
	}
	return fmt.Sprintf("%s: last success %s ago, %s calls", Fine, h.age(endOf(h.success)), humanize.Comma(h.calls))
}

// liner prints a line with a name.
type liner = func(name, format string, args ...any)

// Write prints the state for people.
func (h *State) Write(w io.Writer) error {
	var b strings.Builder
	words.Fprintln(&b, h.Headline())
	line := func(name, format string, args ...any) {
		words.Fprintf(&b, "  %-12s  %s\n", name, fmt.Sprintf(format, args...))
	}
	if h.Help != "" {
		line("help", "%s", h.Help)
	}
	if h.Profile != "" {
		line("profile", "%s", h.Profile)
	}
	if h.history.Snapshot != nil || h.last != nil || h.history.Held {
		h.writeRuns(line)
	}
	h.writeSnapshot(line)
	_, err := io.WriteString(w, b.String())
	return err
}

// writeRuns prints the last runs, and the present one.
func (h *State) writeRuns(line liner) {
	line("last success", "%s", h.run(h.success))
	if h.last != nil && (h.success == nil || h.last.ID != h.success.ID) {
		line("last run", "%s", h.run(h.last))
	}
	if !h.history.Held {
		return
	}
	r := h.history.Holder
	line("running", "process %d on %s since %s (%s)", r.PID, r.Host, h.date(r.Since.UnixMilli()), h.age(r.Since))
	if r.Follow != nil {
		line("following", "%s", h.following(r.Follow))
	}
}

// writeSnapshot prints how recent the data is, what is still to come, and the size of the warehouse.
func (h *State) writeSnapshot(line liner) {
	m := new(layout.Manifest)
	if s := h.history.Snapshot; s != nil {
		m = s.Manifest
		line("newest call", "%s", h.moment(m.Watermark))
		line("listed", "%s", h.moment(max(0, m.ListedTo().UnixMilli())))
		line("pending", "%s without transcript, %s not settled", cli.Plural(h.pending, "call"), humanize.Comma(h.unsettled))
	}
	if h.unreadable > 0 {
		line("unreadable", "the records of %s: too large, or no valid JSON; extract import takes them from a file, up to 64 MiB each",
			cli.Plural(h.unreadable, "call"))
	}
	if b := m.Bulk; b != nil && b.State == schema.BulkRefuted {
		line("transcripts", "the service's list of whole calls was wrong %s ago (%s) and is no longer used", h.age(time.UnixMilli(b.At)), b.Why)
	}
	if m.Archive != "" {
		line("recordings", "%s", h.recordings(m))
	}
	for i, text := range h.alerts {
		line([]string{"alerts", ""}[min(i, 1)], "%s", text)
	}
	if h.unheld > 0 {
		line("costs", "%s with a cost that does not fit total_cost and is missing from sums (query coverage)", cli.Plural(h.unheld, "call"))
	}
	if r := h.last; r != nil {
		line("last night", "%s; %s new, %s changed, %s set aside; drift %s", cli.Plural(r.Requests, "request"), humanize.Comma(r.CallsNew),
			humanize.Comma(r.CallsChanged), humanize.Comma(r.CallsSetAside), humanize.Comma(r.Drift))
		RedactedLines(line, RedactedCounts(r.Redacted), Requested)
	}
	for _, g := range m.Gaps() {
		line("never listed", "%s to %s", h.date(g.From), h.date(g.To))
	}
	if h.history.Journal > 0 {
		line("journal", "%s fetched, not committed", humanize.IBytes(uint64(h.history.Journal)))
	}
	if h.history.Snapshot == nil {
		line("warehouse", "%s", h.Warehouse)
		return
	}
	line("warehouse", "%s: snapshot %d of %s (%d kept), %s calls in %s, %s", h.Warehouse, m.Snapshot,
		h.date(m.CommittedAt.UnixMilli()), h.history.SnapshotCount, humanize.Comma(h.calls),
		cli.Plural(int64(len(m.Files)), "file"), humanize.IBytes(uint64(h.bytes)))
}

// run describes a run.
func (h *State) run(r *schema.Run) string {
	if r == nil {
		return "none"
	}
	text := h.moment(endOf(r).UnixMilli()) + ": " + r.Outcome
	if r.Error != "" {
		text += " (" + r.Error + ")"
	}
	return text
}

// following describes a process that follows the service.
func (h *State) following(f *disk.Follow) string {
	text := "the list has not been polled yet"
	if f.Polled > 0 {
		text = "polled " + h.age(time.UnixMilli(f.Polled)) + " ago"
	}
	if f.Failing > 0 {
		text += "; failing for " + h.age(time.UnixMilli(f.Failing)) + ", last: " + f.Error
	}
	return text + "; next sweep " + h.date(f.Sweep)
}

// undeleted counts recordings that must be deleted and whose file may still exist.
func (h *State) undeleted(r *layout.Recordings) int64 {
	return r.States[schema.RecordingUndeleted] + h.history.Undeleted
}

// recordings describes the archive of recordings.
func (h *State) recordings(m *layout.Manifest) string {
	r := m.Recordings()
	out := cli.Plural(r.Due, "recording") + " due"
	if r.Oldest != nil {
		out += ", the oldest of a call " + h.age(time.UnixMilli(*r.Oldest)) + " ago"
	}
	out += "; " + humanize.Comma(r.States[schema.RecordingStored]) + " stored (" + humanize.Bytes(uint64(r.Bytes)) + "), " +
		humanize.Comma(r.States[schema.RecordingGone]) + " gone, " + humanize.Comma(r.States[schema.RecordingRefused]) + " refused"
	if n := h.undeleted(&r); n > 0 {
		out += ", " + humanize.Comma(n) + " still to be deleted"
	}
	return out
}

// moment formats a time in ms since 1970 UTC with its age; 0 means none.
func (h *State) moment(ms int64) string {
	if ms == 0 {
		return "none"
	}
	return h.date(ms) + ", " + h.age(time.UnixMilli(ms)) + " ago"
}

// date formats it in the zone in which the state was examined.
func (h *State) date(ms int64) string { return cli.Moment(time.UnixMilli(ms).In(h.now.Location())) }

// age formats the age of a time.
func (h *State) age(at time.Time) string { return age(h.now.Sub(at)) }

// age formats an age: 8s, 1m 05s, 2h 03m, 3d 04h; 0s for a time in the future, after a clock was set back.
func age(d time.Duration) string {
	d = max(0, d.Round(time.Second))
	if d < 48*time.Hour {
		return cli.Clock(d)
	}
	return fmt.Sprintf("%dd %02dh", int(d.Hours())/24, int(d.Hours())%24)
}
