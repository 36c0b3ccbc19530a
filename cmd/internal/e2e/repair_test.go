package e2e

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/layout"
	"callhouse/internal/longtest"
	"callhouse/internal/sandbox"
	"callhouse/internal/schema"
	"callhouse/internal/test"
)

// facts is the users' view of calls, in one order. Links to recordings are signed again in every
// answer.
const facts = "SELECT c.* EXCLUDE (fetched_at, run_id, first_seen_at, recording_url), (SELECT string_agg(role || coalesce(content, ''), '|' ORDER BY turn) " +
	"FROM transcript_turns t WHERE t.call_id = c.call_id) AS said, (SELECT string_agg(name || value::VARCHAR, '|' ORDER BY position) " +
	"FROM analysis_items i WHERE i.call_id = c.call_id) AS found FROM calls c ORDER BY call_id"

// flip flips a bit of a file in place, which damages every snapshot that shares it.
func flip(t *testing.T, s *layout.Snapshot, f *layout.File) {
	t.Helper()
	raw := test.Read(t, s.Path(f))
	raw[len(raw)/2] ^= 4
	test.OK(t, os.WriteFile(s.Path(f), raw, 0o600))
}

// If a day's calls are unreadable in all snapshots, run, rollback and every report fail with a
// hint. repair fetches only that day again: every number is as before, and forgotten calls stay
// forgotten.
func TestADamagedDayIsRepaired(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	c := found(t, sandbox.Options{World: sandbox.Config{Seed: 5, Calls: 120, Days: 20}})
	c.mustExtract()
	c.clock.Advance(26 * time.Hour)
	c.mustExtract()
	s, err := layout.Current(c.warehouse)
	test.OK(t, err)
	files := s.Manifest.FilesOf(schema.Calls.Name)
	day := files[len(files)/2]
	forgotten := c.one("SELECT min(call_id) FROM calls WHERE start_at::DATE = '" + day.Period + "' AND turn_count > 0").(string)
	c.extract(t.Context(), "forget", "--yes", "--call-id", forgotten).exits(t, cli.ExitOK)
	for range 2 { // so that two snapshots share the damaged file
		c.clock.Advance(time.Hour)
		c.mustExtract("--since", "1d")
	}
	if s, err = layout.Current(c.warehouse); err != nil {
		t.Fatal(err)
	}
	day = s.Manifest.FileOf(schema.Calls.Name, day.Period)
	before := c.query("sql", facts, "--format", "csv")
	flip(t, s, day)

	for _, args := range [][]string{{"verify", "--all"}, {"rollback"}} {
		c.extract(t.Context(), args...).reports(t, cli.ExitFailed, "extract repair")
	}
	if r := c.extract(t.Context(), "status"); !strings.HasPrefix(r.stdout, "damaged: ") || !strings.Contains(r.stdout, "\n  help          extract repair") || r.code != cli.ExitFailed {
		t.Errorf("status: %+v", r)
	}
	if r := c.query("sentiment"); r.code != cli.ExitFailed || !strings.Contains(r.stderr, filepath.Base(day.Path)) ||
		!strings.Contains(r.stderr, "extract repair") || r.stdout != "" {
		t.Errorf("a report: %+v", r)
	}
	c.extract(t.Context(), "repair", "--dry-run").prints(t, cli.ExitOK, day.Period+": dropped (")
	requests := c.service.Server.Stats().Requests
	c.extract(t.Context(), "repair", "--since", "300d").exits(t, cli.ExitOK)
	if n := c.service.Server.Stats().Requests - requests; n > day.Rows+60 {
		t.Errorf("repair took %d requests for %d calls", n, day.Rows)
	}
	c.extract(t.Context(), "verify").exits(t, cli.ExitOK)
	c.extract(t.Context(), "status").exits(t, cli.ExitOK)
	if after := c.query("sql", facts, "--format", "csv"); after.stdout != before.stdout {
		t.Errorf("the facts changed (-before +after):\n%s", cmp.Diff(strings.Split(before.stdout, "\n"), strings.Split(after.stdout, "\n")))
	}
	c.extract(t.Context(), "repair").prints(t, cli.ExitOK, "nothing to repair")
}

// After each kind of failure, status begins with the problem, and its second line is the hint.
func TestStatusNamesTheProblem(t *testing.T) {
	t.Parallel()
	c := found(t, sandbox.Options{World: sandbox.Config{Seed: 5, Calls: 20, Days: 3}})
	c.mustExtract()
	wrongKey := filepath.Join(t.TempDir(), "key")
	test.OK(t, os.WriteFile(wrongKey, []byte("another-key\n"), 0o600))
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", c.clock.Now().UTC().Format(http.TimeFormat))
		_, _ = w.Write([]byte("<html>hello</html>"))
	}))
	defer elsewhere.Close()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	stranger := httptest.NewUnstartedServer(http.NotFoundHandler())
	stranger.Config.ErrorLog = log.New(io.Discard, "", 0)
	stranger.StartTLS()
	defer stranger.Close()
	for _, f := range []struct{ problem, help, flag, value string }{
		{"refused", "correct the API key", "--api-key-file", wrongKey},
		{"misaddressed", "set --base-url", "--base-url", elsewhere.URL},
		{"untrusted", "check the service's certificate", "--base-url", stranger.URL},
		{"unreachable", "check --base-url (CALLHOUSE_BASE_URL) and the network", "--base-url", gone.URL},
		{"incomplete", "extract run resumes", "--max-duration", "1ns"},
	} {
		c.clock.Advance(time.Hour)
		failed := c.extract(t.Context(), "run", f.flag, f.value)
		r := c.extract(t.Context(), "status")
		lines := strings.Split(r.stdout, "\n")
		if failed.code == cli.ExitOK || r.code != cli.ExitIncomplete || !strings.HasPrefix(lines[0], f.problem+": ") ||
			!strings.HasPrefix(lines[1], "  help          "+f.help) {
			t.Errorf("%s: the run ended with %d, and status with %d:\n%s\n%s", f.problem, failed.code, r.code, r.stdout, failed.stderr)
		}
		if got := c.one("SELECT problem FROM runs ORDER BY started_at DESC LIMIT 1"); got != f.problem {
			t.Errorf("the row of the run says %v, want %s", got, f.problem)
		}
	}
	c.mustExtract()
	if r := c.extract(t.Context(), "status"); r.code != cli.ExitOK || !strings.HasPrefix(r.stdout, "fine: ") {
		t.Errorf("after a good run: %+v", r)
	}
}
