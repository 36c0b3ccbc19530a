package e2e

import (
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"callhouse/internal/longtest"
	"callhouse/internal/sandbox"
)

// Each of the 19 disconnection reasons has its outcome. None counts as unknown, and those of
// unconnected calls do not count as connected.
func TestNewDisconnectionReasons(t *testing.T) {
	t.Parallel()
	longtest.Only(t)
	c := found(t, sandbox.Options{World: sandbox.Config{Seed: 26, Calls: 1600, Days: 40, NewReasons: true}})
	c.mustExtract()
	got := map[string]string{}
	for _, row := range c.sql(`SELECT disconnection_reason AS reason, string_agg(DISTINCT coalesce(is_connected, false) || ' ' || outcome, ', ') AS is
		FROM calls WHERE disconnection_reason IN ('dial_busy', 'dial_declined', 'blocked_number', 'hourly_call_limit_reached', 'daily_call_limit_reached',
			'operator_hangup', 'orphaned_no_agent_pickup') GROUP BY ALL`) {
		got[row["reason"].(string)] = row["is"].(string)
	}
	const never = "false not_connected"
	want := map[string]string{"dial_busy": never, "dial_declined": never, "blocked_number": never, "hourly_call_limit_reached": never,
		"daily_call_limit_reached": never, "operator_hangup": "true transferred", "orphaned_no_agent_pickup": "true failed"}
	if d := gocmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
