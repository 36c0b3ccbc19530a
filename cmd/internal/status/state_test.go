package status

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/cmdtest"
	"callhouse/internal/alert"
	"callhouse/internal/crawler"
	"callhouse/internal/layout"
	"callhouse/internal/schema"
	"callhouse/internal/sink"
	"callhouse/internal/sink/disk"
	"callhouse/internal/test"
)

func TestMain(m *testing.M) { cmdtest.Main(m) }

func TestExamine(t *testing.T) {
	now := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	// aRun returns a run that ended the given number of hours ago.
	aRun := func(id, outcome string, hours int) schema.Run {
		at := now.Add(-time.Duration(hours) * time.Hour).UnixMilli()
		return schema.Run{ID: id, StartedAt: at - 1000, EndedAt: schema.Some(at), Outcome: outcome, Error: map[bool]string{true: "why"}[outcome != "done"]}
	}
	whole := []schema.Span{{From: 0, To: 50, ListedAt: 60}, {From: 50, To: 70, ListedAt: 80}}
	for _, c := range []struct {
		name     string
		runs     []schema.Run
		coverage []schema.Span
		current  string // the last run that committed
		maxAge   time.Duration
		verdict  string
		reasons  string
		last     string
	}{
		{"fine", []schema.Run{aRun("a", "done", 30), aRun("b", "done", 6)}, whole, "b", 26 * time.Hour, Fine, "", "b"},
		{"stale", []schema.Run{aRun("a", "done", 27)}, whole, "a", 26 * time.Hour, Stale, "the last success was 27h 00m ago", "a"},
		{"of any age", []schema.Run{aRun("a", "done", 99)}, whole, "a", 0, Fine, "", "a"},
		{"failed", []schema.Run{aRun("a", "done", 20), aRun("b", "failed", 2)}, whole, "b", 26 * time.Hour, NotWhole, "the last run failed: why", "b"},
		{"failed for long", []schema.Run{aRun("a", "done", 50), aRun("b", "failed", 2)}, whole, "b", 26 * time.Hour, Stale,
			"the last run failed: why; the last success was 2d 02h ago", "b"},
		{"never well", []schema.Run{aRun("a", "incomplete", 2)}, whole, "a", 26 * time.Hour, Stale, "the last run did not fetch everything: why; no run has succeeded yet", "a"},
		{"killed", []schema.Run{aRun("a", "done", 2), {ID: "b", Outcome: "killed", Error: "killed; its commits are kept"}}, whole, "b", 26 * time.Hour, NotWhole,
			"the last run was killed: its commits are kept", "b"},
		{"failed to", []schema.Run{aRun("a", "done", 2), {ID: "b", Outcome: "failed", Error: "failed to begin"}}, whole, "b", 26 * time.Hour, NotWhole,
			"the last run failed: failed to begin", "b"},
		{"none", nil, whole, "", 26 * time.Hour, Stale, "no run has succeeded yet", ""},
		{"going on", []schema.Run{aRun("a", "done", 9), aRun("b", "running", 0)}, whole, "b", 26 * time.Hour, Fine, "", "a"},
		{"rolled back", []schema.Run{aRun("a", "done", 9), aRun("b", "rolled back", 1)}, whole, "b", 26 * time.Hour, Fine, "", "a"},
		{"a gap", []schema.Run{aRun("a", "done", 9)}, []schema.Span{{From: 0, To: 50}, {From: 60, To: 70}}, "a", 26 * time.Hour, NotWhole, "1 span of the list never read", "a"},
		{"a clock ahead", []schema.Run{aRun("z", "done", -30)}, whole, "z", 26 * time.Hour, Stale,
			"the last success is dated 2026-11-22 14:00:00 UTC, in the future: a clock was wrong", "z"},
		{"a clock ahead, mended", []schema.Run{aRun("a", "done", 1), aRun("z", "done", -30)}, whole, "a", 26 * time.Hour, Fine, "", "a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := &sink.History{Runs: c.runs, Snapshot: &layout.Snapshot{Manifest: &layout.Manifest{RunID: c.current, Coverage: c.coverage}}}
			got := Examine(h, now, c.maxAge)
			if got.Verdict != c.verdict || strings.Join(got.Reasons, "; ") != c.reasons {
				t.Errorf("%s: %q, want %s: %q", got.Verdict, got.Reasons, c.verdict, c.reasons)
			}
			if (got.last == nil) != (c.last == "") || got.last != nil && got.last.ID != c.last {
				t.Errorf("the last run is %+v, want %q", got.last, c.last)
			}
		})
	}
}

// During the first run, status does not advise to start one.
func TestFirstRun(t *testing.T) {
	now := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	for held, want := range map[bool]string{true: "wait until it ends", false: "extract run;"} {
		got := Examine(&sink.History{Held: held, Holder: disk.Holder{Records: true, Since: now}}, now, 26*time.Hour)
		if at := got.Facts["run_start_timestamp_seconds"]; (got.Facts["run_in_progress"] == 1.0) != held || (at == float64(now.Unix())) != held || !held && at != nil {
			t.Errorf("running %v: in progress %v, since %v", held, got.Facts["run_in_progress"], at)
		}
		if got.Verdict != Stale || !strings.HasPrefix(got.Help, want) {
			t.Errorf("running %v: %s, %v, help: %s", held, got.Verdict, got.Reasons, got.Help)
		}
	}
}

func TestDataTests(t *testing.T) {
	// holding returns a snapshot with a number of calls.
	holding := func(calls int64, listed int64) *layout.Snapshot {
		return &layout.Snapshot{Manifest: &layout.Manifest{Files: []layout.File{{Table: schema.Calls.Name, Rows: calls}},
			Coverage: []schema.Span{{From: 0, To: listed, ListedAt: listed}}}}
	}
	type given struct {
		found  sink.RunReport
		now    *layout.Snapshot
		before *layout.Snapshot
		did    sink.Stats
	}
	good := func() *given {
		g := &given{now: holding(12, 900), before: holding(10, 500), did: sink.Stats{New: 3, Aged: 1}}
		return g
	}
	for _, c := range []struct {
		name string
		make func(*given)
		want string
	}{
		{"good", func(*given) {}, ""},
		{"the first run", func(g *given) { g.before, g.did = nil, sink.Stats{New: 12} }, ""},
		{"nothing committed", func(g *given) { g.now = nil }, ""},
		{"a problem", func(g *given) {
			g.found.Count, g.found.Problems = 3, []sink.Problem{{Kind: "checksum", Path: "calls/x", What: "it differs"}}
		}, "checksum: calls/x: it differs; 2 more problems"},
		{"a call that went", func(g *given) { g.now = holding(11, 900) },
			"rows: the warehouse has 11 calls; it had 10, and the run counted 3 new and 1 erased ones"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := good()
			c.make(g)
			test.Same(t, c.want, strings.Join(DataTests(&g.found, g.now, g.before, g.did), "; "), "problems")
		})
	}
}

// A run that lost a listed call is not done, and says so everywhere.
func TestLostCallsAreReported(t *testing.T) {
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

// Rules that are not evaluated are a problem until they are, if the setting alerts is set.
func TestAlertsThatAreNotEvaluated(t *testing.T) {
	now := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	root := t.TempDir()
	examine := func(wanted bool, endedAgo time.Duration) *State {
		t.Helper()
		end := now.Add(-endedAgo).UnixMilli()
		h := Examine(&sink.History{Runs: []schema.Run{{ID: "a", StartedAt: end - 1000, EndedAt: schema.Some(end), Outcome: schema.OutcomeDone}},
			Snapshot: &layout.Snapshot{Manifest: &layout.Manifest{RunID: "a", Snapshot: 7, Coverage: []schema.Span{{From: 0, To: end, ListedAt: end}}}}}, now, 0)
		h.Warehouse = root
		h.AddAlerts(wanted)
		return h
	}
	expect := func(what string, h *State, reason string) {
		t.Helper()
		code := cli.Code(h.Err())
		if reason == "" {
			if h.Verdict != Fine || code != cli.ExitOK {
				t.Errorf("%s: %s", what, h.Headline())
			}
			return
		}
		if code != cli.ExitIncomplete || !strings.HasPrefix(h.Headline(), "alerts: ") || !strings.Contains(h.Headline(), reason) || h.Help != cli.Unwatched.Help() {
			t.Errorf("%s: code %d, %s (%s)", what, code, h.Headline(), h.Help)
		}
	}
	change := func(edit func(s *alert.State)) {
		t.Helper()
		s, err := alert.Open(root)
		test.OK(t, err)
		edit(&s.State)
		test.OK(t, s.Save())
		test.OK(t, s.Close())
	}
	evaluated := func(ago time.Duration, snapshot int64, rule *alert.Rule) {
		change(func(s *alert.State) {
			s.CheckedAt, s.Snapshot, s.Missed, s.Rules = now.Add(-ago), snapshot, nil, map[string]*alert.Rule{"r": rule}
		})
	}
	miss := func(began time.Duration) {
		test.OK(t, alert.Miss(root, now.Add(-began), now, "no such rule"))
	}
	good := &alert.Rule{}

	expect("no rules", examine(false, 9*time.Hour), "")
	expect("the run has just ended", examine(true, time.Minute), "")
	expect("never", examine(true, 9*time.Hour), "the rules were not evaluated after the last run")
	miss(time.Minute)
	expect("the first attempt failed", examine(true, time.Minute), "the rules were not evaluated: no such rule")
	expect("without the setting", examine(false, time.Minute), "")
	evaluated(0, 7, good)
	expect("evaluated", examine(true, 9*time.Hour), "")
	miss(time.Minute) // but meanwhile they were
	expect("evaluated by another program", examine(true, time.Minute), "")
	evaluated(5*time.Minute, 7, good)
	miss(time.Minute)
	expect("failed again", examine(true, time.Minute), "no such rule")
	evaluated(30*time.Hour, 6, good)
	expect("not after the last run", examine(true, 9*time.Hour), "not evaluated after the last run")
	expect("between run and evaluation", examine(true, 10*time.Minute), "")
	evaluated(time.Minute, 7, &alert.Rule{Error: "no such column"})
	expect("a rule that fails", examine(true, time.Minute), "1 rule could not be evaluated, the first: r: no such column")
	evaluated(time.Minute, 7, &alert.Rule{Error: "the calls are not all listed", Waits: true})
	expect("a rule that waits for calls", examine(true, time.Minute), "")
	change(func(s *alert.State) { s.Version = 99 })
	expect("an unreadable state", examine(true, time.Minute), "their state is unknown")
}
