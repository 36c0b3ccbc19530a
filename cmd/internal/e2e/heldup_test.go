package e2e

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/longtest"
	"callhouse/internal/sandbox"
)

// If anything besides calls fails, a night's process has all transcripts, exits with code 3 at
// most, and reports on one line what is missing.
func TestNightsThatNothingHoldsUp(t *testing.T) {
	notUnderRace(t)
	answer := func(code int, retryAfter, body string) func(int64, http.ResponseWriter) {
		return func(n int64, w http.ResponseWriter) {
			if retryAfter != "" {
				w.Header().Set("Retry-After", retryAfter)
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			_, _ = fmt.Fprint(w, strings.ReplaceAll(body, "#", fmt.Sprint(n)))
		}
	}
	const no = `{"error":{"code":"NO","message":"no"}}`
	const five = `{"items":[{"id":"1"},{"id":"2"},{"id":"3"},{"id":"4"},{"id":"5"}],"next_cursor":"#","total_count":5}`
	const later = `; not requested before \d{4}-\d\d-\d\d \d\d:\d\d UTC, unless with --full`
	const endless = `tools: its list does not end: 5 consecutive pages without new objects` + later
	tried, i := longtest.Each(6), 0
	for name, tc := range longtest.Sorted(map[string]struct {
		path  string
		fails func(n int64, w http.ResponseWriter)
		line  string // of the report, a pattern
		most  int64  // requests for it
	}{
		"v2 always answers 429":                {"/v2/calls/list", answer(429, "1", no), `v2 pages were abandoned: 429 rate limited, NO: no`, 8},
		"a list always answers 429":            {"/v3/tools", answer(429, "1", no), `tools: 429 rate limited, NO: no` + later, 8},
		"a list answers 401":                   {"/v3/tools", answer(401, "", no), `tools: 401 unauthorized, NO: no`, 8},
		"a list is down for an hour":           {"/v3/tools", answer(503, "3500", no), `tools: status 503, NO: no` + later, 8},
		"a list has an endless cursor":         {"/v3/tools", answer(200, "", `{"items":[],"next_cursor":"#","total_count":5}`), endless, 30},
		"a list has the same objects for ever": {"/v3/tools", answer(200, "", five), endless, 30},
	}) {
		if i++; !tried(i - 1) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := foundNow(t, sandbox.Options{World: sandbox.Config{Seed: 15, Calls: 100, Days: 2}})
			var asked atomic.Int64
			proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == tc.path {
					tc.fails(asked.Add(1), w)
					return
				}
				c.service.Server.ServeHTTP(w, r)
			}))
			defer proxy.Close()
			cmd := exec.CommandContext(t.Context(), linkProgram(t, t.TempDir(), "extract"), "run", "--warehouse", c.warehouse,
				"--base-url", proxy.URL, "--api-key-file", c.keyFile, "--resources", "all", "--transcripts", "auto",
				"--organization-id", c.service.Server.Organisation().ID(), "--requests-per-second", "1000", "--requests-per-minute", "60000")
			cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + t.TempDir()}
			said, err := cmd.CombinedOutput()
			code := 0
			if exit, ok := errors.AsType[*exec.ExitError](err); ok {
				code = exit.ExitCode()
			} else if err != nil {
				t.Fatal(err)
			}
			if code != cli.ExitOK && code != cli.ExitIncomplete {
				t.Errorf("exit code %d", code)
			}
			if n := asked.Load(); n == 0 || n > tc.most {
				t.Errorf("%d requests for it", n)
			}
			_, report, _ := strings.Cut(string(said), "\nrun 20")
			if lines := regexp.MustCompile(`(?m)^ +`+tc.line+`$`).FindAllString(report, -1); len(lines) != 1 {
				t.Errorf("%d lines say what is missing, of\n%s", len(lines), said)
			}
			if n := len(regexp.MustCompile(`(?m)^ +(\w+: |v2 pages were)`).FindAllString(report, -1)); n != 1 {
				t.Errorf("%d lines say that something is missing, of\n%s", n, report)
			}
			sameAsTruth(t, c)
		})
	}
}
