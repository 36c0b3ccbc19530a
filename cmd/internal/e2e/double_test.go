package e2e

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/longtest"
	"callhouse/internal/sandbox"
	"callhouse/internal/test"
)

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
