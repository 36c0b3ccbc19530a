package e2e

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/longtest"
	"callhouse/internal/sandbox"
)

// The run takes what plan predicts: exactly the pages, and at most the details.
func TestPlanForetellsTheRun(t *testing.T) {
	longtest.Only(t)
	tried := longtest.Each(2)
	for i, w := range []struct {
		name string
		opts sandbox.Options
	}{
		{"as observed", sandbox.Options{}}, {"contract only", sandbox.Options{ContractOnly: true}}, {"thin list", sandbox.Options{ThinList: true}},
	} {
		if !tried(i) {
			continue
		}
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			w.opts.World = sandbox.Config{Seed: 11, Calls: 150 * int64(*worlds), Days: 8}
			c := found(t, w.opts)
			for night := range 3 {
				r := c.extract(t.Context(), "plan", "--format", "json")
				var p struct {
					Pages    int64 `json:"pages"`
					Again    int64 `json:"pages_of_unsettled_calls"`
					Due      int64 `json:"details_due"`
					Unsettle int64 `json:"details_to_settle_at_most"`
					New      int64 `json:"details_of_new_calls_at_most"`
					Requests int64 `json:"requests_at_most"`
					Asked    int64 `json:"requests_spent_on_planning"`
				}
				if err := json.Unmarshal([]byte(r.stdout), &p); err != nil || r.code != cli.ExitOK {
					t.Fatalf("plan: exit code %d, %v:\n%s%s", r.code, err, r.stdout, r.stderr)
				}
				p.Pages += p.Again
				before := c.service.Server.Stats()
				c.mustExtract()
				after := c.service.Server.Stats()
				pages, details := after.ByKind["page"]-before.ByKind["page"], after.ByKind["detail"]-before.ByKind["detail"]
				// Without bounds, the length of the newest part is unknown; the run also tries the
				// bounds.
				if pages > p.Pages+1 || pages < p.Pages && !w.opts.ContractOnly {
					t.Errorf("night %d: %d pages, the plan said %d", night, pages, p.Pages)
				}
				if most := p.Due + p.Unsettle + p.New; details > most+20 || p.Requests != p.Pages+most {
					t.Errorf("night %d: %d details, the plan said %d at the most, %d requests", night, details, most, p.Requests)
				}
				if p.Asked < 1 || p.Asked > 4 {
					t.Errorf("night %d: planning took %d requests", night, p.Asked)
				}
				c.clock.Advance(24 * time.Hour)
			}
			c.clock.Advance(72 * time.Hour)
			r := c.extract(t.Context(), "plan", "--max-duration", "10ms")
			if r.code != cli.ExitOK || !strings.Contains(r.stdout, "would remain") {
				t.Errorf("exit code %d:\n%s%s", r.code, r.stdout, r.stderr)
			}
		})
	}
}
