package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/longtest"
	"callhouse/internal/sandbox"
)

// With --list-only a run fetches only the list's data. A later run without it fetches the transcripts.
func TestListOnly(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	c := found(t, sandbox.Options{World: sandbox.Config{Seed: 37, Calls: 120, Days: 2}})
	plan := c.extract(t.Context(), "plan", "--list-only", "--format", "json")
	var p struct{ Requests int64 }
	if err := json.Unmarshal([]byte(plan.stdout), &p); err != nil || p.Requests != 2 {
		t.Errorf("plan: %v, %v requests for 2 pages:\n%s", err, p.Requests, plan.stderr)
	}
	r := c.mustExtract("--list-only")
	if n := c.service.Server.Stats().ByKind["detail"]; n > 0 {
		t.Errorf("%d records were asked for", n)
	}
	if !strings.Contains(r.stderr, "not requested (--list-only)") {
		t.Errorf("the report says nothing of it:\n%s", r.stderr)
	}
	if n := number(t, c.one("SELECT count(*) AS v FROM calls WHERE settlement = 'settled' AND total_cost IS NOT NULL")); n < 60 {
		t.Errorf("%d calls have their facts", n)
	}
	if n := number(t, c.one("SELECT count(*) AS v FROM calls WHERE turn_count IS NOT NULL OR transcript_state IN ('present', 'missing')")); n > 0 {
		t.Errorf("%d calls have a transcript, or seem to have been asked for it", n)
	}
	c.mustExtract()
	sameAsTruth(t, c)
}

// Once the records of a kind are known to have no transcripts, only a sample is requested, in the
// same run and in later ones. All commands about the warehouse report it. When a record of the kind
// has a transcript, every skipped call is fetched.
func TestRecordsThatNeverPay(t *testing.T) {
	t.Parallel()
	longtest.Only(t)
	c := found(t, sandbox.Options{World: sandbox.Config{Seed: 36, Calls: 600, Days: 2}})
	e := newEditor(c)
	const kind = "dial_no_answer"
	requested := map[string]int{}
	now := false // these calls have transcripts now
	e.edit = func(id string, call map[string]any) bool {
		if call["status"] == "ended" && id[0] < '9' { // many unanswered ones
			call["status"], call["disconnection_reason"], call["call_analysis"], call["call_cost"] = "not_connected", kind, nil, nil
		}
		if call["status"] == "not_connected" {
			call["recording_url"] = "https://recordings.example/" + id
			if _, own := call["transcript"]; own {
				if call["start_at"] != call["end_at"] && call["end_at"] != nil {
					requested[fmt.Sprint(call["disconnection_reason"])]++
				}
				if call["transcript"] = nil; now {
					call["transcript"] = []any{map[string]any{"role": "agent", "content": "Nobody is there.", "start_at": call["start_at"], "end_at": call["end_at"]}}
				}
			}
		}
		return true
	}
	mustRun := func() result {
		t.Helper()
		r := e.extract()
		r.exits(t, cli.ExitOK)
		return r
	}
	count := func(where string) int64 {
		t.Helper()
		return number(t, c.one("SELECT count(*) AS v FROM calls WHERE NOT opt_out_sensitive_data_storage AND end_at > start_at AND disconnection_reason = '"+kind+"' AND "+where))
	}
	r := mustRun()
	all, skipped := count("true"), count("transcript_state = 'skipped'")
	if all < 250 || int64(requested[kind])+skipped != all || skipped < all-50-64-all/25 {
		t.Fatalf("of %d calls that nobody answered, %d were asked for, and %d passed over", all, requested[kind], skipped)
	}
	if n := number(t, c.one("SELECT count(*) AS v FROM calls WHERE transcript_state = 'skipped' AND settlement <> 'settled'")); n > 0 {
		t.Errorf("%d calls that were passed over are not settled", n)
	}
	if n := number(t, c.one("SELECT count(*) AS v FROM calls WHERE status = 'ended' AND duration_ms > 0 AND transcript_state NOT IN ('present', 'empty', 'withheld')")); n > 0 {
		t.Errorf("%d calls that lasted and ended lack their transcript", n)
	}
	if !strings.Contains(r.stderr, "calls of their kind never had one") || number(t, c.one("SELECT max(calls_skipped) AS v FROM runs")) != skipped {
		t.Errorf("the run says nothing of the calls that it passed over:\n%s", r.stderr)
	}
	if r = c.query("coverage", "--format", "csv"); !strings.Contains(r.stdout, fmt.Sprintf("transcript not asked for by its kind,info,%d,", skipped)) {
		t.Errorf("coverage does not count %d calls that were passed over:\n%s", skipped, r.stdout)
	}
	if r = c.extract(t.Context(), "verify"); r.code != cli.ExitOK {
		t.Errorf("verify: %s%s", r.stdout, r.stderr)
	}

	// The next night fetches a sample.
	before := requested[kind]
	c.clock.Advance(24 * time.Hour)
	mustRun()
	if fresh := count("true") - all; fresh < 20 || int64(requested[kind]-before) > 1+fresh/10 {
		t.Errorf("of %d new calls %d were asked for", fresh, requested[kind]-before)
	}

	// Until one of that kind has a transcript.
	now = true
	for night := range 30 {
		if c.clock.Advance(24 * time.Hour); night > 0 && count("transcript_state = 'present'") > 0 {
			break
		}
		mustRun()
	}
	if n := count("transcript_state IN ('skipped', 'pending')"); n > 0 || count("transcript_state = 'present'") < skipped {
		t.Errorf("%d calls are not asked for yet, and %d have a transcript", n, count("transcript_state = 'present'"))
	}
}

// If the list has neither analyses nor costs, the records are their only source, and none is skipped.
func TestNoRecordIsPassedOverOfABriefList(t *testing.T) {
	t.Parallel()
	longtest.Only(t) // TestSkippedCallsAreSettledByTheirRecords in calls
	c := found(t, sandbox.Options{World: sandbox.Config{Seed: 38, Calls: 500, Days: 2}})
	e := newEditor(c)
	e.edit = func(id string, call map[string]any) bool {
		if call["status"] == "ended" && id[0] < '9' { // many unanswered ones
			call["status"], call["disconnection_reason"] = "not_connected", "dial_no_answer"
		}
		if _, own := call["transcript"]; own {
			call["transcript"] = nil
		} else {
			delete(call, "call_analysis")
			delete(call, "call_cost")
		}
		return true
	}
	e.extract().exits(t, cli.ExitOK)
	if n := number(t, c.one("SELECT count(*) AS v FROM calls WHERE status = 'not_connected' AND turn_count IS NULL AND NOT opt_out_sensitive_data_storage")); n > 0 {
		t.Errorf("%d records were not asked for", n)
	}
}
