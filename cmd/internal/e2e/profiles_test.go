package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/longtest"
	"callhouse/internal/sandbox"
	"callhouse/internal/schema"
	"callhouse/internal/test"
)

// configured writes a configuration file, and returns the flag --config for it.
func configured(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "callhouse.toml")
	test.OK(t, os.WriteFile(path, []byte(text), 0o600))
	return "--config=" + path
}

// profile returns a profile of a company.
func (c *company) profile(name, more string) string {
	return fmt.Sprintf("[profiles.%s]\nbase_url = %q\napi_key_file = %q\nwarehouse = %q\n%s\n", name, c.service.URL, c.keyFile, c.warehouse, more)
}

const fast = "requests_per_second = 2000\nrequests_per_minute = 100000\n"

func callsIn(t *testing.T, c *company) int64 {
	t.Helper()
	s := current(t, c.warehouse)
	return s.Manifest.Rows(schema.Calls.Name)
}

// Each profile has its own warehouse, and its settings override the environment.
func TestProfiles(t *testing.T) {
	a := found(t, sandbox.Options{World: sandbox.Config{Seed: 1, Calls: 30, Days: 1}})
	b := found(t, sandbox.Options{World: sandbox.Config{Seed: 2, Calls: 20, Days: 1}})
	b.clock = a.clock
	conf := configured(t, fast+a.profile("acme", "")+b.profile("globex", ""))
	run := func(args ...string) result {
		return extractAt(t.Context(), a.clock.Now, append([]string{conf}, args...)...)
	}

	for _, name := range []string{"acme", "globex"} {
		run("run", "--profile", name).exits(t, cli.ExitOK)
	}
	if callsIn(t, a) == 0 || callsIn(t, b) == 0 || callsIn(t, a) == callsIn(t, b) {
		t.Errorf("%d and %d calls", callsIn(t, a), callsIn(t, b))
	}
	t.Setenv("CALLHOUSE_WAREHOUSE", b.warehouse)
	t.Setenv("CALLHOUSE_API_KEY", "another's")
	run("run", "--profile", "acme").exits(t, cli.ExitOK)
	run("show", "--profile", "acme", "none").reports(t, cli.ExitFailed, "no call")
	if n := len(a.sql("SELECT * FROM runs")); n != 2 {
		t.Errorf("acme has %d runs, want 2", n)
	}
	a.warehouse = "unused"
	if r := a.query("sql", "SELECT 1", conf); r.code == cli.ExitOK {
		t.Error("a flag is over the file, and there is no such warehouse")
	}
}

// config shows the source and value of each setting, but only the source of the key.
func TestConfigShows(t *testing.T) {
	c := found(t, sandbox.Options{World: sandbox.Config{Calls: 10, Days: 1}})
	conf := configured(t, "share = 0.5\n"+c.profile("acme", "max_duration = \"48h\""))
	t.Setenv("CALLHOUSE_COUNTRY", "KR")
	file := strings.TrimPrefix(conf, "--config=")
	r := extract(t.Context(), "config", conf, "--profile=acme", "--quiet")
	if r.code != cli.ExitOK || strings.Contains(r.stdout+r.stderr, testKey) {
		t.Fatalf("exit code %d:\n%s%s", r.code, r.stdout, r.stderr)
	}
	got := map[string]string{}
	for line := range strings.Lines(r.stdout) {
		name, shown, _ := strings.Cut(strings.Join(strings.Fields(line), " "), " ")
		got[name] = shown
	}
	for name, want := range map[string]string{"api_key": "[masked] file " + c.keyFile, "share": "0.5 " + file, "max_duration": "2d profile acme of " + file,
		"country": "KR environment variable CALLHOUSE_COUNTRY", "quiet": "true flag --quiet", "requests_per_second": "5 default"} {
		if got[name] != want {
			t.Errorf("%s: %q, want %q", name, got[name], want)
		}
	}
	extract(t.Context(), "config", "--example", "--config=/nowhere").prints(t, cli.ExitOK, "[profiles.acme]")
}

// The example is valid: a night with it equals one with the defaults.
func TestConfigExampleWorks(t *testing.T) {
	c := found(t, sandbox.Options{World: sandbox.Config{Calls: 10, Days: 1}})
	conf := configured(t, extract(t.Context(), "config", "--example").stdout)
	if r := c.extract(t.Context(), conf); r.code != cli.ExitOK || callsIn(t, c) == 0 {
		t.Errorf("exit code %d:\n%s", r.code, r.stderr)
	}
	c.query("sql", "SELECT 1", conf).exits(t, cli.ExitOK)
}

// query takes warehouse, zone and format from the same sources.
func TestQueryHonoursTheFile(t *testing.T) {
	longtest.Only(t)
	c := found(t, sandbox.Options{World: sandbox.Config{Calls: 10, Days: 1}})
	c.mustExtract()
	conf := configured(t, "tz = \"Asia/Seoul\"\nformat = \"csv\"\n"+c.profile("acme", ""))
	ask := func(args ...string) result { return queryAs(t, append(args, conf)...) }
	r := ask("sql", "SELECT current_setting('TimeZone') AS zone, count(*) > 0 AS any FROM calls", "--profile=acme")
	if r.code != cli.ExitOK || r.stdout != "zone,any\nAsia/Seoul,true\n" {
		t.Errorf("exit code %d: %q\n%s", r.code, r.stdout, r.stderr)
	}
	out := filepath.Join(t.TempDir(), "x.ndjson")
	ask("sql", "SELECT 1 AS x", "--profile=acme", "--output="+out).exits(t, cli.ExitOK)
	if raw, err := os.ReadFile(out); err != nil || !strings.HasPrefix(string(raw), "{") {
		t.Errorf("the ending of --output is over the file's format: %q, %v", raw, err)
	}
	ask("sql", "SELECT 1").reports(t, cli.ExitUsage, "none is selected: acme")
	ask("list").exits(t, cli.ExitOK)
	t.Setenv("CALLHOUSE_WAREHOSE", "x")
	const warned = "CALLHOUSE_WAREHOSE is not a setting and is ignored: did you mean CALLHOUSE_WAREHOUSE?"
	for _, args := range []string{"list", "volume --profile=acme", "sql VALUES(1) --profile=none"} {
		if r = ask(strings.Fields(args)...); strings.Count(r.stderr, warned) != 1 {
			t.Errorf("query %s with a misspelt variable says:\n%s", args, r.stderr)
		}
	}
	for _, args := range []string{"status", "run", "show none"} {
		r = extract(t.Context(), append(strings.Fields(args), "--profile=acme", conf)...)
		if strings.Count(r.stderr, warned) != 1 || strings.Contains(r.stdout, "WAREHOSE") {
			t.Errorf("extract %s with a misspelt variable says:\n%s%s", args, r.stderr, r.stdout)
		}
	}
	if r = extract(t.Context(), "config", "--profile=acme", conf); strings.Count(r.stdout+r.stderr, warned) != 1 {
		t.Errorf("extract config with a misspelt variable says:\n%s%s", r.stderr, r.stdout)
	}
	bad := configured(t, "warehosue = \"x\"")
	queryAs(t, "sql", "SELECT 1", bad).reports(t, cli.ExitUsage, "did you mean: warehouse?")
}

// The key may come from each of its sources, and no output or file of extract contains it, whether
// it is accepted or refused, even if the service repeats it.
func TestKeyPlaces(t *testing.T) {
	c := found(t, sandbox.Options{World: sandbox.Config{Calls: 20, Days: 1}})
	t.Setenv("CALLHOUSE_API_KEY", "")
	own := configured(t, fast+fmt.Sprintf("[profiles.acme]\nbase_url = %q\nwarehouse = %q", c.service.URL, c.warehouse))
	direct := []string{"--warehouse", c.warehouse, "--base-url", c.service.URL, "--requests-per-second=2000", "--requests-per-minute=100000"}
	metrics := "--metrics-file=" + filepath.Join(c.warehouse, "metrics.prom")
	said := ""
	for _, p := range []struct {
		name, from string
		env        [2]string
		args       []string
	}{
		{"variable", "CALLHOUSE_API_KEY", [2]string{"CALLHOUSE_API_KEY", testKey}, direct},
		{"file", "file " + c.keyFile, [2]string{"CALLHOUSE_API_KEY_FILE", c.keyFile}, direct},
		{"a flag over a variable", "file " + c.keyFile, [2]string{"CALLHOUSE_API_KEY", "other"}, append([]string{"--api-key-file", c.keyFile}, direct...)},
	} {
		t.Run(p.name, func(t *testing.T) {
			t.Setenv(p.env[0], p.env[1])
			r := extractAt(t.Context(), c.clock.Now, append([]string{"run", metrics}, p.args...)...)
			r.reports(t, cli.ExitOK, p.from)
			shown := extract(t.Context(), append([]string{"config"}, p.args...)...)
			if !strings.Contains(shown.stdout, p.from) || !strings.Contains(shown.stdout, "[masked]") {
				t.Errorf("config does not say %q:\n%s", p.from, shown.stdout)
			}
			said += r.stderr + r.stdout + shown.stdout
		})
	}
	t.Run("refused", func(t *testing.T) {
		for _, e := range []struct {
			says      string
			key, file string // in the environment
			args      []string
		}{
			{"no API key", "", "", direct},
			{"two API keys are set", testKey, c.keyFile, direct},
			{"no API key for the profile", "", "", []string{own, "--profile=acme"}},
		} {
			t.Setenv("CALLHOUSE_API_KEY", e.key)
			t.Setenv("CALLHOUSE_API_KEY_FILE", e.file)
			r := extract(t.Context(), append([]string{"run"}, e.args...)...)
			r.reports(t, cli.ExitUsage, e.says)
			said += r.stderr
		}
	})
	t.Run("a service that repeats it", func(t *testing.T) {
		elsewhere := 0
		other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere++ }))
		defer other.Close()
		for _, status := range []int{http.StatusUnauthorized, http.StatusBadRequest, http.StatusTemporaryRedirect} {
			rude := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Location", other.URL+"/"+testKey+"?key="+testKey)
				w.WriteHeader(status)
				fmt.Fprintf(w, `{"error":{"code":"no %s","message":%q}}`, testKey, "bad header: "+r.Header.Get("Authorization"))
			}))
			r := extract(t.Context(), "run", metrics, "--warehouse", c.warehouse, "--base-url", rude.URL, "--api-key-file", c.keyFile, "--full")
			rude.Close()
			if r.code != cli.ExitFailed && r.code != cli.ExitIncomplete {
				t.Errorf("status %d: exit code %d:\n%s", status, r.code, r.stderr)
			}
			said += r.stderr
		}
		if elsewhere > 0 {
			t.Errorf("%d requests went to where the service redirected", elsewhere)
		}
	})
	wrong := extract(t.Context(), "run", "--no-such-flag="+testKey)
	if said += wrong.stdout + wrong.stderr; strings.Contains(said, testKey) {
		t.Errorf("the key was said:\n%s", said)
	}
	nowhere(t, c.warehouse, testKey)
	if runs := fmt.Sprint(c.sql("SELECT * FROM runs")); strings.Contains(runs, testKey) || !strings.Contains(runs, "failed") {
		t.Errorf("the table runs: %s", runs)
	}
}
