package status

import (
	"strings"
	"testing"
	"time"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
	"callhouse/internal/sink"
)

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
			"the last success is dated 2026-11-22T14:00:00Z, in the future: a clock was wrong", "z"},
		{"a clock ahead, mended", []schema.Run{aRun("a", "done", 1), aRun("z", "done", -30)}, whole, "a", 26 * time.Hour, Fine, "", "a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := &sink.History{Runs: c.runs, Snapshot: &layout.Snapshot{Manifest: &layout.Manifest{RunID: c.current, Coverage: c.coverage}}}
			got := Examine(h, now, c.maxAge)
			if got.Verdict != c.verdict || strings.Join(got.Reasons, "; ") != c.reasons {
				t.Errorf("%s: %q, want %s: %q", got.Verdict, got.Reasons, c.verdict, c.reasons)
			}
			if (got.LastRun == nil) != (c.last == "") || got.LastRun != nil && got.LastRun.ID != c.last {
				t.Errorf("the last run is %+v, want %q", got.LastRun, c.last)
			}
		})
	}
}

// During the first run, status does not advise to start one.
func TestFirstRun(t *testing.T) {
	now := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	for held, want := range map[bool]string{true: "wait until it ends", false: "extract run;"} {
		got := Examine(&sink.History{Held: held}, now, 26*time.Hour)
		if got.Verdict != Stale || !strings.HasPrefix(got.Help, want) {
			t.Errorf("running %v: %s, %v, help: %s", held, got.Verdict, got.Reasons, got.Help)
		}
	}
}

// Adjacent spans are merged, with the older time of listing. Only the end of the listed time
// matters.
func TestListedIsTheCoveragesEnd(t *testing.T) {
	now := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	end := now.Add(-time.Minute)
	h := &sink.History{Snapshot: &layout.Snapshot{Manifest: &layout.Manifest{
		Coverage: []schema.Span{{From: 0, To: end.UnixMilli(), ListedAt: now.Add(-11 * time.Hour).UnixMilli()}},
	}}}
	if got := Examine(h, now, 0); got.Listed == nil || !got.Listed.At.Equal(end) || got.Listed.Age != 60 {
		t.Errorf("listed: %+v, want a minute ago", got.Listed)
	}
}
