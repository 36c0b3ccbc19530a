package status

import (
	"bytes"
	"strings"
	"testing"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/crawler"
	"callhouse/internal/layout"
	"callhouse/internal/schema"
	"callhouse/internal/sink"
	"callhouse/internal/sink/verify"
	"callhouse/internal/wire"
)

func TestDataTests(t *testing.T) {
	// holding returns a snapshot with a number of calls.
	holding := func(calls int64, listed int64) *layout.Snapshot {
		return &layout.Snapshot{Manifest: &layout.Manifest{Files: []layout.File{{Table: schema.Calls.Name, Rows: calls}},
			Coverage: []schema.Span{{From: 0, To: listed, ListedAt: listed}}}}
	}
	type given struct {
		found  verify.RunReport
		now    *layout.Snapshot
		before *layout.Snapshot
		did    sink.Stats
		row    schema.Run
		rep    crawler.Report
	}
	good := func() *given {
		g := &given{now: holding(12, 900), before: holding(10, 500), did: sink.Stats{New: 3, Aged: 1},
			row: schema.Run{StartedAt: 800, Outcome: schema.OutcomeDone}}
		g.rep.Pages = 1
		g.rep.DriftFields = wire.DriftCounts{{Path: "status", Kind: wire.DriftUnknownValue}: 2}
		g.found.Unknown = map[string]int64{"status": 2}
		return g
	}
	for _, c := range []struct {
		name string
		make func(*given)
		want string
	}{
		{"good", func(*given) {}, ""},
		{"the first run", func(g *given) { g.before, g.did = nil, sink.Stats{New: 12} }, ""},
		{"nothing committed", func(g *given) { g.now, g.found.Unknown = nil, nil }, ""},
		{"a problem", func(g *given) {
			g.found.Count, g.found.Problems = 3, []verify.Problem{{Kind: "checksum", Path: "calls/x", What: "it differs"}}
		}, "checksum: calls/x: it differs; 2 more problems"},
		{"a call that went", func(g *given) { g.now = holding(11, 900) },
			"rows: the warehouse has 11 calls; it had 10, and the run counted 3 new and 1 erased ones"},
		{"a word nobody counted", func(g *given) { g.found.Unknown["call_type"] = 1 }, "words: 1 call with an unknown call_type that the run did not count as drift"},
		{"a word counted as another kind", func(g *given) {
			g.rep.DriftFields = wire.DriftCounts{{Path: "status", Kind: wire.DriftConverted}: 2}
		}, "words: 2 calls with an unknown status that the run did not count as drift"},
		{"an old list", func(g *given) { g.now = holding(12, 799) }, "freshness: the run succeeded, but the recorded list ends at 1970-01-01T00:00:00Z"},
		{"an old list, not done", func(g *given) { g.now, g.row.Outcome = holding(12, 799), schema.OutcomeIncomplete }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := good()
			c.make(g)
			if got := strings.Join(DataTests(&g.found, g.now, g.before, g.did, &g.row, &g.rep), "; "); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// A run that lost a listed call is not done, and says so everywhere.
func TestLostCallsAreTold(t *testing.T) {
	rep := &crawler.Report{}
	rep.CallsListed, rep.ItemsStored, rep.ItemsRepeated, rep.ItemsBefore, rep.ItemsAside = 10, 5, 2, 1, 1
	outcome, err := Judge(rep, nil)
	if outcome != schema.OutcomeIncomplete || cli.Code(err) != cli.ExitIncomplete || !strings.Contains(err.Error(), "neither stored nor set aside: 1") {
		t.Errorf("%s, %v", outcome, err)
	}
	var out bytes.Buffer
	(&Report{Row: &schema.Run{}, Crawl: rep}).Write(&out)
	if !strings.Contains(out.String(), "1 call listed, but neither") {
		t.Errorf("the report says:\n%s", &out)
	}
	rep.ItemsStored++
	if outcome, err := Judge(rep, nil); outcome != schema.OutcomeDone || err != nil {
		t.Errorf("%s, %v", outcome, err)
	}
}
