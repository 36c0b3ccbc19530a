package e2e

import (
	"fmt"
	"testing"
	"time"

	"callhouse/internal/sandbox"
	"callhouse/internal/sandbox/organisation"
)

// The sandbox knows the direction of each call, which the types phone and api do not show. The
// warehouse and the reports derive it from the organisation's numbers, even if these are fetched
// later than the calls.
func TestDirectionOfCalls(t *testing.T) {
	t.Parallel()
	world := sandbox.Config{Seed: 33, Calls: 150, Days: 2, Agents: 6}
	c := found(t, sandbox.Options{World: world, Organisation: organisation.Config{Pace: -1}})
	c.mustExtract("--resources", "none")
	if n := c.one("SELECT count(*) AS v FROM calls WHERE direction = 'unknown'"); fmt.Sprint(n) == "0" {
		t.Error("without the organisation's numbers, every direction is known")
	}
	c.clock.Advance(time.Hour)
	c.mustExtract("--resources", "telephone_numbers", "--country", "KR")
	directions := map[string]string{}
	for _, row := range c.sql("SELECT call_id, direction FROM calls") {
		directions[fmt.Sprint(row["call_id"])] = fmt.Sprint(row["direction"])
	}
	byType := map[string]int{}
	for v := range c.service.Server.World().Visible(c.clock.Now()) {
		id := v.ID.String()
		want := v.Agent.Direction
		if v.Type == "web" {
			want = "<nil>"
		}
		if directions[id] != want {
			t.Errorf("call %s of type %s is %s, want %s", id, v.Type, directions[id], want)
		}
		byType[v.Type+" "+want]++
	}
	for _, kind := range []string{"phone inbound", "phone outbound", "api outbound"} {
		if byType[kind] == 0 {
			t.Errorf("no call is %s: %v", kind, byType)
		}
	}
}
