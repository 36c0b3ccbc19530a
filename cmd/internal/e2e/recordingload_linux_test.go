package e2e

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callhouse/internal/longtest"
	"callhouse/internal/sandbox"
	"callhouse/internal/test"
)

// recordingMemory is the peak resident memory of a night with recordings of 50 MB.
const recordingMemory = 150 << 20

// At the service's limits, the built program stores the recordings of 5,000 calls in the first
// night, along with the transcripts and without exceeding a limit. Some have 50 MB, which it never
// holds in memory. The second night requests none again.
func TestRecordingsAtTheLimits(t *testing.T) {
	t.Parallel()
	longtest.Only(t)
	large := silence(50_000_000) // not a package variable, which every child process of the tests would compute
	bin := filepath.Join(t.TempDir(), "extract")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", bin, "callhouse/cmd/extract").CombinedOutput(); err != nil {
		t.Fatalf("build extract: %v\n%s", err, out)
	}
	s := record(t, sandbox.Options{World: sandbox.Config{Seed: 27, Calls: 5000, Days: 30}, PerSecond: 5, PerMinute: 120,
		Latency: 100 * time.Millisecond}, foundNow)
	// One in 128 is large: 100 minutes of silence.
	s.mu.Lock()
	s.instead = func(r *http.Request) []byte {
		if !strings.HasPrefix(r.URL.Path, "/v1/objects/calls/0") || !strings.Contains("01", r.URL.Path[19:20]) {
			return nil
		}
		return large
	}
	s.mu.Unlock()
	night := func() (peak int, out string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, bin, "run", "--warehouse", s.warehouse, "--base-url", s.service.URL, "--api-key-file", s.keyFile,
			"--yes", "--recordings", s.archive, "--recordings-private", "--transcripts", "auto")
		cmd.Env = append(os.Environ(), "CALLHOUSE_CONFIG="+os.DevNull)
		var b bytes.Buffer
		cmd.Stdout, cmd.Stderr = &b, &b
		test.OK(t, cmd.Start())
		done := make(chan error, 1)
		go func() { done <- cmd.Wait() }()
		for {
			select {
			case err := <-done:
				if err != nil {
					t.Fatalf("%v\n%s", err, b.String())
				}
				return peak, b.String()
			case <-time.After(50 * time.Millisecond):
				raw, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid)) // it may have ended
				if _, after, ok := strings.Cut(string(raw), "VmHWM:"); ok {
					kb := 0
					_, _ = fmt.Sscanf(after, "%d", &kb)
					peak = max(peak, kb<<10)
				}
			}
		}
	}
	peak, out := night()
	want := s.expected()
	requested := s.requested()
	big := number(t, s.one("SELECT count(*) FROM recordings WHERE bytes > 50000000"))
	if len(s.files()) != len(want) || requested != len(want) || big < 10 {
		t.Errorf("%d of %d recordings are stored after %d requests, %d of them large\n%s", len(s.files()), len(want), requested, big, out)
	}
	if peak > recordingMemory {
		t.Errorf("peak memory of %d MB", peak>>20)
	}
	if stats := s.service.Server.Stats(); stats.RateLimited > 0 {
		t.Errorf("%d requests above a limit", stats.RateLimited)
	}
	if s.most > 4 {
		t.Errorf("%d connections", s.most)
	}
	s.sameAsTable()
	t.Logf("peak %d MB, %d recordings, %d of 50 MB, %d connections at most\n%s", peak>>20, len(want), big, s.most, out)
	if _, out := night(); s.requested() != requested+len(s.expected())-len(want) {
		t.Errorf("the second night sent %d requests for recordings\n%s", s.requested()-requested, out)
	}
}
