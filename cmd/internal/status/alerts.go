package status

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/alert"
)

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
	if s == nil {
		s = new(alert.State)
	}
	var failing, broken []string // rules that could not be evaluated, and those that do not only wait for calls
	for _, name := range slices.Sorted(maps.Keys(s.Rules)) {
		if r := s.Rules[name]; r.Error != "" {
			failing = append(failing, "not judged: "+name+": "+r.Error)
			if !r.Waits {
				broken = append(broken, name+": "+r.Error)
			}
		}
	}
	why := ""
	switch {
	case err != nil:
		why = "their state is unknown: " + err.Error()
	case s.Missed != nil:
		why = "the rules were not evaluated: " + s.Missed.Why
	case h.success != nil && h.now.Sub(endOf(h.success)) > alertGrace && s.CheckedAt.Before(endOf(h.success).Add(-alertGrace)):
		why = "the rules were not evaluated after the last run"
	case len(broken) > 0:
		why = fmt.Sprintf("%s could not be evaluated, the first: %s", cli.Plural(int64(len(broken)), "rule"), broken[0])
	}
	if wanted && why != "" {
		verdict := h.Verdict
		if verdict == Fine {
			verdict = Stale // no data is missing
		}
		h.addCause(verdict, cli.Unwatched, "%s", why)
	}
	switch {
	case err != nil:
		h.alerts = []string{why}
		return
	case s.CheckedAt.IsZero():
		h.alerts = []string{"the rules were never evaluated: run query alert to see why"}
		return
	}
	h.alerts = []string{cli.Plural(s.Count(), "alert") + " running; evaluated " + h.age(s.CheckedAt) + " ago"}
	if n := int64(len(s.Outbox)); n > 0 {
		h.alerts = append(h.alerts, cli.Plural(n, "message")+" waiting, "+s.Waiting())
	}
	if n := len(s.Lost); n > 0 {
		last := s.Lost[n-1]
		h.alerts = append(h.alerts, fmt.Sprintf("%s not sent in a week, the last: %s of %s to %s, %s", cli.Plural(int64(n), "message"),
			last.Event, last.Rule, last.Channel, last.Why))
	}
	h.alerts = append(h.alerts, failing...)
}
