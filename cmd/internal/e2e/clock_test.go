package e2e

import (
	"crypto/sha256"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/layout"
	"callhouse/internal/sandbox"
	"callhouse/internal/test"
)

// A run whose clock contradicts the service's changes nothing, whatever the retention. With --yes
// it continues.
func TestClockThatTheServiceContradicts(t *testing.T) {
	t.Parallel()
	c := found(t, sandbox.Options{World: sandbox.Config{Seed: 7, Calls: 60, Days: 3}})
	service := []string{"run", "--warehouse", c.warehouse, "--base-url", c.service.URL, "--api-key-file", c.keyFile,
		"--requests-per-second", "2000", "--requests-per-minute", "100000"} // otherwise it would wait for a minute
	c.mustExtract()
	for _, ahead := range []time.Duration{400 * 24 * time.Hour, -400 * 24 * time.Hour, 25 * time.Hour} {
		before := c.tree()
		at := func(args ...string) result {
			return extractAt(t.Context(), func() time.Time { return c.clock.Now().Add(ahead) },
				append(slices.Clone(service), args...)...)
		}
		r := at("--keep", "30d")
		if r.code != cli.ExitFailed || !strings.Contains(r.stderr, "differ by more than a day") || !strings.Contains(r.stderr, "--yes") {
			t.Errorf("%v ahead: exit code %d\n%s", ahead, r.code, r.stderr)
		}
		if after := c.tree(); !maps.Equal(before, after) {
			t.Errorf("%v ahead: the warehouse has changed", ahead)
		}
	}
	c.mustExtract()
	if n := c.counts("SELECT outcome AS key, count(*) AS n FROM runs GROUP BY 1"); n["done"] != 2 || len(n) != 1 {
		t.Errorf("outcomes of the runs: %v", n)
	}
	// With --yes, everything about calls uses the service's clock, including --keep and --since.
	for range 2 {
		c.clock.Advance(24 * time.Hour)
		r := extractAt(t.Context(), func() time.Time { return c.clock.Now().Add(4 * 24 * time.Hour) }, append(slices.Clone(service), "--yes", "--keep", "7d", "--since", "7d")...)
		r.reports(t, cli.ExitOK, "differ by more than a day")
		sameAsTruth(t, c)
		late := c.clock.Now().Add(time.Minute).UnixMilli()
		for what, from := range map[string]string{"first_seen_at": "calls", "fetched_at": "calls", "started_at": "runs", "ended_at": "runs"} {
			if at := c.instant("SELECT epoch_ms(max(" + what + ")) AS v FROM " + from); at > late {
				t.Errorf("the last %s of %s is %v, and it is %v", what, from, time.UnixMilli(at), c.clock.Now())
			}
		}
	}
}

// tree returns the content of the warehouse, except the lock.
func (c *company) tree() map[string][32]byte {
	c.t.Helper()
	out := map[string][32]byte{}
	err := filepath.WalkDir(c.warehouse, func(path string, d fs.DirEntry, err error) error {
		if err != nil || slices.Contains([]string{layout.LockName, layout.StateName, layout.RequestsName}, d.Name()) || d.IsDir() {
			return err
		}
		if d.Type()&fs.ModeSymlink != 0 {
			to, err := os.Readlink(path)
			out[path] = sha256.Sum256([]byte(to))
			return err
		}
		raw, err := os.ReadFile(path)
		out[path] = sha256.Sum256(raw)
		return err
	})
	test.OK(c.t, err)
	return out
}
