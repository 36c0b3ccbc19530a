package e2e

import (
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
	"callhouse/internal/test"
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
		if r.code != code || !strings.Contains(r.stderr, message) {
			t.Errorf("%s: exit code %d, want %d and %q:\n%s", what, r.code, code, message, r.stderr)
		}
		if told := board.last(); told != ping {
			t.Errorf("%s: pinged %q, want %q", what, told, ping)
		}
		if strings.Contains(r.stderr, "a-secret") {
			t.Errorf("%s: the log tells where it pings:\n%s", what, r.stderr)
		}
	}
	expect("a good run", run(), cli.ExitOK, "GET /a-secret", " done in ")
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
	test.OK(t, err)
	w, err := sink.Open(sink.Options{Root: c.warehouse, RunID: layout.RunID(time.Now(), 5)})
	test.OK(t, err)
	expect("a held warehouse", run(), cli.ExitLocked, "", "another run holds")
	expect("no key beside a run", run("--api-key-file="), cli.ExitUsage, "POST /a-secret/fail", "no API key")
	if after, err := os.ReadFile(n.metrics); err != nil || string(after) != string(before) {
		t.Errorf("the metrics were written anew: %v\n%s", err, after)
	}
	test.OK(t, w.Close())
	// A failing ping only logs a warning.
	board.Close()
	r := run()
	if r.code != cli.ExitOK || !strings.Contains(r.stderr, "cannot ping") || strings.Contains(r.stderr, "a-secret") {
		t.Errorf("a run that cannot ping: exit code %d\n%s", r.code, r.stderr)
	}
}

// If the service counts calls that it does not list, the run is incomplete, and says so in the report,
// the table runs and the status. A count that is wrong for queries that cannot have any call is
// ignored. Nothing is lost either way.
func TestCountThatIsWrong(t *testing.T) {
	c := found(t, sandbox.Options{World: sandbox.Config{Seed: 32, Calls: 40, Days: 2}, Faults: sandbox.Faults{{Kind: sandbox.FaultTotal, Rate: 1}}})
	n := &nights{company: c}
	const says = "the list ends after "
	seen := map[int]bool{}
	for try := 0; len(seen) < 2 && try < 40; try++ { // the error of the count depends on the number of the request
		c.clock.Advance(time.Minute)
		r := c.extract(t.Context(), "--full")
		outcome := fmt.Sprint(n.sql("SELECT outcome FROM runs ORDER BY run_id DESC LIMIT 1")[0]["outcome"])
		want := map[int]string{cli.ExitOK: "done", cli.ExitIncomplete: "incomplete"}[r.code]
		if told := strings.Contains(r.stderr, says); outcome != want || told != (r.code == cli.ExitIncomplete) {
			t.Errorf("exit code %d, outcome %s\n%s", r.code, outcome, r.stderr)
		}
		seen[r.code] = true
	}
	if len(seen) != 2 {
		t.Errorf("exit codes %v", seen)
	}
	sameAsTruth(t, c)
}
