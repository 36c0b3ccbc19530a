package e2e

import (
	"crypto/sha256"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/layout"
	"callhouse/internal/longtest"
	"callhouse/internal/sandbox"
	"callhouse/internal/test"
)

// A warehouse belongs to one organisation. Calls of another are refused before any is stored, with no extra requests.
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
	requested := c.service.Server.Stats().Requests
	c.mustExtract()
	usual := c.service.Server.Stats().Requests - requested
	c.mustExtract("--api-key-file", key)
	if n := c.service.Server.Stats().Requests - requested - usual; n != usual {
		t.Errorf("a night with a new key took %d requests, one with the old key %d", n, usual)
	}
	c.mustExtract()

	// An older warehouse has no origin: its calls identify it.
	s := current(t, c.warehouse)
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

// A run lists as many pages as plan predicts, and fetches at most as many transcripts. Planning takes
// one request, or two if the service refuses the first one's parameters, which also cost a run some.
func TestPlan(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]sandbox.Options{"with v2": {}, "contract only": {ContractOnly: true}} {
		if opts.ContractOnly && !longtest.On() {
			continue
		}
		most := int64(2)
		if opts.ContractOnly {
			most = 4 // each part of the list tries its parameters
		}
		opts.World = sandbox.Config{Seed: 100, Calls: sized(250, 450), Days: int(sized(5, 12))}
		c := found(t, opts)
		for night := range 2 {
			start := c.service.Server.Stats().Requests
			r := c.extract(t.Context(), "plan", "--format", "json")
			var p struct {
				Pages, Transcripts, Resources, Requests int64
				Minutes                                 float64
				Total                                   int64 `json:"total_count"`
			}
			if err := json.Unmarshal([]byte(r.stdout), &p); err != nil || r.code != cli.ExitOK {
				t.Fatalf("%s, night %d: exit code %d, %v:\n%s%s", name, night, r.code, err, r.stdout, r.stderr)
			}
			before := c.service.Server.Stats()
			c.mustExtract()
			after := c.service.Server.Stats()
			pages, records := after.ByKind["page"]-before.ByKind["page"], after.ByKind["detail"]-before.ByKind["detail"]
			if p.Total < sized(250, 450) || before.Requests > start+2 || max(pages-p.Pages, p.Pages-pages) > most || records > p.Transcripts {
				t.Errorf("%s, night %d: %d pages and %d records, the plan is\n%s", name, night, pages, records, r.stdout)
			}
			if p.Requests != p.Pages+p.Transcripts+p.Resources || p.Minutes <= 0 {
				t.Errorf("%s, night %d: the sum is wrong:\n%s", name, night, r.stdout)
			}
			c.clock.Advance(24 * time.Hour)
		}
		c.extract(t.Context(), "plan", "--list-only").prints(t, cli.ExitOK, "not with --list-only")
	}
}
