package main

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// startSandbox starts the program named by SANDBOX for the duration of the test, and returns its
// address.
func startSandbox(t *testing.T, flags ...string) string {
	t.Helper()
	cmd := exec.Command(os.Getenv("SANDBOX"), append(flags, "--addr", "127.0.0.1:0", "--clock", "frozen")...)
	stderr, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		if _, url, ok := strings.Cut(lines.Text(), "CALLHOUSE_BASE_URL="); ok {
			go io.Copy(io.Discard, stderr)
			return url
		}
	}
	t.Fatal("the sandbox ended at once")
	return ""
}

func TestAgainstTheSandbox(t *testing.T) {
	base := startSandbox(t, "--calls", "300", "--requests-per-second", "0", "--requests-per-minute", "0")
	if err := run(t.Context(), base); err != nil {
		t.Error(err)
	}
	r, err := http.NewRequest(http.MethodGet, base+"/v3/calls", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Sandbox-Fault", "503")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("asked for 503, got %s", answer.Status)
	}
}
