// Package status determines the state of a warehouse and the result of a run: verdict, outcome, the row
// in the table runs, the data tests. It prints them for people, for programs and for Prometheus.
package status

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/layout"
	"callhouse/internal/schema"
	"callhouse/internal/sink"
)

// State is the output of extract status: the verdict, and the facts behind it.
type State struct {
	Warehouse string   `json:"warehouse"`
	Profile   string   `json:"profile,omitempty"`
	Verdict   string   `json:"verdict"` // Fine, Stale, NotWhole or Broken
	Reasons   []string `json:"reasons"` // why not Fine
	// Problem is the word for the first reason, and Help its hint; both may be empty.
	Problem cli.Problem `json:"problem"`
	Help    string      `json:"help"`
	// Facts are the metrics, by their names and labels.
	Facts map[string]any `json:"facts"`

	now           time.Time
	history       *sink.History
	last, success *schema.Run // the last run that ended, and the last with outcome done; nil: none
	good          *schema.Run // the last with exit code 0 or 3
	alerts        []string    // lines about them; none: there are no rules
	// Counts of calls of the snapshot. overdue ones are pending and of days over for overdueAfter; records of
	// unreadable ones are too large, or no valid JSON; unheld ones have a cost that total_cost cannot hold.
	calls, pending, overdue, unsettled, unreadable, unheld, bytes int64
}

// Verdicts of a readable warehouse.
const (
	Fine     = "OK"
	Stale    = "stale"
	NotWhole = "incomplete"
	Broken   = "damaged"
)

// Unreadable is the state of a warehouse too damaged to open.
func Unreadable(err error) *State {
	return &State{Verdict: Broken, Reasons: []string{err.Error()}, Problem: cli.Damaged, Help: cli.Damaged.Help(),
		Facts: map[string]any{}, history: new(sink.History)}
}

// Examine judges a warehouse. Its times are printed in the zone of now. maxAge is the maximum age of its last success; 0 allows any age.
func Examine(h *sink.History, now time.Time, maxAge time.Duration) *State {
	out := judge(h, now, maxAge, nil)
	m := Metrics{Now: now, Running: h.Held && h.Holder.Records && h.Holder.Follow == nil}
	if m.Running {
		m.Started = h.Holder.Since
	} else if out.last != nil {
		m.Started = time.UnixMilli(out.last.StartedAt)
	}
	families, _ := m.Gather(h).Gather() // fails if a name were registered twice
	out.Facts = map[string]any{}
	for _, f := range families {
		name := strings.TrimPrefix(f.GetName(), "callhouse_")
		for _, one := range f.GetMetric() {
			var labels []string
			for _, l := range one.GetLabel() {
				labels = append(labels, l.GetValue())
			}
			if len(labels) == 0 {
				out.Facts[name] = one.GetGauge().GetValue()
				continue
			}
			by, _ := out.Facts[name].(map[string]float64)
			if by == nil {
				by = map[string]float64{}
				out.Facts[name] = by
			}
			by[strings.Join(labels, ": ")] = one.GetGauge().GetValue()
		}
	}
	return out
}

// judge examines a warehouse, without Facts. ended is a run that has just ended, whose row may be missing.
func judge(h *sink.History, now time.Time, maxAge time.Duration, ended *schema.Run) *State {
	out := &State{Verdict: Fine, Reasons: []string{}, now: now, history: h}
	out.last, out.success, out.good = lastRuns(h, ended)
	out.count()
	if v := h.Verdict; v.Concerns(h.Snapshot) {
		out.addCause(Broken, cli.Damaged, "extract verify found %s %s ago, the first: %s", cli.Plural(v.Problems, "problem"),
			out.age(v.At), v.First)
	}
	if v := h.Verdict; v != nil && v.Recordings > 0 {
		out.addCause(Broken, cli.Damaged, "extract verify found %s missing or changed %s ago", cli.Plural(v.Recordings, "recording"),
			out.age(v.At))
	}
	if h.Undeleted > 0 {
		out.addCause(NotWhole, cli.Incomplete, "%s of forgotten calls still to be deleted from the archive", cli.Plural(h.Undeleted, "recording"))
	}
	if last := out.last; last != nil && last.Outcome != schema.OutcomeDone {
		verdict, problem := NotWhole, problemOf(last)
		if problem == cli.Damaged {
			verdict = Broken
		}
		out.addCause(verdict, problem, "the last run %s", endOfRun(last))
	}
	if n := len(out.gaps()); n > 0 {
		out.addCause(NotWhole, cli.Unlisted, "%s of the list never read", cli.Plural(int64(n), "span"))
	}
	switch {
	case out.success != nil && endOf(out.success).After(now.Add(clockSlack)):
		out.addCause(Stale, cli.WrongClock, "the last success is dated %s, in the future: a clock was wrong",
			out.date(endOf(out.success).UnixMilli()))
	case out.success == nil && h.Held && out.last == nil:
		out.addCause(Stale, cli.Overdue, "the first run has not ended yet")
		if out.Problem == cli.Overdue { // nothing worse
			out.Help = "wait until it ends; what it commits can be read meanwhile"
		}
	case out.success == nil:
		out.addCause(Stale, cli.Overdue, "no run has succeeded yet")
	case maxAge > 0 && now.Sub(endOf(out.success)) > maxAge:
		out.addCause(Stale, cli.Overdue, "the last success was %s ago", out.age(endOf(out.success)))
	}
	return out
}

// addCause adds a reason why the warehouse is not fine. The first one gives the problem.
func (h *State) addCause(verdict string, problem cli.Problem, format string, args ...any) {
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

// count adds up the counts of the snapshot's files.
func (h *State) count() {
	if h.history.Snapshot == nil {
		return
	}
	m := h.history.Snapshot.Manifest
	h.calls = m.Rows(schema.Calls.Name)
	overdueBefore := layout.Day(h.now.Add(-overdueAfter).UnixMilli())
	for i := range m.Files {
		f := &m.Files[i]
		h.bytes += f.Bytes
		h.pending += f.Due
		if f.Due > 0 && f.Period < overdueBefore {
			h.overdue += f.Due
		}
		h.unsettled += f.Unsettled
		h.unreadable += f.Unreadable
		h.unheld += f.UnheldCosts
	}
}

// gaps returns the time ranges of the list that were never read.
func (h *State) gaps() []schema.Span {
	if h.history.Snapshot == nil {
		return nil
	}
	return h.history.Snapshot.Manifest.Gaps()
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
		if than == nil || r != nil && endOf(than).Before(endOf(r)) {
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
func endOf(r *schema.Run) time.Time {
	if r.EndedAt.OK {
		return time.UnixMilli(r.EndedAt.V).UTC()
	}
	return time.UnixMilli(r.StartedAt).UTC()
}

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
