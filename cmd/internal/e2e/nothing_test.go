package e2e

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/layout"
	"callhouse/internal/sandbox"
)

// A first run that fetches nothing leaves no warehouse, whatever stopped it; in an existing folder
// it leaves at most the lock. If a warehouse exists, such a run is recorded.
func TestNoWarehouseOfNothing(t *testing.T) {
	c := found(t, sandbox.Options{World: sandbox.Config{Calls: 10, Days: 3}})
	down := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	t.Cleanup(down.Close) // after the subtests
	wrong := filepath.Join(t.TempDir(), "wrong")
	if err := os.WriteFile(wrong, []byte("nope"), 0o600); err != nil {
		t.Fatal(err)
	}
	base, key := "--base-url="+c.service.URL, "--api-key-file="+c.keyFile
	for _, e := range []struct {
		name, args string
		code       int
	}{
		{"401", "run " + base + " --api-key-file=" + wrong, cli.ExitFailed},
		{"401 with masks", "run --mask=from_number " + base + " --api-key-file=" + wrong, cli.ExitFailed},
		{"404", "run " + base + "/other " + key, cli.ExitFailed},
		{"no service", "run --base-url=" + down.URL + " " + key, cli.ExitFailed},
		{"no route", "run --base-url=http://127.0.0.1:1 " + key, cli.ExitFailed},
		{"plan without the right key", "plan " + base + " --api-key-file=" + wrong, cli.ExitFailed},
		{"plan", "plan " + base + " " + key, cli.ExitOK},
		{"import of nothing", "import /nonexistent", cli.ExitUsage},
		{"a limit that none has", "run --requests-per-second=2000000 " + base + " " + key, cli.ExitUsage},
		{"no mask key", "run --mask=from_number --mask-key-file=/nonexistent " + base + " " + key, cli.ExitUsage},
		{"the service's clock is off", "run " + base + " " + key, cli.ExitFailed},
	} {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			dir, there := t.TempDir(), t.TempDir()
			run := func(warehouse string) result {
				args := append(strings.Fields(e.args), "--warehouse", warehouse)
				if e.name == "the service's clock is off" {
					return extract(t.Context(), args...) // with this machine's clock
				}
				return extractAt(t.Context(), c.clock.Now, args...)
			}
			for _, warehouse := range []string{filepath.Join(dir, "new", "w"), there} {
				if e.name == "no route" && warehouse == there {
					continue // each takes seconds of waiting
				}
				if r := run(warehouse); r.code != e.code {
					t.Errorf("exit code %d, want %d:\n%s", r.code, e.code, r.stderr)
				}
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
			if left, err := os.ReadDir(there); err != nil || len(left) > 1 || len(left) == 1 && left[0].Name() != layout.LockName {
				t.Errorf("left in a folder that was there: %v, %v", left, err)
			}
		})
	}

	t.Run("with a warehouse", func(t *testing.T) {
		c.mustExtract()
		before := c.one("SELECT count(*) AS v FROM runs")
		if r := extractAt(t.Context(), c.clock.Now, "run", "--warehouse", c.warehouse, base, "--api-key-file="+wrong); r.code != cli.ExitFailed {
			t.Errorf("exit code %d:\n%s", r.code, r.stderr)
		}
		if after := c.one("SELECT count(*) AS v FROM runs WHERE outcome = 'failed'"); after != before {
			t.Errorf("%v failed runs are on record, want %v", after, before)
		}
	})
}

// Exit code 2 means that no request was sent and nothing was written, even if a warehouse exists.
func TestWrongUseWritesNothing(t *testing.T) {
	c := found(t, sandbox.Options{World: sandbox.Config{Calls: 10, Days: 3}})
	c.mustExtract("--mask", "from_number")
	state := func() string {
		t.Helper()
		s, err := layout.Current(c.warehouse)
		if err != nil {
			t.Fatal(err)
		}
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
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
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
