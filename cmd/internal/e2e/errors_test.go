package e2e

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/sandbox"
	"callhouse/internal/test"
)

// User errors and faults are reported in one line with a hint, and with the documented exit code.
func TestErrorsSayWhatToDo(t *testing.T) {
	t.Setenv("CALLHOUSE_API_KEY", "")
	t.Setenv("CALLHOUSE_BASE_URL", "")
	c := found(t, sandbox.Options{World: sandbox.Config{Calls: 10, Days: 3}})
	dir := t.TempDir()
	file := func(name, content string, mode fs.FileMode) string {
		path := filepath.Join(dir, name)
		test.OK(t, os.WriteFile(path, []byte(content), mode))
		return path
	}
	elsewhere := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(elsewhere.Close)
	plain := file("plain", "", 0o600)
	base, key := "--base-url="+c.service.URL, "--api-key-file="+c.keyFile
	wh := "--warehouse=" + filepath.Join(dir, "w")
	for _, e := range []struct {
		name string
		args []string
		code int
		says []string
	}{
		{"wrong key", []string{wh, base, "--api-key-file=" + file("wrong", "nope", 0o600)}, cli.ExitFailed, []string{"does not accept the API key", "401"}},
		{"no key", []string{wh, base}, cli.ExitUsage, []string{"no API key", "CALLHOUSE_API_KEY"}},
		{"no such key file", []string{wh, base, "--api-key-file=" + dir + "/none"}, cli.ExitUsage, []string{"does not exist"}},
		{"empty key file", []string{wh, base, "--api-key-file=" + plain}, cli.ExitUsage, []string{"is empty"}},
		{"open key file", []string{wh, base, "--api-key-file=" + file("open", "k", 0o644)}, cli.ExitUsage, []string{"can be read by others", "chmod 600"}},
		{"unreachable", []string{wh, "--base-url=http://127.0.0.1:1", key}, cli.ExitFailed, []string{"no response from http://127.0.0.1:1", "refused", "--base-url"}},
		{"unreachable for a plan", []string{"plan", wh, "--base-url=http://127.0.0.1:1", key}, cli.ExitFailed,
			[]string{"no response from http://127.0.0.1:1 (4 tries)", "refused", "check --base-url"}},
		{"no address", []string{wh, key}, cli.ExitUsage, []string{"no service address", "CALLHOUSE_BASE_URL"}},
		{"not an address", []string{wh, "--base-url=example.org", key}, cli.ExitUsage, []string{"must start with https://"}},
		{"a port and no scheme", []string{wh, "--base-url=127.0.0.1:8080", key}, cli.ExitUsage, []string{`base URL "127.0.0.1:8080": it must start with https://`, "CALLHOUSE_BASE_URL"}},
		{"not the service", []string{wh, "--base-url=" + elsewhere.URL, key}, cli.ExitFailed, []string{"is the base URL right"}},
		{"an error of the service", []string{wh, base + "/other", key}, cli.ExitFailed, []string{"the service refuses /v3/calls: 404 not found, NOT_FOUND: "}},
		{"unwritable warehouse", []string{"--warehouse=" + plain + "/w", base, key}, cli.ExitFailed, []string{plain, "--warehouse"}},
		{"no path", []string{"--warehouse=", base, key}, cli.ExitUsage, []string{"the path of the warehouse is empty", "--warehouse"}},
		{"unknown flag", []string{"--nope"}, cli.ExitUsage, []string{"--nope", "--help"}},
		{"unknown command", []string{"runn"}, cli.ExitUsage, []string{`"runn"`, "did you mean: extract run?", "--help"}},
		{"misspelt flag", []string{"run", "--max-duratoin", "6h"}, cli.ExitUsage, []string{"--max-duratoin", "did you mean: --max-duration?"}},
		{"bad date", []string{wh, base, key, "--since", "yesteryear"}, cli.ExitUsage, []string{"--since", "yesteryear", "2026-11-01"}},
		{"bad limit", []string{wh, base, key, "--requests-per-minute", "0"}, cli.ExitUsage, []string{"--requests-per-minute"}},
		{"bad share", []string{wh, base, key, "--share", "2"}, cli.ExitUsage, []string{"--share"}},
	} {
		t.Run(e.name, func(t *testing.T) {
			r := extract(t.Context(), append(withRun(e.args), "--quiet")...)
			r.exits(t, e.code)
			for _, s := range e.says {
				if !strings.Contains(r.stderr, s) {
					t.Errorf("the message lacks %q", s)
				}
			}
			said := strings.Split(strings.TrimSuffix(r.stderr, "\n"), "\n")
			if len(said) > 2 || !strings.HasPrefix(said[0], "extract: ") || strings.Contains(r.stderr, "goroutine") {
				t.Errorf("want a line, and perhaps one with what to do")
			}
			if t.Failed() {
				t.Logf("it said:\n%s", r.stderr)
			}
		})
	}
	t.Run("no warehouse yet", func(t *testing.T) {
		c.warehouse = filepath.Join(dir, "none")
		r := c.query("sentiment")
		if r.code != cli.ExitFailed || !strings.Contains(r.stderr, "no warehouse") || r.stdout != "" {
			t.Errorf("exit code %d, stdout %q, stderr:\n%s", r.code, r.stdout, r.stderr)
		}
	})
}

// The key appears nowhere: neither in the output of successful and failing runs, nor in any file.
func TestKeyNeverShows(t *testing.T) {
	c := found(t, sandbox.Options{World: sandbox.Config{Calls: 50, Days: 3}})
	said := ""
	for _, args := range [][]string{{}, {"--full"}} {
		r := c.mustExtract(args...)
		said += r.stdout + r.stderr
	}
	c.service.Server.Revoke(testKey)
	r := c.extract(t.Context())
	r.exits(t, cli.ExitFailed)
	said += r.stdout + r.stderr + extract(t.Context(), "--no-such-flag="+testKey).stdout
	if strings.Contains(said, testKey) {
		t.Errorf("the key was said:\n%s", said)
	}
	err := filepath.WalkDir(c.warehouse, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		raw, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(raw), testKey) {
			t.Errorf("the key is in %s", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
