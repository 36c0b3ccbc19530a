package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/longtest"
	"callhouse/internal/sandbox"
)

// If list items have neither analyses nor costs, each run fetches the record of every unsettled
// call exactly once, whatever the list shows, and plan counts the same requests.
func TestBriefListSettlesCallsByRecord(t *testing.T) {
	t.Parallel()
	notUnderRace(t)
	tried, n := longtest.Each(4), 0
	for name, w := range longtest.Sorted(map[string]struct {
		step  time.Duration
		brief int  // from this run on; before, the list is as observed
		other bool // the list's status differs from the record's for some calls
	}{
		"minutes":       {step: 40 * time.Minute, other: true},
		"nights":        {step: 24 * time.Hour},
		"becomes brief": {step: 6 * time.Hour, brief: 2},
	}) {
		if n++; !tried(n - 1) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := found(t, sandbox.Options{World: sandbox.Config{Seed: 38, Calls: 120, Days: 2}})
			e := newEditor(c)
			run, asked := 0, map[string]int{}
			e.edit = func(id string, call map[string]any) bool {
				_, own := call["transcript"]
				if call["status"] == "ended" && id[0] < '8' { // its conversation broke off
					call["status"], call["disconnection_reason"] = "error", "flow_error"
					if own {
						call["transcript"] = nil
					}
					if run < 3 || id[0] < '4' {
						call["call_analysis"], call["call_cost"] = nil, nil
					}
					if !own && w.other && id[1] < '8' {
						call["status"] = "ended"
					}
				}
				switch {
				case own:
					asked[id]++
				case run >= w.brief:
					maps.DeleteFunc(call, func(name string, _ any) bool { return !slices.Contains([]string{"id", "status", "start_at"}, name) })
				}
				return true
			}
			for ; run < 5; run++ {
				unsettled, known := map[string]int64{}, map[string]int64{}
				if run > 0 {
					known = c.counts("SELECT call_id AS key, count(*) AS n FROM calls GROUP BY 1")
					unsettled = c.counts(fmt.Sprintf(`SELECT call_id AS key, count(*) AS n FROM calls WHERE settlement IN ('open', 'ended')
						AND epoch_ms(greatest(coalesce(end_at, start_at), first_seen_at)) + %d > %d GROUP BY 1`, (72 * time.Hour).Milliseconds(), c.clock.Now().UnixMilli()))
				}
				var p struct {
					Transcripts plannedNumber
				}
				if r := e.extract("plan", "--format", "json"); json.Unmarshal([]byte(r.stdout), &p) != nil {
					t.Fatal(r.stdout, r.stderr)
				}
				clear(asked)
				e.extract().exits(t, cli.ExitOK)
				if run < w.brief {
					c.clock.Advance(w.step)
					continue
				}
				for id := range unsettled {
					if asked[id] == 0 {
						t.Errorf("run %d: the record of %s, which is not settled, was not asked for", run, id)
					}
				}
				again := int64(0)
				for id, n := range asked {
					if n > 1 {
						t.Errorf("run %d: the record of %s was asked for %d times", run, id, n)
					}
					again += known[id]
				}
				if int64(p.Transcripts.From) != again && !w.other { // plan cannot predict changes of the list
					t.Errorf("run %d: of the known calls, the plan has %v records, and the run asked for %d", run, p.Transcripts.From, again)
				}
				c.clock.Advance(w.step)
			}
			if n := number(t, c.one("SELECT count(*) AS v FROM calls WHERE settlement = 'settled' AND status = 'error'")); n < 20 {
				t.Errorf("%d calls are settled by what their records said later", n)
			}
		})
	}
}
