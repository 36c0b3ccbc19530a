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
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/layout"
	"callhouse/internal/longtest"
	"callhouse/internal/sandbox"
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

// kills is the number of runs that TestKilledRuns kills; make soak uses 300.
var kills = longtest.Int("kills", 2, 2, "how many runs TestKilledRuns kills")

// The real program is killed with SIGKILL at random moments, night after night. After each kill the
// warehouse opens and is whole, with no call twice; in the end it equals the sandbox, and no detail
// was requested twice, except those in flight at a kill.
func TestKilledRuns(t *testing.T) {
	bin := linkProgram(t, t.TempDir(), "extract")
	const workers = 128 // extract's number at these limits
	c := foundNow(t, sandbox.Options{World: sandbox.Config{Seed: 12, Calls: 375 * int64(*worlds), Days: 3}, Latency: 2 * time.Millisecond, Jitter: 6 * time.Millisecond})
	run := func(ctx context.Context) (killed bool) {
		return c.runProgram(ctx, bin, "--yes") // the sandbox's clock is ahead of the program's
	}
	killed, committed, rnd := 0, int64(0), longtest.Rand(t)
	length := time.Duration(*worlds) * 600 * time.Millisecond // about the duration of a run
	for killed < *kills {
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rnd.Int64N(int64(length)*5/4)))
		if run(ctx) {
			killed++
		} else {
			length = time.Since(began)
			c.clock.Advance(30 * time.Minute) // it completed: create new work
		}
		cancel()
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
	sameAsTruth(t, c)
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

// maintenanceKills is the number of commands that TestKilledMaintenance kills; make soak uses 200.
var maintenanceKills = longtest.Int("maintenance-kills", 2, 2, "how many commands TestKilledMaintenance kills")

// Maintenance commands are killed with SIGKILL at random moments, with nights between. After each
// kill the warehouse opens and is whole, and no call is lost; in the end it equals the sandbox.
func TestKilledMaintenance(t *testing.T) {
	t.Parallel()
	longtest.Only(t)
	bin := linkProgram(t, t.TempDir(), "extract")
	c := found(t, sandbox.Options{World: sandbox.Config{Seed: 14, Calls: 100 * int64(*worlds), Days: 70}})
	c.mustExtract()
	c.clock.Advance(5 * time.Hour)
	c.mustExtract() // rollback needs an earlier snapshot
	old := filepath.Join(t.TempDir(), "old")
	orders := [][]string{{"compact", "--all"}, {"forget", "--yes", "--call-id"}, {"rollback"}, {"compact", "--redact", "all", "--warehouse", old}}
	outcomes := map[string]int{}
	rnd := longtest.Rand(t)
	for n := range *maintenanceKills {
		order := slices.Clone(orders[n%len(orders)])
		switch order[0] {
		case "forget":
			order = append(order, fmt.Sprint("nobody-", n)) // an unknown id: forget rewrites the snapshot nevertheless
		case "compact":
			if slices.Contains(order, old) {
				copyTree(t, c.warehouse, old)
			}
		}
		calls := c.one("SELECT count(*) FROM calls")
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rnd.Int64N(int64(250*time.Millisecond))))
		cmd := exec.CommandContext(ctx, bin, append([]string{"--warehouse", c.warehouse, "--quiet"}, order...)...)
		if err := cmd.Run(); err != nil && ctx.Err() == nil && cmd.ProcessState.ExitCode() != cli.ExitIncomplete {
			t.Fatalf("%v: %v", order, err)
		}
		cancel()
		outcomes[fmt.Sprint(order[0], " ", cmd.ProcessState)]++
		for _, root := range []string{c.warehouse, old} {
			if _, err := os.Stat(root); err != nil {
				continue
			}
			if v := extract(t.Context(), "verify", "--all", "--warehouse", root); v.code != cli.ExitOK {
				t.Fatalf("after a kill of %v: %s%s", order, v.stdout, v.stderr)
			}
		}
		if slices.Contains(order, old) {
			for _, again := range [][]string{order, {"verify", "--redacted", "--warehouse", old}} {
				if r := extract(t.Context(), again...); r.code != cli.ExitOK {
					t.Fatalf("%v after a kill: %s%s", again, r.stdout, r.stderr)
				}
			}
			continue
		}
		if now := c.one("SELECT count(*) FROM calls"); order[0] != "rollback" && now != calls {
			t.Fatalf("after a kill of %v there are %v calls, there were %v", order, now, calls)
		}
		c.clock.Advance(5 * time.Hour)
		c.mustExtract()
	}
	sameAsTruth(t, c)
	t.Logf("%v", outcomes)
}

var double = longtest.Int("double", 2, 10, "how often TestTwoRunsAtOnce starts two runs at once")

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
