package extractcmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"callhouse/cmd/internal/cmdtest"
	"callhouse/cmd/internal/config"
	"callhouse/internal/api"
	"callhouse/internal/crawler"
	"callhouse/internal/test"
	"callhouse/internal/words"
)

func TestMain(m *testing.M) { cmdtest.Main(m) }

// extract alone shows its help; with flags it asks for a command.
func TestExtractWithoutACommand(t *testing.T) {
	if code, out, _ := call(t, ""); code != 0 || !strings.Contains(out, "extract [command]") {
		t.Errorf("exit code %d\n%s", code, out)
	}
}

// --format json writes JSON to standard output, for every command.
func TestPlanFormats(t *testing.T) {
	for args, says := range map[string]string{
		"--quiet":           "run: extract run",
		"plan --format xml": "--format takes text or json",
		"plan --share half": `--share must be a number, not "half"`,
		"config --share 2":  "--share must be above 0 and at most 1, not 2",
		"config --tz Seoul": `unknown time zone "Seoul"`,
		"run --tz Seoul --base-url http://127.0.0.1:1": `warning: unknown time zone "Seoul", which query will refuse; use a name`,
		"plan --format json":                           "no service address",
	} {
		code, _, stderr := call(t, "", strings.Fields(args)...)
		if code != 2 || !strings.Contains(stderr, says) {
			t.Errorf("%s: exit code %d: %s", args, code, stderr)
		}
	}
}

// A plan counts single requests and calls.
func TestPlanText(t *testing.T) {
	var out strings.Builder
	p := plannedRun{Plan: crawler.Plan{Total: 1, Pages: 1}, Known: 1, Requests: 2}
	p.write(&out, &crawler.Config{Config: api.Config{PerSecond: 5, PerMinute: 120, Share: 1}})
	if says := "has 1 call, the service has 1 call. A run without failures takes about:\n  list                1 request        1s\n"; !strings.Contains(out.String(), says) {
		t.Error(&out)
	}
}

// The help of a command lists the flags that it uses. It accepts the others too.
func TestHelpListsWhatACommandUses(t *testing.T) {
	root := tended(t)
	for command, lists := range map[string]map[string]bool{
		"status":  {"--warehouse": true, "--profile": true, "--max-age": true, "--share": false, "--base-url": false, "--mask": false, "--keep": false},
		"show":    {"--config": true, "--api-key-file": false, "--quiet": false},
		"verify":  {"--deep": true, "--base-url": true, "--metrics-file": false},
		"compact": {"--quiet": true, "--requests-per-second": false},
		"plan":    {"--share": true, "--since": true, "--metrics-file": false},
		"run":     {"--share": true, "--since": true, "--mask": true, "--metrics-file": true, "--quiet": true},
		"":        {"--warehouse": true, "--share": false},
	} {
		code, stdout, _ := call(t, "", append(strings.Fields(command), "--help")...)
		test.Same(t, 0, code, "extract %s --help: exit code", command)
		for flag, want := range lists {
			test.Same(t, want, strings.Contains(stdout, " "+flag+" "), "extract %s --help lists %s", command, flag)
		}
	}
	code, stdout, stderr := call(t, "", "status", "--share", "0.5", "--quiet", "--warehouse", root)
	if code != 0 || !strings.HasPrefix(stdout, "OK: ") {
		t.Errorf("with flags that status does not use: exit code %d, %s", code, stderr)
	}
}

// Shells complete the values of flags, for the flags that a command uses.
func TestCompletionOfValues(t *testing.T) {
	file := filepath.Join(t.TempDir(), "callhouse.toml")
	t.Setenv("CALLHOUSE_CONFIG", file)
	test.OK(t, os.WriteFile(file, []byte("[profiles.acme]\n[profiles.globex]\n"), 0o600))
	for args, want := range map[string]string{
		"run --profile ":   "acme globex :4",
		"status --format ": "text json :4",
		"plan --format ":   "text json :4",
		"status --s":       ":4", // status does not use --share
	} {
		_, stdout, _ := call(t, "", append([]string{"__complete"}, strings.Split(args, " ")...)...)
		test.Same(t, want, strings.Join(strings.Fields(stdout), " "), "extract %s: offers", args)
	}
}

// Every flag of run is a setting, except those for a single run, and every setting of extract is a flag of run.
func TestEveryFlagIsASetting(t *testing.T) {
	run, _, err := Command().Find([]string{"run"})
	test.OK(t, err)
	known := map[string]bool{"config": true, "profile": true, "all": true, "full": true, "call-id": true, "yes": true, "adopt": true, "help": true, "version": true}
	for i := range config.Keys {
		k := &config.Keys[i]
		if k.For&config.Extract != 0 && run.Flag(k.Flag()) == nil {
			t.Errorf("run has no flag for %s", k.Name)
		}
		known[k.Flag()] = true
	}
	check := func(f *pflag.Flag) {
		if !known[f.Name] && !f.Hidden {
			t.Errorf("--%s is no setting: it belongs into internal/config", f.Name)
		}
	}
	run.Flags().VisitAll(check)
	run.InheritedFlags().VisitAll(check)
}

func TestQuoting(t *testing.T) {
	for word, want := range map[string][3]string{
		"/usr/bin/extract":      {"/usr/bin/extract", "/usr/bin/extract", "/usr/bin/extract"},
		"/home/an a/50%/it's":   {`'/home/an a/50%/it'\''s'`, `'/home/an a/50\%/it'\''s'`, `"/home/an a/50%%/it's"`},
		"/home/$USER/callhouse": {`'/home/$USER/callhouse'`, `'/home/$USER/callhouse'`, `"/home/$$USER/callhouse"`},
	} {
		test.Same(t, want, [3]string{words.Shell(word), cronQuoted(word), unitQuoted(word)}, "%s", word)
	}
}

// A hook gets no API key.
func TestNoKeyForQuery(t *testing.T) {
	dir := t.TempDir()
	test.OK(t, os.WriteFile(filepath.Join(dir, "query"), []byte("#!/bin/sh\nenv\n"), 0o700))
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	s := &settings{Config: config.Config{Env: config.Environment{Vars: map[string]string{config.EnvKey: "k", "OTHER": "o"}}}}
	var out strings.Builder
	if _, err := s.askQuery(t.Context(), &out, "alert"); err != nil || strings.Contains(out.String(), config.EnvKey) || !strings.Contains(out.String(), "OTHER=o") {
		t.Errorf("%v: %s", err, out.String())
	}
}

// The help of run leads with six flags, and the others follow by groups.
func TestHelpOfRun(t *testing.T) {
	_, help, _ := call(t, "", "run", "--help")
	rest := help
	for _, part := range []string{"\nNeeded:\n", "--base-url", "--api-key-file", "--warehouse", "--since", "--max-duration", "--tz",
		"\nLimits:\n", "--share", "\nPrivacy:\n", "--keep ", "\nOutputs:\n", "--quiet", "\nAdvanced:\n", "--full", "--yes", "--profile"} {
		_, after, ok := strings.Cut(rest, part)
		if rest = after; !ok {
			t.Fatalf("%s is missing, or not in its place:\n%s", part, help)
		}
	}
}
