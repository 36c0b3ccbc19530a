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
	Checked *moment      `json:"checked"` // when the rules were last evaluated; null: never
	Missed  bool         `json:"missed"`  // a later run committed, and the setting alerts is set
	Running int64        `json:"running"`
	Waiting int64        `json:"waiting"` // messages that could not be sent yet
	Why     string       `json:"why,omitempty"`
	Lost    []alert.Lost `json:"lost"`              // messages of the last week
	Failing []string     `json:"failing"`           // rules that could not be evaluated
	Failure string       `json:"failure,omitempty"` // why the latest attempt evaluated no rule
	Error   string       `json:"error,omitempty"`   // why the state is unknown

	broken []string // those of Failing that do not only wait for calls
}

// alertGrace is how long after a run its alerts may be evaluated, and by how much the clocks of the
// run and of the evaluation may differ.
const alertGrace = time.Hour

// AddAlerts adds the state of alerts to that of a warehouse. wanted reports whether the setting
// alerts is set: then alerts that cannot start are a problem.
func (h *State) AddAlerts(wanted bool, now time.Time) {
	a := h.alertsOf(wanted, now)
	h.Alerts = a
	if !wanted {
		return
	}
	var why string
	switch {
	case a.Error != "":
		why = "their state is unknown: " + a.Error
	case a.Failure != "":
		why = "the rules were not evaluated: " + a.Failure
	case a.Missed && h.LastSuccess != nil && h.LastSuccess.Age > alertGrace.Seconds() &&
		(a.Checked == nil || a.Checked.Age > h.LastSuccess.Age+alertGrace.Seconds()):
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
	h.complain(verdict, cli.Unwatched, "%s", why)
}

func (h *State) alertsOf(wanted bool, now time.Time) *alerts {
	s, err := alert.Read(h.Warehouse)
	switch {
	case err != nil:
		return &alerts{Error: err.Error(), Lost: []alert.Lost{}, Failing: []string{}}
	case s == nil && !wanted:
		return nil
	case s == nil:
		return &alerts{Missed: true, Lost: []alert.Lost{}, Failing: []string{}}
	}
	a := &alerts{Running: s.Count(), Waiting: int64(len(s.Outbox)), Why: s.Waiting(), Lost: append([]alert.Lost{}, s.Lost...),
		Failing: []string{}}
	if !s.CheckedAt.IsZero() {
		a.Checked = momentOf(s.CheckedAt.UnixMilli(), now)
	}
	if s.Missed != nil {
		a.Failure = s.Missed.Why
	}
	a.Missed = wanted && s.Snapshot < h.Snapshot.Number
	for name, r := range s.Rules {
		if r.Error == "" {
			continue
		}
		a.Failing = append(a.Failing, name+": "+r.Error)
		if !r.Waits {
			a.broken = append(a.broken, name+": "+r.Error)
		}
	}
	slices.Sort(a.Failing)
	slices.Sort(a.broken)
	return a
}

// text returns the state in lines.
func (a *alerts) text() (lines []string) {
	switch {
	case a.Error != "":
		return []string{"unknown: " + a.Error}
	case a.Checked == nil && a.Failure != "":
		return []string{"the rules were never evaluated: " + a.Failure}
	case a.Checked == nil:
		return []string{"the rules were never evaluated: run query alert to see why"}
	}
	first := cli.Plural(a.Running, "alert") + " running; evaluated " + age(a.Checked.Age) + " ago"
	if a.Failure != "" {
		first += ", not since: " + a.Failure
	} else if a.Missed {
		first += ", before the last commit: run query alert to see why"
	}
	lines = append(lines, first)
	if a.Waiting > 0 {
		lines = append(lines, cli.Plural(a.Waiting, "message")+" waiting, "+a.Why)
	}
	if n := len(a.Lost); n > 0 {
		last := a.Lost[n-1]
		lines = append(lines, fmt.Sprintf("%s not sent in a week, the last: %s of %s to %s, %s", cli.Plural(int64(n), "message"), last.Event,
			last.Rule, last.Channel, last.Why))
	}
	for _, what := range a.Failing {
		lines = append(lines, "not judged: "+what)
	}
	return lines
}
