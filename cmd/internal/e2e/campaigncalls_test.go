package e2e

import (
	"encoding/csv"
	"fmt"
	"strings"
	"testing"
	"time"

	"callhouse/internal/longtest"
	"callhouse/internal/sandbox"
	"callhouse/internal/sandbox/organisation"
	"callhouse/internal/test"
)

// A call's campaign comes from the list of the campaign's calls, or from the call itself, and equals the
// sandbox's. If the service refuses the list, the report says so, and calls have no campaign.
func TestCallsOfCampaigns(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	for name, opts := range longtest.Sorted(map[string]sandbox.Options{
		"by the list": {}, "by the call": {CampaignInCalls: true, OldFilters: true}, "not at all": {OldFilters: true},
	}) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts.World = sandbox.Config{Seed: 23, Calls: 1200, Days: 20, Campaigns: 4}
			c := found(t, opts)
			// A client pauses one of them for an hour, and cancels another.
			held := 0
			for i, campaign := range c.service.Server.World().Campaigns(c.clock.Now().UnixMilli()) {
				path := "/v3/campaigns/" + organisation.CampaignID(campaign)
				status, _ := c.service.Server.Do("POST", path+"/pause", "")
				if status != 200 { // it is over, or has not started
					continue
				}
				if held++; i%2 == 0 {
					c.clock.Advance(time.Hour)
					if status, text := c.service.Server.Do("POST", path+"/resume", ""); status != 200 {
						t.Fatalf("%d %s", status, text)
					}
				}
			}
			if held == 0 {
				t.Fatal("no campaign could be paused")
			}
			c.clock.Advance(20 * time.Hour)
			said := c.mustExtract("--resources", "campaigns,campaign_calls").stderr
			now := c.clock.Now().UnixMilli()
			want := map[string]int64{}
			for _, campaign := range c.service.Server.World().Campaigns(now) {
				for _, d := range c.service.Server.World().Dials(campaign) {
					if d.Start <= now {
						want[organisation.CampaignID(campaign)]++
					}
				}
			}
			for v := range c.service.Server.World().Ordered(now, true) { // since the clients' actions
				want[v.Order.Campaign]++
			}
			if len(want) < 2 {
				t.Fatalf("the campaigns placed %v calls", want)
			}
			if name == "not at all" {
				want = map[string]int64{}
			}
			if refused := strings.Contains(said, "campaign_calls: 400"); refused != (opts.OldFilters) {
				t.Errorf("the report says:\n%s", said)
			}
			rows, err := csv.NewReader(strings.NewReader(c.query("outcomes", "--by", "campaign", "--format", "csv").stdout)).ReadAll()
			test.OK(t, err)
			got := map[string]int64{}
			for _, row := range rows[1:] {
				var calls int64
				_, err := fmt.Sscan(row[3], &calls)
				test.OK(t, err)
				if row[0] != "" {
					got[row[0]] += calls
				}
			}
			test.Same(t, want, got, "calls by campaign (-sandbox +query)")
		})
	}
}
