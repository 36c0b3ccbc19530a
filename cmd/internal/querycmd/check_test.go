package querycmd_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/schema"
	sqlfiles "callhouse/sql"
)

// tested creates a warehouse in a new working folder, with a run that ended hours ago, and with the given faults.
func tested(t *testing.T, hours int, calls, turns, items []row) {
	t.Helper()
	t.Chdir(t.TempDir())
	now := time.Now().UnixMilli()
	start := now - 9*24*time.Hour.Milliseconds()
	good := row{"call_id": "good", "status": "ended", "call_type": "web", "disconnection_reason": "user_hangup", "start_at": start,
		"end_at": start + 1000, "duration_ms": int64(1000), "total_cost": "1.5000", "turn_count": int64(1)}
	analyticstest.Write(t, "warehouse", 1, analyticstest.Data{
		Calls: append([]row{good}, calls...),
		Turns: append([]row{{"call_id": "good", "turn": int64(0), "role": "user", "call_start_at": start}}, turns...),
		Items: append([]row{{"call_id": "good", "position": int64(0), "name": "n", "call_start_at": start}}, items...),
		Runs:  []row{{"run_id": "r1", "outcome": "done", "ended_at": now - int64(hours)*time.Hour.Milliseconds()}},
	})
}

type found struct {
	Check, Severity string
	Violations      int64
}

func checks(t *testing.T, code int, args ...string) map[string]found {
	t.Helper()
	r := run(t, "", append([]string{"check", "--format", "json"}, args...)...)
	var all []found
	if err := json.Unmarshal([]byte(r.out), &all); err != nil || r.code != code {
		t.Fatalf("%v; want exit code %d:\n%s", err, code, r)
	}
	by := map[string]found{}
	for _, f := range all {
		by[f.Check] = f
	}
	return by
}

// Each built-in test finds its fault, and nothing in a sound warehouse.
func TestChecksOfOurs(t *testing.T) {
	tested(t, 1, nil, nil, nil)
	for name, f := range checks(t, cli.ExitOK) {
		if f.Violations != 0 {
			t.Errorf("%s found %d in a good warehouse", name, f.Violations)
		}
	}
	now := time.Now().UnixMilli()
	day := 24 * time.Hour.Milliseconds()
	ended := func(id string, more row) row {
		r := row{"call_id": id, "status": "ended", "start_at": now - day, "end_at": now - day + 5}
		for k, v := range more {
			r[k] = v
		}
		return r
	}
	tested(t, 30, []row{
		ended("twice", nil), ended("twice", row{"start_at": now - 2*day, "end_at": now - day}),
		ended("back", row{"end_at": now - 2*day}), ended("gift", row{"total_cost": "-0.0001"}),
		ended("silent", row{"turn_count": int64(2)}), ended("odd", row{"status": "vanished", "call_type": "fax", "disconnection_reason": "boredom"}),
		ended("odd too", row{"status": "vanished"}), ended("soon", row{"start_at": now + 2*day, "end_at": nil, "status": "queued"}),
		ended("waits", row{"start_at": now - 5*day, "end_at": now - 4*day, "transcript_state": "pending"}),
	}, []row{{"call_id": "nobody", "turn": int64(0)}}, []row{{"call_id": "nobody", "position": int64(0)}, {"call_id": "none", "position": int64(0)}})
	want := map[string]int64{"unique_call_id": 1, "end_before_start": 1, "negative_cost": 1, "turn_count": 1, "unknown_status": 1,
		"unknown_call_type": 1, "unknown_disconnection_reason": 1, "start_in_future": 1, "transcript_overdue": 1,
		"turns_without_call": 1, "items_without_call": 2, "freshness": 1}
	got := checks(t, cli.ExitIncomplete)
	for _, c := range sqlfiles.Checks() {
		if f := got[c.Name]; f.Violations != want[c.Name] || (f.Severity == "warn") != c.Warn {
			t.Errorf("%s found %d, want %d", c.Name, f.Violations, want[c.Name])
		}
		if c.About == "" {
			t.Errorf("%s does not say what it finds", c.Name)
		}
		delete(want, c.Name)
	}
	if len(want) > 0 {
		t.Errorf("there are no tests called %v", want)
	}
	two := []string{"freshness", "unknown_status", "--max-age", "31h"}
	if got := checks(t, cli.ExitOK, two...); len(got) != 2 || got["unknown_status"].Violations != 1 {
		t.Errorf("tests by their names, and a warning: %v", got)
	}
	if r := run(t, "", append([]string{"check", "items_without_call", "unique_call_id"}, two...)...); r.code != cli.ExitIncomplete || !strings.Contains(r.out, "items_without_call: first 2 of 2 rows\n") ||
		!strings.Contains(r.stderr, "2 of 4 tests failed: ") {
		t.Error(r)
	}
	for _, args := range []string{"no_such_test", "--max-age -1h"} {
		run(t, "", append([]string{"check"}, strings.Fields(args)...)...).exits(t, cli.ExitUsage)
	}
}

// The call types known to the test are those known to extract.
func TestChecksKnowTheCallTypes(t *testing.T) {
	c := sqlfiles.Checks()[slices.IndexFunc(sqlfiles.Checks(), func(c *sqlfiles.Check) bool { return c.Name == "unknown_call_type" })]
	words := strings.Split(regexp.MustCompile(`'([a-z_|]+)'`).FindStringSubmatch(c.SQL)[1], "|")
	for _, word := range words {
		if !schema.Calls.Columns[schema.Calls.Column("call_type")].Knows([]byte(word)) {
			t.Errorf("extract does not know %q", word)
		}
	}
	if len(words) != 6 {
		t.Errorf("it knows %d words, want 6", len(words))
	}
}
