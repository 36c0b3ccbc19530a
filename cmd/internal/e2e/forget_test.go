package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/sandbox"
	"callhouse/internal/test"
)

// people is the number of callers of twiceSpelled. Each calls in two months, in both spellings.
const people = 20

// twiceSpelled returns calls, newest first, whose numbers are spelled in the national form or in the
// international one.
func twiceSpelled(now time.Time) (calls []map[string]any) {
	for i := range people {
		for n, days := range []int{2, 5, 60, 63} {
			number := fmt.Sprintf("010-2345-67%02d", i)
			if (i+n)%2 == 0 {
				number = fmt.Sprintf("+82102345 67%02d", i)
			}
			start := now.Add(-time.Duration(days)*24*time.Hour - time.Duration(i)*time.Minute).UnixMilli()
			calls = append(calls, map[string]any{"id": fmt.Sprintf("call-%02d-%d", i, n), "call_type": "inbound", "status": "ended",
				"disconnection_reason": "user_hangup", "start_at": start, "end_at": start + 60_000, "from_number": number, "to_number": "02-111-2222",
				"call_analysis": map[string]any{"summary": "ok", "user_sentiment": "positive", "custom_analysis_data": []any{}},
				"call_cost":     map[string]any{"total_cost": "1.00"}, "opt_out_sensitive_data_storage": false,
				"transcript": []any{map[string]any{"role": "user", "content": "yes", "start_at": start + 1, "end_at": start + 2}}})
		}
	}
	return calls
}

// serveCalls serves calls like the service, with the time of a clock, and nothing else.
func serveCalls(t *testing.T, clock *sandbox.ManualClock, calls []map[string]any) string {
	answer := func(w http.ResponseWriter, status int, v any) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Date", clock.Now().UTC().Format(http.TimeFormat))
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(v)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v3/calls" {
			answer(w, http.StatusOK, map[string]any{"items": calls, "next_cursor": nil, "total_count": len(calls)})
			return
		}
		for _, c := range calls {
			if r.URL.Path == "/v3/calls/"+fmt.Sprint(c["id"]) {
				answer(w, http.StatusOK, c)
				return
			}
		}
		answer(w, http.StatusNotFound, map[string]any{"error": map[string]any{"code": "NOT_FOUND", "message": "not found"}})
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// A country that is set, changed or unset later applies to all stored numbers from the next run,
// import or compact on, so that a caller in two spellings is one.
func TestCountryIsChanged(t *testing.T) {
	t.Parallel()
	now := workday
	calls := twiceSpelled(now)
	dir := t.TempDir()
	dump, none, key := filepath.Join(dir, "calls.ndjson"), filepath.Join(dir, "none.ndjson"), filepath.Join(dir, "key")
	var lines strings.Builder
	for _, c := range calls {
		line, err := json.Marshal(c)
		test.OK(t, err)
		lines.WriteString(string(line) + "\n")
	}
	for path, text := range map[string]string{dump: lines.String(), none: "", key: testKey + "\n"} {
		test.OK(t, os.WriteFile(path, []byte(text), 0o600))
	}
	clock := sandbox.NewManualClock(now)
	url := serveCalls(t, clock, calls)
	run := []string{"run", "--resources", "none", "--base-url", url, "--api-key-file", key, "--requests-per-second", "2000", "--requests-per-minute", "100000"}
	load := []string{"import", "--details", dump}
	for _, c := range []struct {
		name        string
		first, then []string
	}{
		{"run", run, run},
		{"import", load, []string{"import", none}},
		{"compact", run, []string{"compact"}}, // two of the months are compacted already
	} {
		t.Run(c.name, func(t *testing.T) {
			co := &company{t: t, clock: clock, warehouse: filepath.Join(t.TempDir(), "warehouse")}
			extract := func(args []string, more ...string) string {
				t.Helper()
				clock.Advance(24 * time.Hour)
				r := extractAt(t.Context(), clock.Now, append(append([]string{}, args...), append(more, "--warehouse", co.warehouse)...)...)
				if r.code != cli.ExitOK {
					t.Fatalf("%v %v: exit %d\n%s", args, more, r.code, r.stderr)
				}
				return r.stdout
			}
			are := func(when string, callers, repeating int64) {
				t.Helper()
				rows, said := co.objectsOf("callers")
				if n, again := number(t, rows[0]["callers"]), number(t, rows[0]["repeat_7d_callers"]); n != callers || again != repeating {
					t.Errorf("%s: %d callers, of whom %d repeat, want %d and %d", when, n, again, callers, repeating)
				}
				if strings.Contains(said, "earlier form") {
					t.Errorf("%s: %s", when, said)
				}
				if r := extractAt(t.Context(), clock.Now, "status", "--warehouse", co.warehouse); strings.Contains(r.stdout, "\n  numbers ") {
					t.Errorf("%s: status: %s", when, r.stdout)
				}
			}
			extract(c.first)
			are("without a country", 2*people, 0)
			extract(c.then, "--country", "KR")
			are("with KR", people, people)
			extract(c.then)
			are("without the setting again", people, people)
			extract(c.then, "--country", "US")
			are("with US", 2*people, 0)
			extract(c.then, "--country", "kr")
			are("with KR again", people, people)
			extract([]string{"verify"})
		})
	}
}
