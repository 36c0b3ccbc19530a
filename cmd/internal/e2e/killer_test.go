package e2e

import (
	"bytes"
	"context"
	"os/exec"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
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
