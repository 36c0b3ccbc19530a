package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/longtest"
	"callhouse/internal/sandbox"
	"callhouse/internal/test"
)

var nightCalls = longtest.Int("night-calls", 200, 20000, "calls known before the night of TestNightCostsTheMinimum")

// instant returns the instant, in milliseconds, of a statement.
func (c *company) instant(statement string) int64 {
	c.t.Helper()
	n, err := c.one(statement).(json.Number).Int64()
	test.OK(c.t, err)
	return n
}

// A night costs the pages of the last three days, and older ones with unsettled calls (failed calls
// never get an analysis, and are listed until they expire), and one detail for each call that ended
// since the night before and can have a transcript. Without new calls it costs only the pages.
func TestNightCostsTheMinimum(t *testing.T) {
	t.Parallel()
	known := int64(*nightCalls)
	days := min(200, int(known/50)) // so that a night has one in two hundred calls, and some
	c := found(t, sandbox.Options{World: sandbox.Config{Seed: 7, Calls: known, Days: days}})
	c.mustExtract()
	before, evening := c.service.Server.Stats(), c.clock.Now()
	oldest := c.instant("SELECT epoch_ms(min(start_at)) FROM calls WHERE settlement IN ('open', 'ended')")

	c.clock.Advance(24 * time.Hour)
	now := c.clock.Now()
	from := min(oldest, now.Add(-72*time.Hour).UnixMilli())
	due, listed := int64(0), int64(0)
	for v := range c.service.Server.World().Visible(now) {
		if !v.Started || v.StartAt >= from {
			listed++
		} else {
			break // newest first
		}
		fresh := v.EndAt > evening.UnixMilli() || !v.Over
		talked := v.Status == "ended" || v.Status == "error" && v.EndAt > v.StartAt
		if v.Over && fresh && talked && !v.OptedOut {
			due++
		}
	}
	c.mustExtract()
	after := c.service.Server.Stats()
	minimum := (listed+99)/100 + due
	spent := after.Requests - before.Requests
	t.Logf("%d calls known; the night had %d requests (%d pages, %d details), the minimum is %d", known, spent,
		after.ByKind["page"]-before.ByKind["page"], after.ByKind["detail"]-before.ByKind["detail"], minimum)
	if spent > minimum+max(2, minimum/50) {
		t.Errorf("the night had %d requests, the minimum is %d", spent, minimum)
	}

	c.mustExtract()
	again := c.service.Server.Stats()
	if n := again.ByKind["detail"] - after.ByKind["detail"]; n != 0 {
		t.Errorf("a night with nothing new fetched %d details", n)
	}
	if n := again.ByKind["page"] - after.ByKind["page"]; n > (listed+99)/100+1 { // calls have expired since: no more pages than before
		t.Errorf("a night with nothing new listed %d pages, %d calls are in its window", n, listed)
	}
}

// shippedMemory is the memory limit of deploy/ and docs/reference/operations.md.
const shippedMemory = 512 << 20

// Calls of the maximum size, and a larger one, fit into the memory of a run and do not prevent other calls.
func TestGiantCallsFitIntoMemory(t *testing.T) {
	if *every > 1 {
		t.Skip("it builds the real program, and asks for its memory: make long")
	}
	t.Parallel()
	bin := filepath.Join(t.TempDir(), "extract")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", bin, "callhouse/cmd/extract").CombinedOutput(); err != nil {
		t.Fatalf("build extract: %v\n%s", err, out)
	}
	many := func(part string, n int) string { return strings.TrimSuffix(strings.Repeat(part+",", n), ",") }
	giants := []string{
		`"transcript":[` + many(`{"role":"user","content":"hello there, this is a turn"}`, 99_000) + `]`,
		`"transcript":[{"role":"user","content":"` + strings.Repeat("x", 7<<20) + `"}]`,
		`"unknown":[` + many(`{"name":"a","value":1}`, 300_000) + `]`,
		`"transcript":[` + many(`{}`, 1_000_000) + `]`,                                                      // more parts than a call may have
		`"transcript":[` + many(`{"role":"user","content":"hello there, this is a turn"}`, 1_000_000) + `]`, // too large
		`"transcript":[{"role":"user","content":"hello"}]`,
	}
	now := time.Now().Add(-time.Hour).UnixMilli()
	call := func(i int) string {
		return fmt.Sprintf(`{"id":"call-%d","status":"ended","start_at":%d,"end_at":%d,"call_analysis":{"summary":"s"},"call_cost":{"total_cost":"1.00"}`,
			i, now-int64(i), now-int64(i)+1)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if i := 0; strings.HasPrefix(r.URL.Path, "/v3/calls/") {
			_, _ = fmt.Sscanf(r.URL.Path, "/v3/calls/call-%d", &i)
			fmt.Fprintf(w, "%s,%s}", call(i), giants[i%len(giants)])
			return
		}
		var items []string
		for i := range giants {
			items = append(items, call(i)+"}")
		}
		fmt.Fprintf(w, `{"items":[%s],"next_cursor":null,"total_count":%d}`, strings.Join(items, ","), len(items))
	}))
	defer s.Close()
	c := &company{t: t, warehouse: filepath.Join(t.TempDir(), "w")}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	// The limit is on writable mappings. The peak resident set cannot be measured, because it
	// starts with that of the parent.
	cmd := exec.CommandContext(ctx, "sh", "-c", fmt.Sprintf(`ulimit -d %d; exec "$@"`, shippedMemory>>10), "sh", bin,
		"run", "--warehouse", c.warehouse, "--base-url", s.URL, "--requests-per-second", "100", "--requests-per-minute", "1000")
	cmd.Env = append(os.Environ(), "CALLHOUSE_API_KEY=k", "CALLHOUSE_CONFIG="+os.DevNull) // it would read this machine's configuration
	out, _ := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != cli.ExitIncomplete {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	for _, why := range []string{"more than 100000 turns", "body over 8 MiB", "set aside    2 calls"} {
		if !strings.Contains(string(out), why) {
			t.Errorf("the run does not say %q:\n%s", why, out)
		}
	}
	if n := c.one("SELECT min(calls_set_aside) AS v FROM runs"); n != json.Number("2") {
		t.Errorf("%v calls are set aside by the run", n)
	}
	if n := c.one("SELECT sum(turn_count) AS v FROM calls WHERE transcript_state = 'present'"); n != json.Number("99002") {
		t.Errorf("%v turns are stored", n)
	}
}

// A run's last line says what the next night costs. With the new calls, that is what it then costs.
func TestNextNight(t *testing.T) {
	longtest.Only(t)
	c := found(t, sandbox.Options{World: sandbox.Config{Seed: 5, Calls: 60, Days: 2}})
	var said, before int64
	for night := range 3 {
		r := c.extract(t.Context(), "--resources", "all", "--transcripts", "auto")
		stats := c.service.Server.Stats()
		spent := stats.Requests - before
		before = stats.Requests
		fresh := number(t, c.one("SELECT calls_new FROM runs ORDER BY started_at DESC LIMIT 1"))
		if night > 0 && (spent < said*2/3 || spent > said+fresh) {
			t.Errorf("night %d took %d requests for %d new calls, and the one before said %d", night, spent, fresh, said)
		}
		m := regexp.MustCompile(`  next night +about ([0-9,]+) requests? [^\n]*\n$`).FindStringSubmatch(r.stderr)
		if m == nil {
			t.Fatalf("night %d does not say: %s", night, r.stderr)
		}
		said, _ = strconv.ParseInt(strings.ReplaceAll(m[1], ",", ""), 10, 64)
		c.clock.Advance(24 * time.Hour)
	}
}
