package e2e

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/alert"
	"callhouse/internal/longtest"
	"callhouse/internal/sandbox"
	"callhouse/internal/test"
)

// inbox records the requests to webhooks.
type inbox struct {
	*httptest.Server
	mu   sync.Mutex
	got  []string
	down bool
}

func newInbox(t *testing.T) *inbox {
	b := &inbox{}
	b.Server = httptest.NewServer(b)
	t.Cleanup(b.Close)
	return b
}

func (b *inbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.down {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	b.got = append(b.got, r.Method+" "+r.URL.Path)
}

// alarmed writes rules, one of which many calls match, for the channels of an inbox.
func alarmed(t *testing.T, b *inbox) string {
	t.Helper()
	dir := t.TempDir()
	slack, rules := filepath.Join(dir, "slack"), filepath.Join(dir, "alerts.toml")
	text := `page = "https://calls.example.com"
[channels.hook]
type = "webhook"
url = "` + b.URL + `/hook"
[channels.slack]
type = "slack"
url_file = "slack"
[channels.journal]
type = "stdout"
[[rules]]
name = "any calls"
report = "durations"
column = "calls"
window = "2d"
above = 1
to = ["hook", "slack", "journal"]
`
	test.OK(t, os.WriteFile(rules, []byte(text), 0o600))
	test.OK(t, os.WriteFile(slack, []byte(b.URL+"/services/T0/B0/verysecret\n"), 0o600))
	return rules
}

// A run evaluates the rules. If a channel is down, the run warns, status shows the pending
// messages, and the next evaluation sends them.
func TestAlertsAfterARun(t *testing.T) {
	c := found(t, sandbox.Options{World: sandbox.Config{Seed: 40, Calls: 40, Days: 1}})
	bin := t.TempDir()
	linkProgram(t, bin, "query")
	t.Setenv("PATH", bin)
	b := newInbox(t)
	rules := alarmed(t, b)
	b.down = true
	r := c.mustExtract("--alerts", rules)
	if len(b.got) != 0 || !strings.Contains(r.stderr, "WARN") || !strings.Contains(r.stderr, "2 messages waiting, to hook: it responded with status 503") ||
		!strings.Contains(r.stderr, `any calls: calls above 1`) {
		t.Errorf("while the channels are down: %v\n%s", b.got, r.stderr)
	}
	status := func() string { return c.extract(t.Context(), "status", "--max-age", "0s", "--alerts", rules).stdout }
	if s := status(); !strings.Contains(s, "1 alert running") || !strings.Contains(s, "2 messages waiting, to hook: it responded with status 503") {
		t.Errorf("status while the channels are down:\n%s", s)
	}
	b.down = false
	c.mustExtract("--alerts", rules)
	if s := status(); len(b.got) != 2 || strings.Contains(s, "waiting") || !strings.Contains(s, "1 alert running") {
		t.Errorf("when they are up: %v\n%s", b.got, s)
	}
	if c.mustExtract("--alerts", rules); len(b.got) != 2 {
		t.Errorf("told again: %v", b.got)
	}
	raw, err := os.ReadFile(filepath.Join(c.warehouse, "alerts.json"))
	if err != nil || strings.Contains(string(raw)+r.stderr, "verysecret") {
		t.Errorf("%v; the state or the log has the address of Slack:\n%s", err, raw)
	}
	none := filepath.Join(bin, "none.toml")
	c.extract(t.Context(), "--alerts", none).reports(t, cli.ExitOK, "none.toml")
	if r := c.extract(t.Context(), "status", "--max-age", "0s", "--alerts", none); r.code != cli.ExitIncomplete ||
		!strings.HasPrefix(r.stdout, "alerts: the rules were not evaluated: ") || !strings.Contains(r.stdout, "none.toml") {
		t.Errorf("status without rules: exit code %d\n%s", r.code, r.stdout)
	}
	c.mustExtract("--alerts", rules)
	c.extract(t.Context(), "status", "--max-age", "0s", "--alerts", rules).exits(t, cli.ExitOK)
	c.extract(t.Context(), "verify").exits(t, cli.ExitOK)
}

// A process that follows evaluates the rules after its commits, without waiting for the result.
func TestAlertsWhileFollowing(t *testing.T) {
	longtest.Only(t) // it waits for a process that follows by the real clock
	c := found(t, sandbox.Options{World: sandbox.Config{Seed: 42, Calls: 400, Days: 1, Steady: true}})
	bin := t.TempDir()
	linkProgram(t, bin, "query")
	t.Setenv("PATH", bin)
	b := newInbox(t)
	rules := alarmed(t, b)
	raw, err := os.ReadFile(rules)
	if err == nil {
		err = os.WriteFile(rules, []byte(strings.Replace(string(raw), `"2d"`, `"6h"`, 1)), 0o600)
	}
	test.OK(t, err)
	c.mustExtract()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan result, 1)
	go func() { ended <- c.extract(ctx, "follow", "--follow-every", "1s..2s", "--alerts", rules) }()
	evaluated := func() bool {
		s, err := alert.Read(c.warehouse)
		return err == nil && s != nil && s.Count() == 1 && len(s.Outbox) == 0
	}
	for range 1200 { // the process uses the real clock
		if evaluated() {
			break
		}
		c.clock.Advance(5 * time.Second)
		time.Sleep(50 * time.Millisecond)
	}
	stop()
	if r := <-ended; r.code != cli.ExitOK || len(b.got) != 2 || !strings.Contains(r.stderr, "any calls: calls above 1") {
		t.Errorf("exit code %d, told %v\n%s", r.code, b.got, r.stderr)
	}
}
