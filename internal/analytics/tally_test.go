package analytics_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"callhouse/internal/analytics"
	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/analytics/question"
	"callhouse/internal/layout"
	"callhouse/internal/longtest"
)

// compacted returns a warehouse of random calls with one file per table and month, and with
// tallies. In the month credits, some calls cost credits; if it is empty, all files have the
// current format.
func compacted(t *testing.T, seed uint64, n int, credits string) (string, analyticstest.Data) {
	t.Helper()
	d := randomData(rand.New(rand.NewPCG(seed, 7)), n)
	for _, c := range d.Calls {
		if ms, ok := c["start_at"].(int64); !ok || layout.Day(ms)[:7] != credits {
			delete(c, "credits_used")
		}
	}
	d.Compacted = func(string) bool { return true }
	if credits == "" {
		d.Earlier = func(string) bool { return false } // all months have all tallies
	}
	root := t.TempDir()
	analyticstest.Write(t, root, 1, d)
	return root, d
}

// Reports over compacted months equal the oracle, wherever the bounds are: at the start of a month,
// day or quarter of an hour, or elsewhere.
func TestTalliesEqualTheOracle(t *testing.T) {
	root, d := compacted(t, 3, 300, "2026-10")
	warehouses := map[string]*analytics.Warehouse{}
	for _, name := range []string{"Europe/Berlin", "Australia/Lord_Howe", "Asia/Kathmandu", "America/New_York"} {
		warehouses[name] = open(t, root, zone(t, name))
	}
	zones := slices.Sorted(maps.Keys(warehouses))
	n := 0
	at := func(s string) time.Time {
		parsed, err := time.Parse(time.RFC3339Nano, s)
		if err != nil {
			t.Fatal(err)
		}
		return parsed
	}
	for i, b := range []struct{ since, until time.Time }{
		{},
		{since: at("2026-03-01T00:00:00.001Z")}, // every call with a start, but not on a quarter of an hour
		{since: at("2026-10-25T00:45:00Z"), until: at("2026-11-19T15:30:00Z")},
		{since: at("2026-10-25T00:45:00.002Z"), until: at("2026-12-31T23:59:59.999Z")},
		{until: at("2026-11-20T00:00:00Z")},
		{since: at("2026-11-01T00:00:00.0000005Z")},
	} {
		for j, by := range []string{"", "agent", "day", "hour", "metadata.campaign"} {
			if n++; n%*everyQuestion != 0 {
				continue
			}
			p := question.Params{By: by, Since: b.since, Until: b.until}
			if j == 1 {
				p.Agent = "a1-o"
			}
			w := warehouses[zones[(i+j)%len(zones)]]
			loc := w.Location()
			q := p
			if p.Agent != "" {
				q.Agent = "a1-one" // the oracle knows no prefixes
			}
			for _, name := range []string{"sentiment", "disconnections", "durations", "distribution", "costs", "volume", "funnel", "outcomes", "agents", "versions", "coverage", "anomalies", "early", "concurrency"} {
				rows, err := w.Report(t.Context(), name, p)
				got := all(t, rows, err)
				compare := diff
				if isNear(name) {
					compare = diffNear
				}
				if d := compare(oracle(name, d, q, loc), got); d != "" {
					t.Fatalf("%s, %+v, %s (-oracle +report):\n%s", name, p, loc, d)
				}
			}
		}
	}
}

// The same holds for reports of facts that belong to calls: over months and days with tallies, months
// whose tallies do not cover all of their rows, and fields with too many values.
func TestFactTalliesEqualTheOracle(t *testing.T) {
	root, d := compacted(t, rand.Uint64N(1000), 300, "")
	d.Compacted = func(month string) bool { return month != "2026-11" }
	analyticstest.Write(t, root, 2, d)
	w := open(t, root, zone(t, "Europe/Berlin"))
	tried, n := longtest.Each(5), 0
	for _, p := range []question.Params{{}, {Since: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)},
		{Since: time.Date(2026, 10, 25, 0, 0, 0, 0, time.UTC)}, {Until: time.Date(2026, 11, 10, 0, 0, 0, 0, time.UTC)},
		{Agent: "a1-one"}, {By: "day"}, {By: "agent"}, {By: "agent,agent_type"}, {By: "agent_version", Where: []string{"agent=a1-one"}},
		{Field: "solved=true"}, {Field: "mood=1", By: "agent"}, {Field: "colour=red"}} {
		for name := range strings.FieldsSeq("tools conversation numbers extracted success callers attempts worst flows early transfers") {
			if p.Field != "" && name != "success" {
				continue
			}
			if n++; !tried(n - 1) {
				continue
			}
			rows, err := w.Report(t.Context(), name, p)
			compare := diff
			if isNear(name) {
				compare = diffNear
			}
			if d := compare(oracle(name, d, p, w.Location()), all(t, rows, err)); d != "" {
				t.Errorf("%s, %+v (-oracle +report):\n%s", name, p, d)
			}
		}
	}
}

// withoutCalls removes the files of calls, so that a report that reads them fails.
func withoutCalls(t *testing.T, root string) {
	t.Helper()
	s, err := layout.Current(root)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(s.Dir, "calls")); err != nil {
		t.Fatal(err)
	}
}

// Reports over whole months, their coverage and those of one agent do not read the calls; reports
// with a bound within a month do, and so do those with groups that no tallies have.
func TestTalliesSpareTheCalls(t *testing.T) {
	root, _ := compacted(t, 4, 200, "")
	w := open(t, root, zone(t, "Europe/Berlin"))
	withoutCalls(t, root)
	day, month := time.Date(2026, 10, 25, 0, 0, 0, 0, time.UTC), time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	tried := longtest.Each(3)
	for i, c := range []struct {
		reports string
		p       question.Params
		spared  bool
	}{
		{"sentiment disconnections costs distribution funnel outcomes agents versions coverage volume anomalies", question.Params{}, true},
		{"sentiment disconnections costs funnel agents versions coverage", question.Params{By: "variant_label"}, true},
		{"sentiment disconnections costs volume funnel outcomes", question.Params{By: "day"}, true},
		{"sentiment disconnections costs volume anomalies", question.Params{By: "weekday", Since: day, Until: day.AddDate(0, 0, 7)}, true},
		{"sentiment agents funnel", question.Params{Since: day.AddDate(0, 0, -24)}, true},
		{"sentiment agents funnel", question.Params{Agent: "b", By: "call_type"}, true},
		{"conversation tools early transfers", question.Params{}, true},
		{"early transfers", question.Params{By: "agent"}, true},
		{"early transfers", question.Params{Agent: "b", Where: []string{"agent=a1-one"}}, true},
		{"agents", question.Params{Since: month, PreviousSince: month.AddDate(0, -1, 0), PreviousUntil: month, Columns: []string{"agent_id", "goal_percent"}}, true},
		{"costs", question.Params{Since: month, PreviousSince: month.AddDate(0, -1, 0), PreviousUntil: month, Columns: []string{"total_cost"}}, true},
		{"agents", question.Params{Since: month, PreviousSince: month.AddDate(0, -1, 0), PreviousUntil: month, Columns: []string{"handle_ms"}}, false},
		{"costs", question.Params{Since: month, PreviousSince: month.AddDate(0, -1, 0), PreviousUntil: month, Columns: []string{"per_call"}}, false},
		{"agents funnel conversation", question.Params{Since: day}, false},
		{"conversation", question.Params{By: "agent"}, false},
		{"volume", question.Params{Since: day.Add(time.Millisecond)}, false},
		{"sentiment", question.Params{By: "metadata.campaign"}, false},
		{"volume", question.Params{Agent: "b"}, false},
		{"durations callers attempts", question.Params{}, false},
		{"transfers early", question.Params{Since: day.Add(time.Millisecond)}, false},
	} {
		if !tried(i) {
			continue
		}
		for report := range strings.FieldsSeq(c.reports) {
			rows, err := w.Report(t.Context(), report, c.p)
			if err == nil {
				_, err = rows.Skip(t.Context())
				rows.Close()
			}
			if spared := err == nil; spared != c.spared {
				t.Errorf("%s, %+v: answered without the calls: %v, want %v (%v)", report, c.p, spared, c.spared, err)
			}
			if !c.spared || c.p.By == "day" {
				continue
			}
			if _, err := w.Coverage(t.Context(), report, c.p, day); err != nil && (c.p.Since.IsZero() || c.p.Since.Day() == 1) {
				t.Errorf("coverage of %s, %+v: %v", report, c.p, err)
			}
		}
	}
}

// If calls of a month cost credits, the amounts come from its calls, and everything else from its
// tallies. A month whose manifest entry is from an older build may be one.
func TestTalliesKnowNoCredits(t *testing.T) {
	for name, c := range map[string]struct {
		credits string
		edit    func(*layout.File)
	}{
		"a month with credits": {"2026-10", func(*layout.File) {}},
		"an older manifest":    {"", func(f *layout.File) { f.Credits = nil }},
	} {
		root, _ := compacted(t, 4, 200, c.credits)
		analyticstest.Edit(t, filepath.Join(root, "snapshots", "000001", "manifest.json"), func(m *layout.Manifest) {
			for i := range m.Files {
				c.edit(&m.Files[i])
			}
		})
		w := open(t, root, nil)
		withoutCalls(t, root)
		for report, spared := range map[string]bool{"costs": false, "agents": false, "coverage": false, "sentiment": true, "outcomes": true} {
			rows, err := w.Report(t.Context(), report, question.Params{})
			if err == nil {
				_, err = rows.Skip(t.Context())
				rows.Close()
			}
			if (err == nil) != spared {
				t.Errorf("%s: %s answered without the calls: %v, want %v (%v)", name, report, err == nil, spared, err)
			}
		}
	}
}

// Days are derived from quarters of an hour only if the zone allows it: St. John's changed its
// clocks at one minute past midnight, and Liberia was 44 and a half minutes behind. If a broken
// clock dates a call centuries ahead, the zone has too many changes to check all its offsets.
func TestTalliesInOddZones(t *testing.T) {
	for _, c := range []struct {
		zone string
		cut  time.Time
		far  bool
	}{
		{"America/St_Johns", time.Date(2010, 11, 7, 2, 31, 0, 0, time.UTC), false}, // 00:01, back to 23:01 of the previous day
		{"America/St_Johns", time.Date(2010, 11, 7, 2, 31, 0, 0, time.UTC), true},
		{"Africa/Monrovia", time.Date(1971, 6, 1, 0, 44, 30, 0, time.UTC), false}, // midnight
	} {
		var calls []row
		for i := range 8 {
			calls = append(calls, row{"call_id": fmt.Sprint(i), "start_at": c.cut.UnixMilli() + int64(i-4)*30_000, "user_sentiment": "positive"})
		}
		groups := map[string]int{"day": 2, "hour": 2}
		if c.far {
			groups["day"]++ // its hour counts as one of the two
			calls = append(calls, row{"call_id": "far", "start_at": c.cut.AddDate(300, 0, 0).UnixMilli(), "user_sentiment": "positive"})
		}
		d := analyticstest.Data{Calls: calls, Compacted: func(string) bool { return true }}
		root := t.TempDir()
		analyticstest.Write(t, root, 1, d)
		loc := zone(t, c.zone)
		w := open(t, root, loc)
		for by, groups := range groups {
			rows, err := w.Report(t.Context(), "sentiment", question.Params{By: by})
			got := all(t, rows, err)
			want := oracle("sentiment", d, question.Params{By: by}, loc)
			if d := diffNear(want, got); d != "" || len(want) != groups {
				t.Errorf("%s by %s, far %v, in %d groups (-oracle +report):\n%s", c.zone, by, c.far, len(want), d)
			}
		}
	}
}

// The service has sent calls that end before they start; they are counted as sent.
func TestDurationsBelowZero(t *testing.T) {
	var calls []row
	for i, ms := range []int64{-12_000, -5_001, -5_000, -4_999, -3, -3, 0, 2, 4_999, 5_000, 5_001, 60_000} {
		calls = append(calls, row{"call_id": fmt.Sprint(i), "start_at": time.Date(2026, 10, i+1, 0, 0, 0, 0, time.UTC).UnixMilli(), "duration_ms": ms})
	}
	d := analyticstest.Data{Calls: calls, Compacted: func(string) bool { return true }}
	root := t.TempDir()
	analyticstest.Write(t, root, 1, d)
	w := open(t, root, nil)
	tried := longtest.Each(4)
	for n := range len(calls) {
		if !tried(n) {
			continue
		}
		p := question.Params{Since: time.Date(2026, 10, n+1, 0, 0, 0, 0, time.UTC)}
		for _, report := range []string{"durations", "distribution"} {
			rows, err := w.Report(t.Context(), report, p)
			if d := diff(oracle(report, d, p, time.UTC), all(t, rows, err)); d != "" {
				t.Errorf("%s since day %d (-oracle +report):\n%s", report, n+1, d)
			}
		}
	}
}
