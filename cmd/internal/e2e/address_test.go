package e2e

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/sandbox"
	"callhouse/internal/test"
)

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
	key, house := filepath.Join(t.TempDir(), "key"), filepath.Join(t.TempDir(), "w")
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
	r := extract(t.Context(), "run", conf, "--base-url", other.URL, "--api-key-file", key, "--warehouse", house)
	if r.code != cli.ExitFailed || heard.Load() != 1 {
		t.Errorf("with all three: exit code %d, %d requests:\n%s", r.code, heard.Load(), r.stderr)
	}
}
