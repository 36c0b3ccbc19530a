package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/layout"
	"callhouse/internal/longtest"
	"callhouse/internal/sandbox"
	"callhouse/internal/test"
)

// A warehouse belongs to one organisation. Calls of another are refused before any is stored, with
// no extra requests.
func TestWarehouseOfOneOrganisation(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	ours := sandbox.Options{World: sandbox.Config{Seed: 41, Calls: 120, Days: 3}, Keys: []string{"another-key"}}
	c := found(t, ours)
	c.mustExtract()
	calls := func() int64 { return c.instant("SELECT count(*) FROM calls") }
	if n := calls(); n != 120 {
		t.Fatalf("%d calls", n)
	}
	theirs := found(t, sandbox.Options{World: sandbox.Config{Seed: 42, Calls: 120, Days: 3}})
	at := func(other *company, args ...string) result {
		t.Helper()
		return c.extract(t.Context(), append(args, "--base-url", other.service.URL)...)
	}
	refused := func(what string, r result) {
		t.Helper()
		if r.code != cli.ExitFailed || !strings.Contains(r.stderr, "is another organisation's") || !strings.Contains(r.stderr, "--adopt") {
			t.Errorf("%s: exit code %d:\n%s", what, r.code, r.stderr)
		}
		if n := calls(); n != 120 {
			t.Fatalf("%s: there are %d calls", what, n)
		}
		if n := c.instant("SELECT count(*) FROM calls WHERE transcript_state = 'missing'"); n != 0 {
			t.Errorf("%s: %d calls are marked as missing", what, n)
		}
	}
	refused("another organisation", at(theirs))
	if n := theirs.service.Server.Stats().Requests; n > 4 {
		t.Errorf("%d requests went to another organisation", n)
	}
	empty := found(t, sandbox.Options{World: sandbox.Config{Seed: 43, Calls: 1, Days: 300}})
	refused("one that has next to no calls", at(empty))

	// The same organisation under another address, or with another key.
	moved := found(t, ours)
	moved.clock.Set(c.clock.Now())
	if r := at(moved); r.code != cli.ExitOK || calls() != 120 {
		t.Errorf("at another address: exit code %d, %d calls\n%s", r.code, calls(), r.stderr)
	}
	c.mustExtract()
	key := filepath.Join(t.TempDir(), "key")
	test.OK(t, os.WriteFile(key, []byte("another-key"), 0o600))
	asked := c.service.Server.Stats().Requests
	c.mustExtract()
	usual := c.service.Server.Stats().Requests - asked
	c.mustExtract("--api-key-file", key)
	if n := c.service.Server.Stats().Requests - asked - usual; n != usual {
		t.Errorf("a night with a new key took %d requests, one with the old key %d", n, usual)
	}
	c.mustExtract()

	// An older warehouse has no origin: its calls identify it.
	s, err := layout.Current(c.warehouse)
	test.OK(t, err)
	s.Manifest.Origin = nil
	raw, err := s.Manifest.Encode()
	test.OK(t, err)
	test.OK(t, os.WriteFile(filepath.Join(s.Dir, layout.ManifestName), raw, 0o600))
	refused("a warehouse of before", at(theirs))
	c.mustExtract()
	if s, err = layout.Current(c.warehouse); err != nil || s.Manifest.Origin == nil {
		t.Errorf("it does not say whose it is after a run: %v", err)
	}
	if r := at(theirs, "--adopt", "--full"); r.code != cli.ExitOK || calls() != 240 {
		t.Errorf("adopted: exit code %d, %d calls\n%s", r.code, calls(), r.stderr)
	}
}
