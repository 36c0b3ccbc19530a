package analytics_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callhouse/internal/analytics"
	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/analytics/opened"
	"callhouse/internal/analytics/question"
	"callhouse/internal/test"
)

// An agent that hangs up on everyone does not lead, an agent with unhappy callers is marked, and an
// agent whose job is to transfer is judged by its transfers.
func TestWhoLeads(t *testing.T) {
	var d analyticstest.Data
	add := func(agent, reason, sentiment string, n int, ms int64) {
		for range n {
			d.Calls = append(d.Calls, row{"call_id": fmt.Sprint(agent, len(d.Calls)), "agent_id": agent, "status": "ended", "disconnection_reason": reason, "user_turns": int64(2),
				"transcript_state": "present", "start_at": int64(1_763_000_000_000 + len(d.Calls)), "duration_ms": ms, "user_sentiment": sentiment})
		}
	}
	add("rude", "agent_hangup", "negative", 500, 8_000)
	add("good", "user_hangup", "positive", 90, 60_000)
	add("good", "agent_hangup", "neutral", 10, 10_000)
	add("good", "inactivity", "negative", 10, 60_000)
	add("sour", "user_hangup", "negative", 80, 60_000)
	add("sour", "user_hangup", "positive", 20, 60_000)
	add("sour", "inactivity", "positive", 30, 60_000)
	add("triage", "call_transfer", "neutral", 95, 30_000)
	add("triage", "user_hangup", "neutral", 5, 30_000)
	root := t.TempDir()
	analyticstest.Write(t, root, 1, d)
	board := func(goals ...string) (out []string) {
		t.Helper()
		o := analytics.Options{Options: opened.Options{Threads: 1}}
		for _, text := range goals {
			goal, err := question.ParseGoal(text)
			test.OK(t, err)
			o.Goals = append(o.Goals, goal)
		}
		w, err := analytics.Open(t.Context(), root, o)
		test.OK(t, err)
		defer w.Close()
		rows, err := w.Report(t.Context(), "agents", question.Params{})
		var unknown *question.UnknownError
		if errors.As(err, &unknown) {
			return []string{unknown.Nearest}
		}
		at := map[string]int{}
		for i, c := range rows.Columns() {
			at[c.Name] = i
		}
		for _, r := range all(t, rows, err) {
			out = append(out, fmt.Sprintf("%v %v %.0f %v", r[at["agent_id"]], r[at["goal"]], r[at["goal_percent"]], r[at["doubt"]]))
		}
		return out
	}
	if d := cmp.Diff([]string{"good completed 91 <nil>", "sour completed 77 rated negative", "triage completed 5 <nil>", "rude completed 0 <nil>"}, board()); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"triage transferred 95 <nil>", "good completed 91 <nil>", "sour completed 77 rated negative", "rude completed 0 <nil>"}, board("triage=transferred")); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"triage transferred or completed 100 <nil>", "good completed 91 <nil>", "sour completed 77 rated negative", "rude completed 0 <nil>"},
		board("triage=transferred", "triage=completed")); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"triage"}, board("triages=transferred")); d != "" {
		t.Error(d)
	}
	for text, nearest := range map[string]string{"triage=complete": "completed", "triage=voicemail": "", "triage": "", "=completed": ""} {
		_, err := question.ParseGoal(text)
		var unknown *question.UnknownError
		if err == nil || errors.As(err, &unknown) && nearest != "" && unknown.Nearest != nearest {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// The leader board equals the oracle if an agent has its own goal.
func TestGoalsEqualTheOracle(t *testing.T) {
	d := randomData(rand.New(rand.NewPCG(16, 1)), 300)
	root := t.TempDir()
	analyticstest.Write(t, root, 1, d)
	goalsOfAgent = map[any][]string{"b-three": {"transferred"}, "a1-one": {"completed", "abandoned"}}
	defer func() { goalsOfAgent = nil }()
	w, err := analytics.Open(t.Context(), root, analytics.Options{Options: opened.Options{Threads: 1}, Goals: []question.Goal{{Agent: "b-three", Outcome: "transferred"},
		{Agent: "a1-one", Outcome: "completed"}, {Agent: "a1-one", Outcome: "abandoned"}}})
	test.OK(t, err)
	defer w.Close()
	rows, err := w.Report(t.Context(), "agents", question.Params{})
	if d := diffNear(oracle("agents", d, question.Params{}, w.Location()), all(t, rows, err)); d != "" {
		t.Errorf("(-oracle +report):\n%s", d)
	}
}
