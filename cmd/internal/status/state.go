// Package status determines the state of a warehouse and the result of a run: verdict, outcome, the row
// in the table runs, the data tests. It prints them for people, for programs and for Prometheus.
package status

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/layout"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
	"callhouse/internal/sink"
	"callhouse/internal/words"
)

// State is the output of extract status.
type State struct {
	Warehouse string   `json:"warehouse"`
	Profile   string   `json:"profile,omitempty"`
	Verdict   string   `json:"verdict"` // Fine, Stale, NotWhole or Broken
	Reasons   []string `json:"reasons"` // why not Fine
	// Problem is the word for the first reason, and Help its hint; both may be empty.
	Problem cli.Problem `json:"problem"`
	Help    string      `json:"help"`

	LastRun     *runState    `json:"last_run"`            // null: none has ended yet
	LastSuccess *runState    `json:"last_success"`        // last run with outcome done
	Running     *runningNow  `json:"running"`             // the process that holds the warehouse; null: none
	Following   *followState `json:"following,omitempty"` // omitted: no process follows the service
	NewestCall  *moment      `json:"newest_call"`         // the newest start of a call
	Listed      *moment      `json:"listed"`              // end of the recorded list
	Pending     int64        `json:"calls_pending"`
	Overdue     int64        `json:"calls_overdue"` // pending calls of days over for overdueAfter
	Unsettled   int64        `json:"calls_unsettled"`
	Unreadable  int64        `json:"calls_unreadable"`       // their records are too large, or no valid JSON
	UnheldCosts int64        `json:"costs_unheld"`           // costs too large or precise for the column total_cost
	Misread     int64        `json:"calls_of_other_country"` // whose numbers await a rewrite after a change of the country
	Bulk        *bulkState   `json:"bulk,omitempty"`         // pages of v2; omitted: never requested
	Recordings  *archive     `json:"recordings,omitempty"`   // omitted: they were never archived
	Alerts      *alerts      `json:"alerts,omitempty"`       // of query alert; omitted: there are no rules
	Resources   []listState  `json:"resources"`              // only resources that were listed
	Resting     []restState  `json:"resting,omitempty"`      // operations that runs skip until a later time
	Gaps        []gapText    `json:"coverage_gaps"`
	Journal     int64        `json:"journal_bytes"`
	Snapshot    snapshotSize `json:"snapshot"`

	// Unasked names a resource that runs do not fetch, with a hint; may be empty.
	Unasked string `json:"resources_not_asked_for,omitempty"`
}

// moment is a time and its age.
type moment struct {
	At  time.Time `json:"at"`
	Age float64   `json:"age_seconds"`
}

// bulkState reports how reliable pages of v2 are, and how many transcripts came from them.
type bulkState struct {
	State       schema.BulkState `json:"state"`
	Since       *moment          `json:"since"`
	Why         string           `json:"why,omitempty"`
	Transcripts int64            `json:"transcripts"`
	Compared    int64            `json:"compared"`
	Differing   int64            `json:"differing"` // transcripts that differed and were replaced
}

func (b *bulkState) text() string {
	came := fmt.Sprintf("%s came from v2 pages; %s compared with v3, %s different", cli.Plural(b.Transcripts, "transcript"),
		humanize.Comma(b.Compared), humanize.Comma(b.Differing))
	switch b.State {
	case schema.BulkRefuted:
		return "v2 pages were wrong " + age(b.Since.Age) + " ago and are no longer requested: " + b.Why + "; " + came
	case schema.BulkAbsent:
		return "the service did not offer v2 pages " + age(b.Since.Age) + " ago: " + b.Why + "; " + came
	}
	return came
}

type runState struct {
	ID          string           `json:"run_id"`
	StartedAt   time.Time        `json:"started_at"`
	EndedAt     *time.Time       `json:"ended_at"` // null: killed, or could not write it
	Age         float64          `json:"age_seconds"`
	Outcome     string           `json:"outcome"`
	Error       string           `json:"error,omitempty"`
	Problem     string           `json:"problem,omitempty"`
	Requests    int64            `json:"requests"`
	New         int64            `json:"calls_new"`
	Changed     int64            `json:"calls_changed"`
	SetAside    int64            `json:"calls_set_aside"`
	Transcripts int64            `json:"transcripts"`
	Drift       int64            `json:"drift"`
	DriftFields map[string]int64 `json:"drift_fields"`
	Redacted    map[string]int64 `json:"redacted,omitempty"` // by kind
}

type runningNow struct {
	PID   int       `json:"pid"`
	Host  string    `json:"host"`
	RunID string    `json:"run_id"`
	Since time.Time `json:"since"`
	Age   float64   `json:"age_seconds"`
}

// followState is the state of a process that follows the service.
type followState struct {
	Polled    *moment   `json:"polled"` // last successful poll; null: none yet
	Requests  int64     `json:"requests"`
	NextSweep time.Time `json:"next_sweep"`
	Failing   *moment   `json:"failing"` // start of the current failure of the service; null: it does not fail
	Error     string    `json:"error,omitempty"`
}

func (f *followState) text() string {
	text := "the list has not been polled yet"
	if f.Polled != nil {
		text = "polled " + age(f.Polled.Age) + " ago"
	}
	if f.Failing != nil {
		text += "; failing for " + age(f.Failing.Age) + ", last: " + f.Error
	}
	return text + "; next sweep " + f.NextSweep.Format(time.DateTime)
}

type gapText struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

type snapshotSize struct {
	Number      int64     `json:"number"`
	CommittedAt time.Time `json:"committed_at"`
	Kept        int       `json:"kept"` // snapshots on disk
	Files       int       `json:"files"`
	Bytes       int64     `json:"bytes"`
	Calls       int64     `json:"calls"`
	Turns       int64     `json:"transcript_turns"`
	Items       int64     `json:"analysis_items"`
	Runs        int64     `json:"runs"`
}

// listState is the state of a resource.
type listState struct {
	Name    string  `json:"name"`
	Objects int64   `json:"objects"`
	Listed  *moment `json:"listed"` // when its list was last complete
}

// restState is an operation that runs gave up and skip until a time.
type restState struct {
	Of    string    `json:"of"`
	Until time.Time `json:"until"`
	Why   string    `json:"why"`
}

// Verdicts of a readable warehouse.
const (
	Fine     = "fine"
	Stale    = "stale"
	NotWhole = "not whole"
	Broken   = "damaged"
)

// Unreadable is the state of a warehouse too damaged to open.
func Unreadable(err error) *State {
	return &State{Verdict: Broken, Reasons: []string{err.Error()}, Problem: cli.Damaged, Help: cli.Damaged.Help(),
		Gaps: []gapText{}, Resources: []listState{}}
}

// Examine judges a warehouse. maxAge is the maximum age of its last success; 0 allows any age.
func Examine(h *sink.History, now time.Time, maxAge time.Duration) *State {
	out := &State{Verdict: Fine, Reasons: []string{}, Gaps: []gapText{}, Resources: []listState{}, Journal: h.Journal}
	last, success, _ := lastRuns(h, nil)
	out.LastRun, out.LastSuccess = stateOf(last, now), stateOf(success, now)
	if h.Held {
		out.Running = &runningNow{h.Holder.PID, h.Holder.Host, h.Holder.RunID, h.Holder.Since, since(h.Holder.Since, now)}
	}
	if f := h.Holder.Follow; h.Held && f != nil {
		out.Following = &followState{Requests: f.Requests, NextSweep: time.UnixMilli(f.Sweep).UTC(), Error: f.Error}
		if f.Failing > 0 {
			out.Following.Failing = momentOf(f.Failing, now)
		}
		if f.Polled > 0 {
			out.Following.Polled = momentOf(f.Polled, now)
		}
	}
	if h.Snapshot != nil {
		out.measure(h, now)
	}
	if v := h.Verdict; v.Concerns(h.Snapshot) {
		out.complain(Broken, cli.Damaged, "extract verify found %s %s ago, the first: %s", cli.Plural(v.Problems, "problem"),
			age(since(v.At, now)), v.First)
	}
	if a := out.Recordings; a != nil && a.Verified != nil && a.Verified.Problems > 0 {
		out.complain(Broken, cli.Damaged, "extract verify found %s missing or changed %s ago", cli.Plural(a.Verified.Problems, "recording"),
			age(a.Verified.Age))
	}
	if h.Undeleted > 0 {
		out.complain(NotWhole, cli.Incomplete, "%s of forgotten calls still to be deleted from the archive", cli.Plural(h.Undeleted, "recording"))
	}
	if last != nil && last.Outcome != schema.OutcomeDone {
		verdict, problem := NotWhole, problemOf(last)
		if problem == cli.Damaged {
			verdict = Broken
		}
		out.complain(verdict, problem, "the last run %s", endOfRun(last))
	}
	if n := len(out.Gaps); n > 0 {
		out.complain(NotWhole, cli.Unlisted, "%s of the list never read", cli.Plural(int64(n), "span"))
	}
	switch {
	case success != nil && endOf(success) > now.Add(clockSlack).UnixMilli():
		out.complain(Stale, cli.WrongClock, "the last success is dated %s, in the future: a clock was wrong", cli.Instant(endOf(success)))
	case success == nil && out.Running != nil && last == nil:
		out.complain(Stale, cli.Overdue, "the first run has not ended yet")
		if out.Problem == cli.Overdue { // nothing worse
			out.Help = "wait until it ends; what it commits can be read meanwhile"
		}
	case success == nil:
		out.complain(Stale, cli.Overdue, "no run has succeeded yet")
	case maxAge > 0 && out.LastSuccess.Age > maxAge.Seconds():
		out.complain(Stale, cli.Overdue, "the last success was %s ago", age(out.LastSuccess.Age))
	}
	return out
}

// complain adds a reason why the warehouse is not fine. The first gives the problem.
func (h *State) complain(verdict string, problem cli.Problem, format string, args ...any) {
	h.Reasons = append(h.Reasons, fmt.Sprintf(format, args...))
	if h.Verdict != Broken {
		h.Verdict = verdict
	}
	if h.Problem == cli.NoProblem {
		h.Problem, h.Help = problem, problem.Help()
	}
}

// outcome is a way in which a run can end.
type outcome struct {
	word    string // in the table runs
	code    int    // exit code
	problem cli.Problem
	text    string // the run …
}

var outcomes = []outcome{
	{schema.OutcomeFailed, cli.ExitFailed, cli.Failed, "failed"}, // also anything else
	{schema.OutcomeDone, cli.ExitOK, cli.NoProblem, ""},
	{schema.OutcomeIncomplete, cli.ExitIncomplete, cli.Incomplete, "did not fetch everything"},
	{schema.OutcomeInterrupted, cli.ExitInterrupted, cli.Interrupted, "was interrupted"},
	{schema.OutcomeKilled, 137, cli.Killed, "was killed"}, // 128 + SIGKILL, as in a shell
}

func outcomeOf(word string) outcome {
	return outcomes[max(0, slices.IndexFunc(outcomes, func(o outcome) bool { return o.word == word }))]
}

// endOfRun describes how and why a run ended.
func endOfRun(run *schema.Run) string {
	text, why := outcomeOf(run.Outcome).text, run.Error
	if first, rest, _ := strings.Cut(why, "; "); first == run.Outcome { // e.g. killed; its commits are kept
		why = rest
	}
	if why != "" {
		text += ": " + why
	}
	return text
}

// problemOf returns the problem of a failed run; the row of a killed run may name none.
func problemOf(run *schema.Run) cli.Problem {
	if p := cli.Problem(run.Problem); p.Help() != "" {
		return p
	}
	return outcomeOf(run.Outcome).problem
}

// measure adds the figures of the snapshot.
func (h *State) measure(was *sink.History, now time.Time) {
	m := was.Snapshot.Manifest
	overdueBefore := layout.Day(now.Add(-overdueAfter).UnixMilli())
	h.Snapshot = snapshotSize{Number: m.Snapshot, CommittedAt: m.CommittedAt, Kept: was.Kept, Files: len(m.Files),
		Calls: m.Rows(schema.Calls.Name), Turns: m.Rows(schema.Turns.Name), Items: m.Rows(schema.Items.Name), Runs: m.Rows(schema.Runs.Name)}
	for i := range m.Files {
		f := &m.Files[i]
		h.Snapshot.Bytes += f.Bytes
		h.Pending += f.Due
		if f.Due > 0 && f.Period < overdueBefore {
			h.Overdue += f.Due
		}
		h.Unsettled += f.Unsettled
		h.Unreadable += f.Unreadable
		h.UnheldCosts += f.UnheldCosts
	}
	if b := m.Bulk; b != nil {
		h.Bulk = &bulkState{State: b.State, Since: momentOf(b.At, now), Why: b.Why}
		for i := range was.Runs {
			r := &was.Runs[i]
			h.Bulk.Transcripts += r.Bulk.Transcripts
			h.Bulk.Compared += r.Bulk.Compared
			h.Bulk.Differing += r.Bulk.Differing
		}
	}
	h.Recordings = archiveOf(was, now)
	h.Misread = m.ReadElsewhere()
	if m.Watermark > 0 {
		h.NewestCall = momentOf(m.Watermark, now)
	}
	if listed := m.ListedTo(); !listed.IsZero() {
		h.Listed = momentOf(listed.UnixMilli(), now)
	}
	for _, of := range resource.All {
		if at := m.Lists[of.Name].ListedAt; at > 0 {
			h.Resources = append(h.Resources, listState{of.Name, m.Rows(of.Name), momentOf(at, now)})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.Resting)) {
		if r := m.Resting[name]; now.UnixMilli() < r.Until {
			h.Resting = append(h.Resting, restState{name, time.UnixMilli(r.Until).UTC(), r.Why})
		}
	}
	for _, g := range m.Gaps() {
		h.Gaps = append(h.Gaps, gapText{time.UnixMilli(g.From).UTC(), time.UnixMilli(g.To).UTC()})
	}
}

// overdueAfter is the age, rounded to days, after which a call's transcript should have been
// fetched. Every night leaves some calls of its own day pending: they ended during the run, or had
// no transcript yet.
const overdueAfter = 48 * time.Hour

// clockSlack is how far in the future the end of a run may be, since clocks are inaccurate.
const clockSlack = time.Hour

// lastRuns returns the last run that ended, the last with outcome done, and the last with exit code 0 or
// 3; nil if there is none. ended is a run that has just ended, whose row may be missing. The row of a
// rollback is not a run. The last run is not always the one with the latest time, since clocks jump.
func lastRuns(h *sink.History, ended *schema.Run) (last, success, good *schema.Run) {
	latest := func(than, r *schema.Run) *schema.Run {
		if than == nil || r != nil && endOf(than) < endOf(r) {
			return r
		}
		return than
	}
	var committed, lost *schema.Run
	for i := range h.Runs {
		r := &h.Runs[i]
		if !schema.IsRun(r.Outcome) || r.Outcome == schema.OutcomeRunning {
			continue
		}
		last = latest(last, r)
		switch r.Outcome {
		case schema.OutcomeDone:
			success = latest(success, r)
		case schema.OutcomeIncomplete:
			good = latest(good, r)
		}
		if h.Snapshot != nil && r.ID == h.Snapshot.Manifest.RunID {
			committed = r
		}
		if h.IsLost(r.ID) {
			lost = r // runs are serialized by the lock, so the later row is the later run
		}
	}
	if last = cmp.Or(ended, lost, committed, last); last != nil && last.Outcome == schema.OutcomeDone {
		success = last
	} else if last != nil && last.Outcome == schema.OutcomeIncomplete {
		good = latest(good, last)
	}
	return last, success, latest(success, good)
}

// endOf returns the end of a run, or its start if the end is unknown.
func endOf(r *schema.Run) int64 {
	if r.EndedAt.OK {
		return r.EndedAt.V
	}
	return r.StartedAt
}

func stateOf(r *schema.Run, now time.Time) *runState {
	if r == nil {
		return nil
	}
	out := &runState{ID: r.ID, StartedAt: time.UnixMilli(r.StartedAt).UTC(), Outcome: r.Outcome, Error: r.Error,
		Problem: r.Problem, Requests: r.Requests,
		New: r.CallsNew, Changed: r.CallsChanged, SetAside: r.CallsSetAside, Transcripts: r.Transcripts, Drift: r.Drift,
		DriftFields: driftOf(r), Age: momentOf(endOf(r), now).Age}
	_ = json.Unmarshal(r.Redacted, &out.Redacted) // null: none
	if r.EndedAt.OK {
		out.EndedAt = new(time.UnixMilli(r.EndedAt.V).UTC())
	}
	return out
}

// driftOf returns a run's drift by field and kind: "status: unknown_value".
func driftOf(r *schema.Run) map[string]int64 {
	fields := map[string]int64{}
	_ = json.Unmarshal(r.DriftFields, &fields) // null: none
	return fields
}

func momentOf(ms int64, now time.Time) *moment {
	at := time.UnixMilli(ms).UTC()
	return &moment{at, since(at, now)}
}

// since returns the age of a time in seconds; 0 for a time in the future, after a clock was set
// back.
func since(at, now time.Time) float64 { return max(0, now.Sub(at).Round(time.Second).Seconds()) }

// Err returns the command's error for a verdict, which is already printed.
func (h *State) Err() error {
	if h.Verdict == Fine {
		return nil
	}
	code := cli.ExitIncomplete
	if h.Verdict == Broken {
		code = cli.ExitFailed
	}
	return cli.Reported(cli.Fail(code, errors.New(h.Headline()), ""))
}

// Headline returns the verdict in one line.
func (h *State) Headline() string {
	if h.Verdict != Fine {
		return string(h.Problem) + ": " + strings.Join(h.Reasons, "; ")
	}
	return fmt.Sprintf("%s: last success %s ago, %s calls", Fine, age(h.LastSuccess.Age), humanize.Comma(h.Snapshot.Calls))
}

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
	if h.Snapshot.Number == 0 && h.LastRun == nil && h.Running == nil {
		line("warehouse", "%s", h.Warehouse)
		_, err := io.WriteString(w, b.String())
		return err
	}
	line("last success", "%s", h.LastSuccess.text())
	if h.LastRun != nil && (h.LastSuccess == nil || h.LastRun.ID != h.LastSuccess.ID) {
		line("last run", "%s", h.LastRun.text())
	}
	if r := h.Running; r != nil {
		line("running", "process %d on %s since %s (%s)", r.PID, r.Host, r.Since.Format(time.DateTime), age(r.Age))
	}
	if h.Following != nil {
		line("following", "%s", h.Following.text())
	}
	line("newest call", "%s", h.NewestCall.text())
	line("listed", "%s", h.Listed.text())
	if n := len(h.Resources); n > 0 {
		oldest, objects := h.Resources[0], int64(0)
		for _, r := range h.Resources {
			if objects += r.Objects; r.Listed.Age > oldest.Listed.Age {
				oldest = r
			}
		}
		line("resources", "%s of %s; oldest list: %s, %s ago", cli.Plural(objects, "object"), cli.Plural(int64(n), "kind"),
			oldest.Name, age(oldest.Listed.Age))
		if h.Unasked != "" {
			line("", "not requested: %s", h.Unasked)
		}
	}
	h.writeOpen(line)
	if r := h.LastRun; r != nil {
		line("last night", "%s; %s new, %s changed, %s set aside; drift %s", cli.Plural(r.Requests, "request"), humanize.Comma(r.New),
			humanize.Comma(r.Changed), humanize.Comma(r.SetAside), humanize.Comma(r.Drift))
		RedactedLines(line, r.Redacted, Requested)
	}
	for _, r := range h.Resting {
		line("left alone", "%s, until %s (%s); extract run --full retries it now", r.Of, r.Until.Format(time.DateTime), r.Why)
	}
	for _, g := range h.Gaps {
		line("never listed", "%s to %s", g.From.Format(time.DateTime), g.To.Format(time.DateTime))
	}
	if h.Journal > 0 {
		line("journal", "%s fetched, not committed", humanize.IBytes(uint64(h.Journal)))
	}
	line("warehouse", "%s: snapshot %d of %s (%d kept), %s calls in %s, %s", h.Warehouse, h.Snapshot.Number,
		h.Snapshot.CommittedAt.Format(time.DateTime), h.Snapshot.Kept, humanize.Comma(h.Snapshot.Calls),
		cli.Plural(int64(h.Snapshot.Files), "file"), humanize.IBytes(uint64(h.Snapshot.Bytes)))
	_, err := io.WriteString(w, b.String())
	return err
}

// writeOpen prints what is still to come, and what is left of earlier states.
func (h *State) writeOpen(line func(name, format string, args ...any)) {
	line("pending", "%s without transcript, %s not settled", cli.Plural(h.Pending, "call"), humanize.Comma(h.Unsettled))
	if h.Unreadable > 0 {
		line("unreadable", "the records of %s: too large, or no valid JSON; extract import takes them from a file, up to 64 MiB each",
			cli.Plural(h.Unreadable, "call"))
	}
	if h.Bulk != nil {
		line("bulk", "%s", h.Bulk.text())
	}
	if h.Recordings != nil {
		line("recordings", "%s", h.Recordings.text())
	}
	if h.Alerts != nil {
		for i, text := range h.Alerts.text() {
			line([]string{"alerts", ""}[min(i, 1)], "%s", text)
		}
	}
	if h.UnheldCosts > 0 {
		line("costs", "%s with a cost that does not fit total_cost and is missing from sums (query coverage)", cli.Plural(h.UnheldCosts, "call"))
	}
	if h.Misread > 0 {
		line("numbers", "those of %s are still in the form of another country: each run rewrites some, extract compact all",
			cli.Plural(h.Misread, "call"))
	}
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

// age formats seconds: 8s, 1m 05s, 2h 03m, 3d 04h.
func age(seconds float64) string {
	d := time.Duration(seconds) * time.Second
	if d < 48*time.Hour {
		return cli.Clock(d)
	}
	return fmt.Sprintf("%dd %02dh", int(d.Hours())/24, int(d.Hours())%24)
}
