package e2e

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"callhouse/internal/test"
)

// startS3 starts program, which must be versitygw, on the loopback interface, with an empty bucket. It
// sets the environment variables of S3 clients. The server ends with the test.
func startS3(t *testing.T, program, bucket string) {
	t.Helper()
	free, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	test.OK(t, err)
	addr := free.Addr().String()
	_ = free.Close()
	dir := t.TempDir()
	test.OK(t, os.Mkdir(filepath.Join(dir, bucket), 0o755))
	for name, value := range map[string]string{"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "testtest",
		"AWS_ENDPOINT_URL": "http://" + addr, "AWS_REGION": "us-east-1"} {
		t.Setenv(name, value)
	}
	ctx, stop := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, program, "--port", addr, "--quiet", "posix", dir)
	cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY=test", "ROOT_SECRET_KEY=testtest")
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	test.OK(t, cmd.Start())
	t.Cleanup(func() {
		stop()
		_ = cmd.Wait()
	})
	for range 100 {
		if c, err := new(net.Dialer).DialContext(t.Context(), "tcp", addr); err == nil {
			_ = c.Close()
			return
		} else if !errors.Is(err, syscall.ECONNREFUSED) {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("%s does not listen", program)
}
