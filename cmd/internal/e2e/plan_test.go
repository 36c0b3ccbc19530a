package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/longtest"
	"callhouse/internal/sandbox"
	"callhouse/internal/sandbox/organisation"
)

var planned = longtest.Int("planned", 1, 40, "companies whose nights are planned, or one of the first four")

// plannedNumber is a range of plan's output.
type plannedNumber struct {
	From float64
	To   *float64
}

func (p plannedNumber) String() string {
	if p.To == nil {
		return fmt.Sprintf("%v or more", p.From)
	}
	return fmt.Sprintf("%v to %v", p.From, *p.To)
}

// holds reports whether a number lies in the range.
func (p plannedNumber) holds(n int64) bool {
	return float64(n) >= p.From && (p.To == nil || float64(n) <= *p.To)
}

// For companies of any size and kind, on the first night, the following ones and later, the run
// sends as many requests as plan predicts, in total and of each kind. Planning itself takes few.
func TestPlanForetellsTheRun(t *testing.T) {
	t.Parallel()
	notUnderRace(t)
	var nights, exact int
	var width float64
	first := 0
	if *planned == 1 {
		first = rand.IntN(4)
	}
	for i := first; i < first+*planned; i++ {
		rnd := rand.New(rand.NewPCG(uint64(i), 36))
		opts := sandbox.Options{
			World: sandbox.Config{Seed: uint64(100 + i), Calls: rnd.Int64N(sized(600, 3000)), Days: 1 + rnd.IntN(20), Agents: 1 + rnd.IntN(12),
				Campaigns: rnd.IntN(20), LateVisibleRate: float64(rnd.IntN(2)) * 0.02},
			ContractOnly: rnd.IntN(6) == 0, ThinList: rnd.IntN(6) == 0, OldFilters: rnd.IntN(4) == 0,
		}
		if rnd.IntN(3) == 0 {
			opts.Organisation = organisation.Config{Pace: -1, Sizes: organisation.Sizes{"customers": 700, "tools": 230}}
		}
		args := []string{"--resources", "all", "--transcripts", []string{"auto", "v3"}[rnd.IntN(2)]}
		c := found(t, opts)
		for night := range sized(3, 4) {
			where := fmt.Sprintf("company %d, night %d, %v, contract only %v, thin %v, old filters %v", i, night, args, opts.ContractOnly, opts.ThinList, opts.OldFilters)
			r := c.extract(t.Context(), append([]string{"plan", "--format", "json"}, args...)...)
			var p struct {
				Pages, Requests, Resources, Details plannedNumber
				Again                               plannedNumber `json:"pages_of_unsettled_calls"`
				Relisted                            plannedNumber `json:"pages_listed_long_ago"`
				Bulk                                plannedNumber `json:"bulk_pages"`
				Compared                            plannedNumber `json:"bulk_compared"`
				Verified                            plannedNumber `json:"bulk_verified"`
				Most                                *int64        `json:"requests_at_most"`
				Asked                               int64         `json:"requests_spent_on_planning"`
			}
			if err := json.Unmarshal([]byte(r.stdout), &p); err != nil || r.code != cli.ExitOK {
				t.Fatalf("%s: plan: exit code %d, %v:\n%s%s", where, r.code, err, r.stdout, r.stderr)
			}
			before := c.service.Server.Stats()
			run := c.extract(t.Context(), append([]string{"run"}, args...)...)
			if run.code != cli.ExitOK {
				t.Fatalf("%s: exit code %d:\n%s", where, run.code, run.stderr)
			}
			after := c.service.Server.Stats()
			took := after.Requests - before.Requests
			kind := func(names ...string) (n int64) {
				for _, name := range names {
					n += after.ByKind[name] - before.ByKind[name]
				}
				return n
			}
			if !p.Requests.holds(took) || p.Most != nil && took > *p.Most {
				t.Errorf("%s: %d requests, plan said %v: %v\n%s", where, took, p.Requests, after.ByKind, r.stdout)
			}
			if !p.Bulk.holds(kind("bulk")) || float64(kind("detail")) < p.Details.From+p.Compared.From+p.Verified.From || p.Details.To != nil && float64(kind("detail")) > *p.Details.To+*p.Compared.To+*p.Verified.To {
				t.Errorf("%s: %d v2 pages, plan said %v; %d records, plan said %v, %v and %v", where, kind("bulk"), p.Bulk, kind("detail"), p.Details, p.Compared, p.Verified)
			}
			if p.Asked > 25 || night > 0 && p.Asked > 8 {
				t.Errorf("%s: planning took %d requests", where, p.Asked)
			}
			if nights++; p.Requests.To != nil {
				width += *p.Requests.To / max(1, float64(took))
				if p.Requests.From == *p.Requests.To {
					exact++
				}
			}
			t.Logf("%s: took %d, plan %v", where, took, p.Requests)
			c.clock.Advance([]time.Duration{time.Hour, 24 * time.Hour, 24 * time.Hour, 8 * 24 * time.Hour}[rnd.IntN(4)])
		}
		if r := c.extract(t.Context(), "plan", "--max-duration", "1ms"); r.code != cli.ExitOK || !strings.Contains(r.stdout, "would remain") {
			t.Errorf("exit code %d:\n%s%s", r.code, r.stdout, r.stderr)
		}
	}
	t.Logf("%d nights, %d foretold exactly; the upper bound is on average %.2f times the requests", nights, exact, width/float64(nights))
}
