package e2e

import (
	"crypto/sha256"
	"encoding/json"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

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

// If the machine's configuration has an address, a key and a warehouse, another address gets
// neither: no request is sent, and nothing is written.
func TestKeyStaysWithItsAddress(t *testing.T) {
	c := found(t, sandbox.Options{World: sandbox.Config{Calls: 20, Days: 1}})
	conf := configured(t, strings.TrimPrefix(c.profile("x", fast), "[profiles.x]\n"))
	extractAt(t.Context(), c.clock.Now, "run", conf).exits(t, cli.ExitOK)
	before := c.one("SELECT count(*) AS v FROM runs")
	var heard atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		heard.Add(1)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer other.Close()
	key, warehouse := filepath.Join(t.TempDir(), "key"), filepath.Join(t.TempDir(), "w")
	test.OK(t, os.WriteFile(key, []byte("another-key"), 0o600))
	for _, args := range []string{"run", "plan", "verify --deep"} {
		words := append(strings.Fields(args), conf)
		r := extract(t.Context(), append(words, "--base-url", other.URL)...)
		says := "the API key comes from file " + c.keyFile
		r.reports(t, cli.ExitUsage, says, "flag --base-url")
		r = extract(t.Context(), append(words, "--base-url", other.URL, "--api-key-file", key)...)
		r.reports(t, cli.ExitUsage, "the warehouse comes from ")
	}
	t.Setenv("CALLHOUSE_BASE_URL", other.URL)
	extract(t.Context(), "run", conf).reports(t, cli.ExitUsage, "environment variable CALLHOUSE_BASE_URL")
	if r := extract(t.Context(), "config", conf); !strings.Contains(r.stdout, "note: the API key comes from file") {
		t.Errorf("config does not say that a run would be refused:\n%s", r.stdout)
	}
	if after := c.one("SELECT count(*) AS v FROM runs"); heard.Load() > 0 || after != before {
		t.Errorf("%d requests reached another host, and the warehouse has %v runs, before %v", heard.Load(), after, before)
	}
	r := extract(t.Context(), "run", conf, "--base-url", other.URL, "--api-key-file", key, "--warehouse", warehouse)
	if r.code != cli.ExitFailed || heard.Load() != 1 {
		t.Errorf("with all three: exit code %d, %d requests:\n%s", r.code, heard.Load(), r.stderr)
	}
}

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

// A run lists as many pages as plan predicts, and fetches at most as many transcripts. Planning takes
// one request, or two if the service refuses the first one's parameters.
func TestPlan(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]sandbox.Options{"with v2": {}, "contract only": {ContractOnly: true}} {
		opts.World = sandbox.Config{Seed: 100, Calls: 450, Days: 12}
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
			if p.Total < 450 || before.Requests > start+2 || max(pages-p.Pages, p.Pages-pages) > 2 || records > p.Transcripts {
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
