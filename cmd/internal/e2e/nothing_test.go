package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/layout"
	"callhouse/internal/sandbox"
	"callhouse/internal/test"
)

// A run that fails before it fetches anything is recorded.
func TestFailedRunIsRecorded(t *testing.T) {
	c := found(t, sandbox.Options{World: sandbox.Config{Calls: 10, Days: 3}})
	wrong := filepath.Join(t.TempDir(), "wrong")
	test.OK(t, os.WriteFile(wrong, []byte("nope"), 0o600))
	c.mustExtract()
	r := extractAt(t.Context(), c.clock.Now, "run", "--warehouse", c.warehouse, "--base-url="+c.service.URL, "--api-key-file="+wrong)
	if n := c.one("SELECT count(*) AS v FROM runs WHERE outcome = 'failed'"); r.code != cli.ExitFailed || fmt.Sprint(n) != "1" {
		t.Errorf("exit code %d, %v failed runs:\n%s", r.code, n, r.stderr)
	}
}

// Exit code 2 means that no request was sent and nothing was written, even if a warehouse exists.
func TestWrongUseWritesNothing(t *testing.T) {
	c := found(t, sandbox.Options{World: sandbox.Config{Calls: 10, Days: 3}})
	c.mustExtract("--mask", "from_number")
	state := func() string {
		t.Helper()
		s, err := layout.Current(c.warehouse)
		test.OK(t, err)
		left, err := os.ReadDir(filepath.Join(c.warehouse, "journal"))
		if err != nil || len(left) > 0 {
			t.Errorf("the journal holds %v, %v", left, err)
		}
		return s.Dir
	}
	dir := t.TempDir()
	file := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		test.OK(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	before, asked := state(), c.service.Server.Stats().Requests
	for _, args := range []string{
		"--requests-per-second 2000000", "--api-key-file " + file("spaces", "a key"), "--api-key-file " + file("key\u00e9", "k\u00e9y"),
		"--mask-key-file " + filepath.Join(dir, "none"), "--mask-key-file " + file("short", "abc"), "--mask-key-file " + file("other", strings.Repeat("ab", 32)),
		"--mask nothing.such", "--keep 1d", "--since yesteryear", "--share 2", "--resources none,such",
		"--base-url ftp://x", "--max-duration -1d", "--base-url http://user:pw@example.com",
	} {
		r := c.extract(t.Context(), append([]string{"run"}, strings.Fields(args)...)...)
		if r.code != cli.ExitUsage || strings.Contains(r.stderr, "run 20") {
			t.Errorf("%s: exit code %d:\n%s", args, r.code, r.stderr)
		}
	}
	if after := state(); after != before || c.service.Server.Stats().Requests != asked {
		t.Errorf("%s is now %s, after %d requests", before, after, c.service.Server.Stats().Requests-asked)
	}
	// The next run adds no rows for them either.
	c.mustExtract()
	if n := len(c.sql("SELECT * FROM runs")); n != 2 {
		t.Errorf("%d runs are on record, want 2", n)
	}
}
