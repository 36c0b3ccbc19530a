package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/layout"
	"callhouse/internal/sandbox"
	"callhouse/internal/sink"
)

// switchboard is a dead man's switch that records its pings.
type switchboard struct {
	*httptest.Server
	mu   sync.Mutex
	told []string
}

func newSwitchboard(t *testing.T) *switchboard {
	s := new(switchboard)
	s.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.told = append(s.told, r.Method+" "+r.URL.Path)
	}))
	t.Cleanup(s.Close)
	return s
}

// last returns the pings since the last call.
func (s *switchboard) last() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	told := strings.Join(s.told, ", ")
	s.told = nil
	return told
}

// objects parses a JSON log, in which every line is an object.
func objects(t *testing.T, log string) (out []map[string]any) {
	t.Helper()
	for line := range strings.Lines(log) {
		var o map[string]any
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			t.Errorf("no object: %q", line)
		}
		out = append(out, o)
	}
	if len(out) == 0 {
		t.Fatal("the log is empty")
	}
	return out
}

// Log, metrics and ping report good and bad runs.
func TestRunsAreWatched(t *testing.T) {
	t.Setenv("CALLHOUSE_API_KEY", "")
	board := newSwitchboard(t)
	c := found(t, sandbox.Options{World: sandbox.Config{Seed: 31, Calls: 60, Days: 2}})
	n := &nights{company: c, metrics: filepath.Join(filepath.Dir(c.warehouse), "callhouse.prom")}
	run := func(more ...string) result {
		t.Helper()
		return extractAt(t.Context(), c.clock.Now, append(append(n.args(), "--ping-url", board.URL+"/a-secret"), more...)...)
	}
	expect := func(what string, r result, code int, ping, message string) {
		t.Helper()
		log := objects(t, r.stderr)
		last := log[len(log)-1]
		if r.code != code || !strings.Contains(fmt.Sprint(last["msg"]), message) || code != 0 && last["exit_code"] != float64(code) {
			t.Errorf("%s: exit code %d, want %d and %q:\n%s", what, r.code, code, message, r.stderr)
		}
		if told := board.last(); told != ping {
			t.Errorf("%s: pinged %q, want %q", what, told, ping)
		}
		if strings.Contains(r.stderr, "a-secret") {
			t.Errorf("%s: the log tells where it pings:\n%s", what, r.stderr)
		}
	}
	expect("a good run", run(), cli.ExitOK, "GET /a-secret", "run ended")
	good := n.seen()
	c.service.Server.Revoke(testKey)
	expect("a revoked key", run(), cli.ExitFailed, "POST /a-secret/fail", "does not accept the API key")
	c.service.Server.Restore(testKey)
	expect("no key", run("--api-key-file="), cli.ExitUsage, "POST /a-secret/fail", "no API key")
	bad := n.seen()
	if bad["last_run_exit_code"] != 2 || bad["last_success_timestamp_seconds"] != good["last_success_timestamp_seconds"] || bad["calls"] != good["calls"] {
		t.Errorf("after a run without a key the metrics are %v", bad)
	}

	// Neither a run that finds the warehouse locked, nor one without a key, changes the holder's
	// metrics or sends its pings.
	before, err := os.ReadFile(n.metrics)
	if err != nil {
		t.Fatal(err)
	}
	w, err := sink.Open(sink.Options{Root: c.warehouse, RunID: layout.RunID(time.Now(), 5)})
	if err != nil {
		t.Fatal(err)
	}
	expect("a held warehouse", run(), cli.ExitLocked, "", "another run holds")
	expect("no key beside a run", run("--api-key-file="), cli.ExitUsage, "POST /a-secret/fail", "no API key")
	if after, err := os.ReadFile(n.metrics); err != nil || string(after) != string(before) {
		t.Errorf("the metrics were written anew: %v\n%s", err, after)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	// A failing ping only logs a warning.
	board.Close()
	r := run()
	if log := objects(t, r.stderr); r.code != cli.ExitOK || log[len(log)-1]["msg"] != "cannot ping" || strings.Contains(r.stderr, "a-secret") {
		t.Errorf("a run that cannot ping: exit code %d\n%s", r.code, r.stderr)
	}
}

// A failed data test makes the exit code 3, and is in the report, the table runs, the metrics and
// the status. Here the service's total exceeds its calls.
func TestDataTestThatFails(t *testing.T) {
	c := found(t, sandbox.Options{World: sandbox.Config{Seed: 32, Calls: 40, Days: 2}, Faults: sandbox.Faults{{Kind: sandbox.FaultTotal, Rate: 1}}})
	n := &nights{company: c, metrics: filepath.Join(filepath.Dir(c.warehouse), "callhouse.prom")}
	const says = "1 data test failed: total: the service reports "
	for try := 0; ; try++ { // the error of the total depends on the number of the request
		c.clock.Advance(time.Minute)
		r := c.extract(t.Context(), "--full", "--metrics-file", n.metrics)
		row := n.sql("SELECT outcome, error FROM runs ORDER BY run_id DESC LIMIT 1")[0]
		outcome, text := fmt.Sprint(row["outcome"]), fmt.Sprint(row["error"])
		m := n.seen()
		if r.code == cli.ExitOK && try < 20 {
			if outcome != "done" || m["last_run_data_test_failures"] != 0 {
				t.Errorf("a total that is near enough: outcome %s, metrics %v", outcome, m)
			}
			continue
		}
		if r.code != cli.ExitIncomplete || outcome != "incomplete" || !strings.Contains(text, says) || !strings.Contains(r.stderr, says) ||
			!strings.Contains(r.stderr, "  data test    total: ") || m["last_run_data_test_failures"] != 1 {
			t.Errorf("exit code %d, outcome %s (%s), metrics %v\n%s", r.code, outcome, text, m, r.stderr)
		}
		break
	}
	if s := c.extract(t.Context(), "status"); s.code != cli.ExitIncomplete || !strings.Contains(s.stdout, says) {
		t.Errorf("status has exit code %d\n%s", s.code, s.stdout)
	}
	sameAsTruth(t, c)
}
