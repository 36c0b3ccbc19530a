package e2e

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/layout"
	"callhouse/internal/longtest"
	"callhouse/internal/sandbox"
	"callhouse/internal/sandbox/organisation"
	"callhouse/internal/test"
)

// runProgram runs the real program at bin; when ctx ends, it is killed with SIGKILL.
func (c *company) runProgram(ctx context.Context, bin string, args ...string) (killed bool) {
	c.t.Helper()
	cmd := exec.CommandContext(ctx, bin, append([]string{"run", "--warehouse", c.warehouse, "--base-url", c.service.URL, "--api-key-file", c.keyFile,
		"--requests-per-second", "800", "--requests-per-minute", "40000", "--quiet"}, args...)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGKILL) }
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if cmd.ProcessState != nil && cmd.ProcessState.ExitCode() > 0 || err != nil && ctx.Err() == nil {
		c.t.Fatalf("extract: %v\n%s", err, out.String())
	}
	return cmd.ProcessState == nil || cmd.ProcessState.ExitCode() < 0
}

// fuse ends a context some time after a number of requests.
type fuse struct {
	left atomic.Int64
	blow func()
}

// light returns the context. 0: it never ends.
func (f *fuse) light(t *testing.T, requests int64, wait time.Duration) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	f.blow = func() { time.AfterFunc(wait, cancel) }
	f.left.Store(requests)
	return ctx
}

// burn counts a request.
func (f *fuse) burn() {
	if f.left.Add(-1) == 0 {
		f.blow()
	}
}

// kills is the number of runs that TestKilledRuns kills; make soak uses 800.
var kills = longtest.Int("kills", 2, 8, "how many runs TestKilledRuns kills")

// The real program is killed with SIGKILL somewhere between its first request and its last commit,
// night after night, while it fetches calls, transcripts on v2 pages, the organisation and
// recordings. After each kill the warehouse opens and is whole, with no call twice; in the end it
// equals the sandbox, and no detail was requested twice, except those in flight at a kill.
func TestKilledRuns(t *testing.T) {
	bin := linkProgram(t, t.TempDir(), "extract")
	const workers = 128 // extract's number at these limits
	fuse := new(fuse)
	c := record(t, sandbox.Options{World: sandbox.Config{Seed: 12, Calls: 100 * int64(*worlds), Days: 2}, Organisation: organisation.Config{Pace: -1},
		Latency: 2 * time.Millisecond, Jitter: 6 * time.Millisecond,
		Inject: func(int64, sandbox.Request) sandbox.FaultKind { fuse.burn(); return "" }}, foundNow)
	c.heard = fuse.burn
	run := func(ctx context.Context) (killed bool) {
		return c.runProgram(ctx, bin, "--yes", // the sandbox's clock is ahead of the program's
			"--resources", "all", "--organization-id", c.service.Server.Organisation().ID(), "--transcripts", "auto",
			"--recordings", c.archive, "--recordings-private")
	}
	killed, committed, rnd := 0, int64(0), longtest.Rand(t)
	requests := 150 * int64(*worlds) // about those of a run
	for killed < *kills {
		after := 1 + rnd.Int64N(requests)
		if run(fuse.light(t, after, time.Duration(rnd.Int64N(int64(60*time.Millisecond))))) {
			killed++
		} else {
			requests = max(1, after-fuse.left.Load())
			c.clock.Advance(30 * time.Minute) // it completed: create new work
		}
		s, err := layout.Current(c.warehouse)
		if errors.Is(err, layout.ErrNoWarehouse) && committed == 0 {
			continue
		}
		if err != nil {
			t.Fatalf("after %d kills the warehouse does not open: %v", killed, err)
		}
		if s.Manifest.Snapshot < committed {
			t.Fatalf("after %d kills the warehouse is at snapshot %d, it was at %d", killed, s.Manifest.Snapshot, committed)
		}
		committed = s.Manifest.Snapshot
		for i := range s.Manifest.Files {
			f := &s.Manifest.Files[i]
			raw, err := os.ReadFile(s.Path(f))
			test.OK(t, err)
			if sum := sha256.Sum256(raw); hex.EncodeToString(sum[:]) != f.SHA256 {
				t.Fatalf("after %d kills %s is not what was committed", killed, f.Path)
			}
		}
		if twice := c.one("SELECT count(*) - count(DISTINCT call_id) AS n FROM calls"); twice != json.Number("0") {
			t.Fatalf("after %d kills %v calls are there twice", killed, twice)
		}
	}
	if run(t.Context()) {
		t.Fatal("the last run was killed")
	}
	sameAsTruth(t, c.company)
	c.sameOrganisation()
	c.sameAsTable()
	if n := len(c.expected()); len(c.files()) != n {
		t.Errorf("%d of %d recordings are stored", len(c.files()), n)
	}
	s := c.service.Server.Stats()
	if s.DetailsUnchanged > int64(killed*workers) {
		t.Errorf("%d details were asked for again in vain after %d kills", s.DetailsUnchanged, killed)
	}
	outcomes := c.counts("SELECT outcome AS key, count(*) AS n FROM runs GROUP BY 1")
	if outcomes["running"] != 0 || outcomes["killed"] > int64(killed) {
		t.Errorf("outcomes of the runs after %d kills: %v", killed, outcomes)
	}
	t.Logf("%d kills, %d snapshots, %d requests, %d details again; outcomes %v", killed, committed, s.Requests, s.DetailsUnchanged, outcomes)
}

var double = longtest.Int("double", 1, 10, "how often TestTwoRunsAtOnce starts two runs at once")

// Of two concurrent runs exactly one works. The other exits with code 4 before the first receives
// an answer, and names the holder of the warehouse.
func TestTwoRunsAtOnce(t *testing.T) {
	bin := linkProgram(t, t.TempDir(), "extract")
	gate := make(chan struct{})
	c := foundNow(t, sandbox.Options{World: sandbox.Config{Seed: 13, Calls: 20, Days: 2}, Inject: func(int64, sandbox.Request) sandbox.FaultKind {
		<-gate
		return ""
	}})
	type ended struct {
		cmd  *exec.Cmd
		said string
	}
	metrics := filepath.Join(filepath.Dir(c.warehouse), "callhouse.prom")
	for round := range *double {
		done := make(chan ended, 2)
		for range 2 {
			cmd := exec.CommandContext(t.Context(), bin, "run", "--warehouse", c.warehouse, "--base-url", c.service.URL, "--api-key-file", c.keyFile,
				"--requests-per-second", "800", "--requests-per-minute", "40000", "--quiet", "--metrics-file", metrics)
			var said bytes.Buffer
			cmd.Stdout, cmd.Stderr = &said, &said
			test.OK(t, cmd.Start())
			go func() {
				_ = cmd.Wait() // its exit code is checked
				done <- ended{cmd, said.String()}
			}()
		}
		var loser, winner ended
		select {
		case loser = <-done:
		case <-time.After(time.Minute):
			t.Fatalf("round %d: both runs go on", round)
		}
		select {
		case winner = <-done:
			t.Fatalf("round %d: no run works:\n%s\n%s", round, loser.said, winner.said)
		default:
		}
		for working := true; working; { // further requests are answered
			select {
			case gate <- struct{}{}:
			case winner = <-done:
				working = false
			}
		}
		holder := fmt.Sprintf("another run holds %s: process %d on ", c.warehouse, winner.cmd.Process.Pid)
		if code := loser.cmd.ProcessState.ExitCode(); code != cli.ExitLocked || !strings.Contains(loser.said, holder) {
			t.Fatalf("round %d: the second run ended with exit code %d, want %q:\n%s", round, code, holder, loser.said)
		}
		if code := winner.cmd.ProcessState.ExitCode(); code != cli.ExitOK || winner.said != "" {
			t.Fatalf("round %d: the first run ended with exit code %d:\n%s", round, code, winner.said)
		}
	}
	if got := c.counts("SELECT outcome AS key, count(*) AS n FROM runs GROUP BY 1"); got["done"] != int64(*double) || len(got) != 1 {
		t.Errorf("outcomes of the runs after %d rounds: %v", *double, got)
	}
}
