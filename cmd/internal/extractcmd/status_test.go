package extractcmd

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
	"callhouse/internal/sink"
)

func TestExamine(t *testing.T) {
	now := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	// aRun is one that ended so many hours ago.
	aRun := func(id, outcome string, hours int) schema.Run {
		at := now.Add(-time.Duration(hours) * time.Hour).UnixMilli()
		return schema.Run{ID: id, StartedAt: at - 1000, EndedAt: schema.Some(at), Outcome: outcome, Error: map[bool]string{true: "why"}[outcome != "done"]}
	}
	whole := []schema.Span{{From: 0, To: 50, ListedAt: 60}, {From: 50, To: 70, ListedAt: 80}}
	for _, c := range []struct {
		name     string
		runs     []schema.Run
		coverage []schema.Span
		current  string // the run that committed last
		maxAge   time.Duration
		verdict  string
		reasons  string
		last     string
	}{
		{"fine", []schema.Run{aRun("a", "done", 30), aRun("b", "done", 6)}, whole, "b", nightly, fine, "", "b"},
		{"stale", []schema.Run{aRun("a", "done", 27)}, whole, "a", nightly, stale, "the last success is 27h 00m ago", "a"},
		{"of any age", []schema.Run{aRun("a", "done", 99)}, whole, "a", 0, fine, "", "a"},
		{"failed", []schema.Run{aRun("a", "done", 20), aRun("b", "failed", 2)}, whole, "b", nightly, notWhole, "the last run: failed (why)", "b"},
		{"failed for long", []schema.Run{aRun("a", "done", 50), aRun("b", "failed", 2)}, whole, "b", nightly, stale,
			"the last run: failed (why); the last success is 2d 02h ago", "b"},
		{"never well", []schema.Run{aRun("a", "incomplete", 2)}, whole, "a", nightly, stale, "the last run: incomplete (why); no run has ended well yet", "a"},
		{"none", nil, whole, "", nightly, stale, "no run has ended well yet", ""},
		{"going on", []schema.Run{aRun("a", "done", 9), aRun("b", "running", 0)}, whole, "b", nightly, fine, "", "a"},
		{"rolled back", []schema.Run{aRun("a", "done", 9), aRun("b", "rolled back", 1)}, whole, "b", nightly, fine, "", "a"},
		{"a gap", []schema.Run{aRun("a", "done", 9)}, []schema.Span{{From: 0, To: 50}, {From: 60, To: 70}}, "a", nightly, notWhole, "1 span of the list was never read", "a"},
		{"a clock ahead", []schema.Run{aRun("z", "done", -30)}, whole, "z", nightly, stale,
			"the last success is of 2026-11-22T14:00:00Z, which is yet to come: a clock was wrong", "z"},
		{"a clock ahead, mended", []schema.Run{aRun("a", "done", 1), aRun("z", "done", -30)}, whole, "a", nightly, fine, "", "a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := &sink.History{Runs: c.runs, Snapshot: &layout.Snapshot{Manifest: &layout.Manifest{RunID: c.current, Coverage: c.coverage}}}
			got := examine(h, now, c.maxAge)
			if got.Verdict != c.verdict || strings.Join(got.Reasons, "; ") != c.reasons {
				t.Errorf("%s: %q, want %s: %q", got.Verdict, got.Reasons, c.verdict, c.reasons)
			}
			if (got.LastRun == nil) != (c.last == "") || got.LastRun != nil && got.LastRun.ID != c.last {
				t.Errorf("the last run is %+v, want %q", got.LastRun, c.last)
			}
		})
	}
}

// Neighbouring spans are kept as one, with the older of the times when they were
// listed. What matters is up to when all is listed.
func TestListedIsTheCoveragesEnd(t *testing.T) {
	now := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	end := now.Add(-time.Minute)
	h := &sink.History{Snapshot: &layout.Snapshot{Manifest: &layout.Manifest{
		Coverage: []schema.Span{{From: 0, To: end.UnixMilli(), ListedAt: now.Add(-11 * time.Hour).UnixMilli()}},
	}}}
	if got := examine(h, now, 0); got.Listed == nil || !got.Listed.At.Equal(end) || got.Listed.Age != 60 {
		t.Errorf("listed: %+v, want a minute ago", got.Listed)
	}
}

func TestStatusCommand(t *testing.T) {
	root := tended(t)
	code, stdout, stderr := call(t, "", "status", "--warehouse", root)
	if code != 0 || !strings.HasPrefix(stdout, "fine: last success ") || !strings.Contains(stdout, ": 2 calls") && !strings.Contains(stdout, ", 2 calls") || stderr != "" {
		t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
	code, stdout, stderr = call(t, "", "status", "--warehouse", root, "--max-age", "1m", "--format", "json")
	var h health
	if err := json.Unmarshal([]byte(stdout), &h); err != nil || code != 3 || h.Verdict != stale || h.Snapshot.Calls != 2 || stderr != "" {
		t.Errorf("exit code %d, %v\n%s\n%s", code, err, stdout, stderr)
	}
	// While somebody holds it.
	w, err := sink.Open(sink.Options{Root: root, RunID: layout.RunID(time.Now(), 7), Records: true})
	if err != nil {
		t.Fatal(err)
	}
	code, stdout, _ = call(t, "", "status", "--warehouse", root)
	if code != 0 || !strings.Contains(stdout, "  running       process ") {
		t.Errorf("while a run is on: exit code %d\n%s", code, stdout)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	code, stdout, _ = call(t, "", "status", "--warehouse", root)
	if code != 3 || !strings.HasPrefix(stdout, "not whole: the last run: failed (it ended without a word)\n") {
		t.Errorf("after one that wrote no row: exit code %d\n%s", code, stdout)
	}
	for _, c := range []struct {
		args string
		code int
		says string
	}{
		{"--format xml", 2, "--format takes text or json"},
		{"--max-age -1s", 2, "as in 90m, 6h or 7d"},
		{"it", 2, `unexpected argument "it"`},
		{"--warehouse " + filepath.Join(root, "none"), 1, "no warehouse at "},
	} {
		if code, _, stderr := call(t, "", append([]string{"status", "--warehouse", root}, strings.Fields(c.args)...)...); code != c.code || !strings.Contains(stderr, c.says) {
			t.Errorf("status %s: exit code %d, %s", c.args, code, stderr)
		}
	}
	s, err := layout.Current(root)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.Dir, layout.ManifestName), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, stdout, stderr := call(t, "", "status", "--warehouse", root); code != 1 || stdout != "" || !strings.Contains(stderr, "manifest") {
		t.Errorf("of a damaged one: exit code %d\n%s\n%s", code, stdout, stderr)
	}
}

// status --all tells of every profile, also of those behind one that has no
// warehouse, and ends with the worst exit code.
func TestStatusOfAllProfiles(t *testing.T) {
	one, two := tended(t), tended(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "callhouse.toml")
	text := "[profiles.acme]\nwarehouse = '" + one + "'\n[profiles.none]\nwarehouse = '" + dir + "/none'\n[profiles.globex]\nwarehouse = '" + two + "'\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := call(t, "", "status", "--config", file, "--all")
	if code != 1 || !strings.HasPrefix(stdout, "[acme] fine: ") || !strings.Contains(stdout, "\n[globex] fine: ") || !strings.HasPrefix(stderr, "[none] extract: no warehouse at ") {
		t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
	code, stdout, _ = call(t, "", "status", "--config", file, "--profile", "acme,globex", "--max-age", "1m", "--format", "json")
	var all []health
	if err := json.Unmarshal([]byte(stdout), &all); err != nil || code != 3 || len(all) != 2 || all[0].Profile != "acme" || all[1].Profile != "globex" || all[1].Verdict != stale {
		t.Errorf("exit code %d, %v\n%s", code, err, stdout)
	}
	if code, _, stderr := call(t, "", "status", "--config", file, "--profile", "acme,globex"); code != 0 || stderr != "" {
		t.Errorf("of two that are fine: exit code %d, %s", code, stderr)
	}
}
