package analytics_test

import (
	"fmt"
	"testing"

	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/analytics/question"
)

// A tool that fails in every call of happy callers does not displace unhappy callers from the list.
func TestWorstIsNotFlooded(t *testing.T) {
	var d analyticstest.Data
	add := func(n int, name, sentiment, reason string, failures int) {
		for i := range n {
			id, at := fmt.Sprintf("%s%02d", name, i), int64(1_795_089_600_000+i*60_000)
			d.Calls = append(d.Calls, row{"call_id": id, "status": "ended", "disconnection_reason": reason, "user_sentiment": sentiment,
				"start_at": at, "duration_ms": int64(60_000), "transcript_state": "present", "user_turns": int64(1), "settlement": "settled"})
			d.Turns = append(d.Turns, row{"call_id": id, "call_start_at": at, "turn": int64(0), "role": "user", "content": "hello"})
			for use := range failures {
				x := fmt.Sprint("x", use)
				for i, turn := range []row{{"role": "tool_call_invocation", "tool_name": "find"}, {"role": "tool_call_result", "content": `{"status":"error"}`}} {
					turn["call_id"], turn["call_start_at"], turn["tool_call_id"], turn["turn"] = id, at, x, int64(1+2*use+i)
					d.Turns = append(d.Turns, turn)
				}
			}
		}
	}
	add(30, "happy", "positive", "user_hangup", 9)
	add(30, "angry", "negative", "user_hangup", 0)
	add(3, "broken", "neutral", "error_voxai", 0)
	w := warehouse(t, d, nil)
	rows, err := w.Report(t.Context(), "worst", question.Params{})
	got := map[any]int{}
	order := ""
	for _, line := range all(t, rows, err) {
		got[line[1]]++
		if reason := fmt.Sprint(line[1]); len(order) == 0 || order[len(order)-len(reason):] != reason {
			order += " " + reason
		}
	}
	if order != " negative failed tool failed" || got["negative"] != 10 || got["failed"] != 3 || got["tool failed"] != 7 {
		t.Errorf("in the order%s: %v", order, got)
	}
}
