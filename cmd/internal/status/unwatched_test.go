package status

import (
	"strings"
	"testing"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/alert"
	"callhouse/internal/layout"
	"callhouse/internal/schema"
	"callhouse/internal/sink"
	"callhouse/internal/test"
)

// Rules that are not evaluated are a problem until they are, if the setting alerts is set.
func TestAlertsThatAreNotEvaluated(t *testing.T) {
	now := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	root := t.TempDir()
	examine := func(wanted bool, endedAgo time.Duration) *State {
		t.Helper()
		end := now.Add(-endedAgo).UnixMilli()
		h := Examine(&sink.History{Runs: []schema.Run{{ID: "a", StartedAt: end - 1000, EndedAt: schema.Some(end), Outcome: schema.OutcomeDone}},
			Snapshot: &layout.Snapshot{Manifest: &layout.Manifest{RunID: "a", Snapshot: 7, Coverage: []schema.Span{{From: 0, To: end, ListedAt: end}}}}}, now, 0)
		h.Warehouse = root
		h.AddAlerts(wanted, now)
		return h
	}
	expect := func(what string, h *State, reason string) {
		t.Helper()
		code := cli.Code(h.Err())
		if reason == "" {
			if h.Verdict != Fine || code != cli.ExitOK {
				t.Errorf("%s: %s", what, h.Headline())
			}
			return
		}
		if code != cli.ExitIncomplete || !strings.HasPrefix(h.Headline(), "alerts: ") || !strings.Contains(h.Headline(), reason) || h.Help != cli.Unwatched.Help() {
			t.Errorf("%s: code %d, %s (%s)", what, code, h.Headline(), h.Help)
		}
	}
	change := func(edit func(s *alert.State)) {
		t.Helper()
		s, err := alert.Open(root)
		test.OK(t, err)
		edit(&s.State)
		test.OK(t, s.Save())
		test.OK(t, s.Close())
	}
	evaluated := func(ago time.Duration, snapshot int64, rule *alert.Rule) {
		change(func(s *alert.State) {
			s.CheckedAt, s.Snapshot, s.Missed, s.Rules = now.Add(-ago), snapshot, nil, map[string]*alert.Rule{"r": rule}
		})
	}
	miss := func(began time.Duration) {
		test.OK(t, alert.Miss(root, now.Add(-began), now, "no such rule"))
	}
	good := &alert.Rule{}

	expect("no rules", examine(false, 9*time.Hour), "")
	expect("the run has just ended", examine(true, time.Minute), "")
	expect("never", examine(true, 9*time.Hour), "the rules were not evaluated after the last run")
	miss(time.Minute)
	expect("the first attempt failed", examine(true, time.Minute), "the rules were not evaluated: no such rule")
	expect("without the setting", examine(false, time.Minute), "")
	evaluated(0, 7, good)
	expect("evaluated", examine(true, 9*time.Hour), "")
	miss(time.Minute) // but meanwhile they were
	expect("evaluated by another program", examine(true, time.Minute), "")
	evaluated(5*time.Minute, 7, good)
	miss(time.Minute)
	expect("failed again", examine(true, time.Minute), "no such rule")
	evaluated(30*time.Hour, 6, good)
	expect("not after the last run", examine(true, 9*time.Hour), "not evaluated after the last run")
	expect("between run and evaluation", examine(true, 10*time.Minute), "")
	evaluated(time.Minute, 7, &alert.Rule{Error: "no such column"})
	expect("a rule that fails", examine(true, time.Minute), "1 rule could not be evaluated, the first: r: no such column")
	evaluated(time.Minute, 7, &alert.Rule{Error: "the calls are not all listed", Waits: true})
	expect("a rule that waits for calls", examine(true, time.Minute), "")
	change(func(s *alert.State) { s.Version = 99 })
	expect("an unreadable state", examine(true, time.Minute), "their state is unknown")
}
