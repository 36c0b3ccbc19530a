package e2e

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/sandbox"
)

// plannedNumber is a range of plan's output.
type plannedNumber struct{ From, To float64 }

// A run lists as many pages as plan predicts, and fetches transcripts within its bounds. Planning takes
// one request for each part of the list.
func TestPlan(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]sandbox.Options{"with v2": {}, "contract only": {ContractOnly: true}} {
		opts.World = sandbox.Config{Seed: 100, Calls: 450, Days: 12}
		c := found(t, opts)
		for night := range 2 {
			r := c.extract(t.Context(), "plan", "--format", "json")
			var p struct {
				Pages, Transcripts, Resources, Requests, Minutes plannedNumber
				Total                                            int64 `json:"total_count"`
				Asked                                            int64 `json:"requests_spent_on_planning"`
			}
			if err := json.Unmarshal([]byte(r.stdout), &p); err != nil || r.code != cli.ExitOK {
				t.Fatalf("%s, night %d: exit code %d, %v:\n%s%s", name, night, r.code, err, r.stdout, r.stderr)
			}
			before := c.service.Server.Stats()
			c.mustExtract()
			after := c.service.Server.Stats()
			pages, records := after.ByKind["page"]-before.ByKind["page"], after.ByKind["detail"]-before.ByKind["detail"]
			if p.Total < 450 || p.Asked > 3 || math.Abs(float64(pages)-p.Pages.From) > 2 ||
				float64(records) < p.Transcripts.From || float64(records) > p.Transcripts.To {
				t.Errorf("%s, night %d: %d pages and %d records, the plan is\n%s", name, night, pages, records, r.stdout)
			}
			if p.Requests.From != p.Pages.From+p.Transcripts.From+p.Resources.From || p.Minutes.To <= 0 {
				t.Errorf("%s, night %d: the sum is wrong:\n%s", name, night, r.stdout)
			}
			c.clock.Advance(24 * time.Hour)
		}
		c.extract(t.Context(), "plan", "--max-duration", "1ms").prints(t, cli.ExitOK, "would remain")
	}
}
