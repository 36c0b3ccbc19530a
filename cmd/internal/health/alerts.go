package health

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
	Lost    []alert.Lost `json:"lost"`            // messages of the last week
	Failing []string     `json:"failing"`         // rules that could not be evaluated
	Error   string       `json:"error,omitempty"` // why the state is unknown
}

// AddAlerts adds the state of alerts to that of a warehouse. wanted reports whether the setting
// alerts is set.
func (h *State) AddAlerts(wanted bool, now time.Time) {
	s, err := alert.Read(h.Warehouse)
	switch {
	case err != nil:
		h.Alerts = &alerts{Error: err.Error(), Lost: []alert.Lost{}, Failing: []string{}}
		return
	case s == nil && !wanted:
		return
	case s == nil:
		h.Alerts = &alerts{Missed: true, Lost: []alert.Lost{}, Failing: []string{}}
		return
	}
	a := &alerts{Checked: momentOf(s.CheckedAt.UnixMilli(), now), Running: s.Count(), Waiting: int64(len(s.Outbox)), Why: s.Waiting(),
		Lost: append([]alert.Lost{}, s.Lost...), Failing: []string{}}
	a.Missed = wanted && s.Snapshot < h.Snapshot.Number
	for name, r := range s.Rules {
		if r.Error != "" {
			a.Failing = append(a.Failing, name+": "+r.Error)
		}
	}
	slices.Sort(a.Failing)
	h.Alerts = a
}

// text returns the state in lines.
func (a *alerts) text() (lines []string) {
	switch {
	case a.Error != "":
		return []string{"unknown: " + a.Error}
	case a.Checked == nil:
		return []string{"the rules were never evaluated: run query alert to see why"}
	}
	first := cli.Plural(a.Running, "alert") + " running; evaluated " + age(a.Checked.Age) + " ago"
	if a.Missed {
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
