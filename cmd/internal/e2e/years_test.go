package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/cmdtest"
	"callhouse/cmd/internal/extractcmd"
	"callhouse/internal/longtest"
	"callhouse/internal/sandbox"
	"callhouse/internal/sandbox/world"
	"callhouse/internal/test"
)

// Environment variables of a child process that is one night of extract.
const (
	envNight      = "CALLHOUSE_TEST_NIGHT"       // its arguments, as JSON
	envNightClock = "CALLHOUSE_TEST_NIGHT_CLOCK" // its clock, ms
	envNightLimit = "CALLHOUSE_TEST_NIGHT_LIMIT" // maximum size of a file
)

// TestNight is not a test, but the process of a night that is killed or has a full disk: extract
// with the sandbox's clock.
func TestNight(t *testing.T) {
	if os.Getenv(envNight) == "" {
		t.Skip("TestThirtyNights runs it")
	}
	var args []string
	test.OK(t, json.Unmarshal([]byte(os.Getenv(envNight)), &args))
	clock, err := strconv.ParseInt(os.Getenv(envNightClock), 10, 64)
	test.OK(t, err)
	if text := os.Getenv(envNightLimit); text != "" {
		limit, err := strconv.ParseUint(text, 10, 64)
		if err == nil {
			err = syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: limit, Max: limit})
		}
		test.OK(t, err)
	}
	program := extractcmd.Program{Now: func() time.Time { return time.UnixMilli(clock) }, Env: cmdtest.Env()}
	os.Exit(program.Run(context.Background(), args, strings.NewReader(""), os.Stdout, os.Stderr))
}

// nights is a company with monitored nights.
type nights struct {
	*company
	metrics string
	began   time.Time // the evening before the first night
	// trap, if set, sees every request before it is answered.
	trap atomic.Pointer[func(sandbox.Request)]
}

func (n *nights) args() []string {
	return []string{"run", "--warehouse", n.warehouse, "--base-url", n.service.URL, "--api-key-file", n.keyFile,
		"--requests-per-second", "2000", "--requests-per-minute", "100000", "--metrics-file", n.metrics}
}

// run is an ordinary night whose clock is wrong by off.
func (n *nights) run(off time.Duration) result {
	return extractAt(n.t.Context(), func() time.Time { return n.clock.Now().Add(off) }, n.args()...)
}

// child runs a night in a separate process. Its files may grow to limit bytes; 0: no limit.
func (n *nights) child(limit int) *exec.Cmd {
	n.t.Helper()
	args, err := json.Marshal(n.args())
	test.OK(n.t, err)
	cmd := exec.CommandContext(n.t.Context(), os.Args[0], "-test.run", "^TestNight$")
	cmd.Env = append(os.Environ(), envNight+"="+string(args), envNightClock+"="+fmt.Sprint(n.clock.Now().UnixMilli()))
	if limit > 0 {
		cmd.Env = append(cmd.Env, envNightLimit+"="+fmt.Sprint(limit))
	}
	return cmd
}

// seen returns the metrics in the file, by name with labels.
func (n *nights) seen() map[string]float64 {
	n.t.Helper()
	raw := test.Read(n.t, n.metrics)
	out := map[string]float64{}
	for line := range strings.Lines(string(raw)) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), "} ")
		if ok {
			name += "}"
		} else {
			name, value, ok = strings.Cut(strings.TrimSpace(line), " ")
		}
		v, err := strconv.ParseFloat(value, 64)
		if !strings.HasPrefix(line, "#") && ok && err == nil {
			out[strings.TrimPrefix(name, "callhouse_")] = v
		}
	}
	return out
}

// Thirty nights in a row, with the incidents of years: a revoked key, a full disk, a kill, clocks
// that jump, and a service that changes its answers. After the last night the warehouse equals the
// truth, and every incident is in the table runs.
func TestThirtyNights(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	longtest.Only(t)
	n := new(nights)
	faults, err := world.ParseFaults("late-analysis=.2,late-cost=.2,late-record=.03,late-transcript=.03,late-link=.03,no-end=.05,stuck=.02")
	test.OK(t, err)
	day := func(d int) time.Time { return workday.Add(time.Duration(d) * 24 * time.Hour) }
	n.company = found(t, sandbox.Options{
		World: sandbox.Config{Seed: 30, Calls: 12 * sized(14, 30), Days: int(sized(14, 30)), Agents: 5, Faults: faults, LateVisibleRate: .02,
			DriftRate: 1, DriftFrom: day(26)},
		Faults: sandbox.Faults{{Kind: sandbox.FaultShort, Rate: .02}, {Kind: sandbox.FaultDuplicate, Rate: .02}, {Kind: sandbox.FaultMarked, Rate: .05}},
		Inject: func(_ int64, r sandbox.Request) sandbox.FaultKind {
			if trap := n.trap.Load(); trap != nil {
				(*trap)(r)
			}
			return ""
		},
	})
	n.began, n.metrics = n.clock.Now(), filepath.Join(filepath.Dir(n.warehouse), "callhouse.prom")
	for night := 1; night <= 30; night++ {
		n.clock.Set(n.began.Add(time.Duration(night) * 24 * time.Hour))
		switch night {
		case 9, 10:
			n.service.Server.Revoke(testKey)
			n.run(0).reports(t, cli.ExitFailed, "does not accept the API key")
			continue
		case 11:
			n.service.Server.Restore(testKey)
		case 15:
			n.fullDisk()
			continue
		case 20:
			n.killed()
			continue
		case 25:
			n.clockJumps()
			continue
		}
		n.run(0).exits(t, cli.ExitOK)
		m := n.seen()
		if want := float64(n.clock.Now().UnixMilli()) / 1000; m["last_success_timestamp_seconds"] != want || (m["last_run_drift"] > 0) != (night >= 27) {
			t.Errorf("night %d, at %v: metrics %v", night, want, m)
		}
	}
	if odd := n.sql(fmt.Sprintf("SELECT * FROM runs WHERE (drift > 0) <> (epoch_ms(started_at) >= %d)", n.began.Add(27*24*time.Hour).UnixMilli())); len(odd) > 0 {
		t.Errorf("the service's answers change on night 27, but in runs: %v", odd)
	}
	// Records that are due again after a pause would be behind the truth.
	extractAt(t.Context(), n.clock.Now, append(n.args(), "--full")...).exits(t, cli.ExitOK)
	sameAsTruth(t, n.company)
	n.extract(t.Context(), "verify", "--all").exits(t, cli.ExitOK)
	if r := n.extract(t.Context(), "status"); r.code != cli.ExitOK || !strings.HasPrefix(r.stdout, "OK: ") {
		t.Errorf("status: exit code %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	snapshot := current(t, n.warehouse)
	for _, f := range snapshot.Manifest.Files {
		// A month is compacted once it has been over for five days.
		if at, err := time.Parse(time.DateOnly, f.Period); err == nil && at.AddDate(0, 1, 1-at.Day()+12).Before(n.clock.Now()) {
			t.Errorf("%s is not compacted yet", f.Path)
		}
	}
	outcomes := n.counts("SELECT outcome AS key, count(*) AS n FROM runs GROUP BY 1")
	if outcomes["done"] != 28 || outcomes["failed"] != 3 || outcomes["killed"] != 1 || len(outcomes) != 3 {
		t.Errorf("outcomes of the runs: %v", outcomes)
	}
	s := n.service.Server.Stats()
	t.Logf("%d requests: %v", s.Requests, s.ByKind)
	if s.DetailsUnchanged > 64 {
		t.Errorf("%d details were asked for in vain", s.DetailsUnchanged)
	}
}

// fullDisk is a night in which no file can grow beyond a few KB: neither the commit nor the run's
// own row can be written.
func (n *nights) fullDisk() {
	n.t.Helper()
	out, err := n.child(16 << 10).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "file too large") {
		n.t.Errorf("the night of the full disk: %v\n%s", err, out)
	}
	n.extract(n.t.Context(), "status").prints(n.t, cli.ExitIncomplete, "file too large")
}

// killed is a night that is killed while it fetches.
func (n *nights) killed() {
	n.t.Helper()
	cmd := n.child(0)
	started := make(chan struct{})
	trap := func(r sandbox.Request) {
		<-started
		if r.Kind == "detail" { // on a Sunday there are few
			_ = cmd.Process.Kill()
		}
	}
	n.trap.Store(&trap)
	err := cmd.Start()
	close(started)
	if err == nil {
		err = cmd.Wait()
	}
	n.trap.Store(nil)
	if state, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !state.Signaled() {
		n.t.Errorf("the night was not killed: %v", err)
	}
	if m := n.seen(); m["run_in_progress"] != 1 {
		n.t.Errorf("the killed night: metrics %v", m)
	}
	n.extract(n.t.Context(), "status").prints(n.t, cli.ExitIncomplete, "killed")
}

// clockJumps is a night whose clock is first more than a day slow, and then nine hours fast.
func (n *nights) clockJumps() {
	n.t.Helper()
	// A clock more than a day off the service's is not trusted, and leaves no trace. With a smaller
	// difference, the times of the run are the service's.
	r := n.run(-30 * time.Hour)
	r.reports(n.t, cli.ExitFailed, "differ by more than a day")
	for _, off := range []time.Duration{-23 * time.Hour, 9 * time.Hour} {
		r := n.run(off)
		m := n.seen()
		now := float64(n.clock.Now().UnixMilli()) / 1000 // a Date has whole seconds
		if ran := m["last_run_timestamp_seconds"]; r.code != cli.ExitOK || ran < now-1 || ran > now {
			n.t.Errorf("a clock that is off by %v: exit code %d, metrics %v\n%s", off, r.code, m, r.stderr)
		}
	}
	n.extract(n.t.Context(), "status").exits(n.t, cli.ExitOK)
}
