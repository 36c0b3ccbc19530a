package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	"callhouse/internal/sandbox"
)

// With --list-only a run fetches only the list's data. A later run without it fetches the
// transcripts.
func TestListOnly(t *testing.T) {
	t.Parallel()
	c := found(t, sandbox.Options{World: sandbox.Config{Seed: 37, Calls: 250, Days: 2}})
	plan := c.extract(t.Context(), "plan", "--list-only", "--format", "json")
	var p struct {
		Requests plannedNumber
	}
	if err := json.Unmarshal([]byte(plan.stdout), &p); err != nil || p.Requests.To != 3 {
		t.Errorf("plan: %v, %v requests for 3 pages:\n%s", err, p.Requests, plan.stderr)
	}
	r := c.mustExtract("--list-only")
	if n := c.service.Server.Stats().ByKind["detail"]; n > 0 {
		t.Errorf("%d records were asked for", n)
	}
	if !strings.Contains(r.stderr, "not requested (--list-only)") {
		t.Errorf("the report says nothing of it:\n%s", r.stderr)
	}
	if n := number(t, c.one("SELECT count(*) AS v FROM calls WHERE settlement = 'settled' AND total_cost IS NOT NULL")); n < 150 {
		t.Errorf("%d calls have their facts", n)
	}
	if n := number(t, c.one("SELECT count(*) AS v FROM calls WHERE turn_count IS NOT NULL OR transcript_state IN ('present', 'missing')")); n > 0 {
		t.Errorf("%d calls have a transcript, or seem to have been asked for it", n)
	}
	c.mustExtract()
	sameAsTruth(t, c)
}
