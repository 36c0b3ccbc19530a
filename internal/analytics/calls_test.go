package analytics_test

import (
	"fmt"
	"testing"

	"callhouse/internal/analytics/analyticstest"
)

// What the view calls makes of every status and reason that is known, of none,
// and of ones that are not.
func TestDerivedColumns(t *testing.T) {
	notConnected := map[string]bool{
		"queued": true, "registered": true, "initiated": true, "ringing": true, "not_connected": true, "canceled": true,
		"dial_no_answer": true, "dial_failed": true, "concurrency_limit_reached": true, "insufficient_balance": true,
	}
	statuses := []any{nil, "queued", "registered", "initiated", "ringing", "ongoing", "ended", "error", "canceled", "not_connected", "levitating"}
	reasons := []any{nil, "user_hangup", "agent_hangup", "dial_no_answer", "dial_failed", "voicemail_reached", "concurrency_limit_reached",
		"insufficient_balance", "error_voxai", "max_duration_reached", "inactivity", "flow_error", "call_transfer", "eclipse"}
	var calls []row
	var want [][]any
	for _, status := range statuses {
		for _, reason := range reasons {
			for _, start := range []any{int64(1_700_000_000_000), nil} {
				for _, settlement := range []string{"open", "settled"} {
					id := fmt.Sprintf("%04d", len(calls))
					calls = append(calls, row{"call_id": id, "status": status, "disconnection_reason": reason, "start_at": start,
						"settlement": settlement, "duration_ms": int64(7)})
					s, _ := status.(string)
					r, _ := reason.(string)
					up := start != nil && !notConnected[s] && !notConnected[r]
					over := settlement == "settled"
					line := []any{id, over, up, r == "voicemail_reached", r == "call_transfer",
						up && over && r != "voicemail_reached" && r != "call_transfer", nil}
					if up {
						line[6] = int64(7)
					}
					want = append(want, line)
				}
			}
		}
	}
	w := warehouse(t, analyticstest.Data{Calls: calls}, nil)
	rows, err := w.SQL(t.Context(), `SELECT call_id, is_over, is_connected, is_voicemail, is_transferred, is_contained, talk_ms
		FROM calls ORDER BY call_id`)
	if d := diff(want, all(t, rows, err)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
