package status

import (
	"fmt"
	"slices"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/alert"
)

// alerts is the state of query alert.
type alerts struct {
	alert.State
	err     error    // why the state is unknown
	behind  bool     // a later run committed, and the setting alerts is set
	failing []string // rules that could not be evaluated
	broken  []string // those that do not only wait for calls
}

// alertGrace is how long after a run its alerts may be evaluated, and by how much the clocks of the
// run and of the evaluation may differ.
const alertGrace = time.Hour

// AddAlerts adds the state of alerts to that of a warehouse. wanted reports whether the setting
// alerts is set: then alerts that cannot start are a problem.
func (h *State) AddAlerts(wanted bool) {
	s, err := alert.Read(h.Warehouse)
	if s == nil && err == nil && !wanted {
		return
	}
	a := &alerts{err: err, behind: wanted}
	if s != nil {
		a.State, a.behind = *s, wanted && h.history.Snapshot != nil && s.Snapshot < h.history.Snapshot.Manifest.Snapshot
		for name, r := range s.Rules {
			if r.Error != "" {
				a.failing = append(a.failing, name+": "+r.Error)
			}
			if r.Error != "" && !r.Waits {
				a.broken = append(a.broken, name+": "+r.Error)
			}
		}
		slices.Sort(a.failing)
		slices.Sort(a.broken)
	}
	h.alerts = a
	var why string
	switch {
	case !wanted:
		return
	case a.err != nil:
		why = "their state is unknown: " + a.err.Error()
	case a.Missed != nil:
		why = "the rules were not evaluated: " + a.Missed.Why
	case a.behind && h.success != nil && h.now.Sub(endOf(h.success)) > alertGrace && a.CheckedAt.Before(endOf(h.success).Add(-alertGrace)):
		why = "the rules were not evaluated after the last run"
	case len(a.broken) > 0:
		why = fmt.Sprintf("%s could not be evaluated, the first: %s", cli.Plural(int64(len(a.broken)), "rule"), a.broken[0])
	default:
		return
	}
	verdict := h.Verdict
	if verdict == Fine {
		verdict = Stale // no data is missing
	}
	h.addCause(verdict, cli.Unwatched, "%s", why)
}

// text returns the state in lines.
func (a *alerts) text(now time.Time) (lines []string) {
	switch {
	case a.err != nil:
		return []string{"unknown: " + a.err.Error()}
	case a.CheckedAt.IsZero() && a.Missed != nil:
		return []string{"the rules were never evaluated: " + a.Missed.Why}
	case a.CheckedAt.IsZero():
		return []string{"the rules were never evaluated: run query alert to see why"}
	}
	first := cli.Plural(a.Count(), "alert") + " running; evaluated " + age(now.Sub(a.CheckedAt)) + " ago"
	if a.Missed != nil {
		first += ", not since: " + a.Missed.Why
	} else if a.behind {
		first += ", before the last commit: run query alert to see why"
	}
	lines = append(lines, first)
	if n := int64(len(a.Outbox)); n > 0 {
		lines = append(lines, cli.Plural(n, "message")+" waiting, "+a.Waiting())
	}
	if n := len(a.Lost); n > 0 {
		last := a.Lost[n-1]
		lines = append(lines, fmt.Sprintf("%s not sent in a week, the last: %s of %s to %s, %s", cli.Plural(int64(n), "message"), last.Event,
			last.Rule, last.Channel, last.Why))
	}
	for _, what := range a.failing {
		lines = append(lines, "not judged: "+what)
	}
	return lines
}
