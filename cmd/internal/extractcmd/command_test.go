package extractcmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callhouse/internal/test"
)

// The README's list of commands is complete.
func TestReadmeNamesEveryCommand(t *testing.T) {
	readme := test.Read(t, "../../../README.md")
	for _, c := range Command().Commands() {
		if c.IsAvailableCommand() && c.Name() != "help" && !strings.Contains(string(readme), "| `extract "+c.Name()) {
			t.Errorf("the README does not list extract %s", c.Name())
		}
	}
}

// extract alone shows its help; with flags it asks for a command.
func TestExtractWithoutACommand(t *testing.T) {
	if code, out, _ := call(t, ""); code != 0 || !strings.Contains(out, "extract [command]") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	if code, _, stderr := call(t, "", "--quiet"); code != 2 || !strings.Contains(stderr, "run: extract run") {
		t.Errorf("with a flag: exit code %d\n%s", code, stderr)
	}
}

// --format json writes JSON to standard output, for every command.
func TestPlanFormats(t *testing.T) {
	for args, says := range map[string]string{
		"plan --format xml": "--format takes text or json",
		"plan --json":       "no service address",
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

// The help of a command lists the flags that it uses. It accepts the others too.
func TestHelpListsWhatACommandUses(t *testing.T) {
	root := tended(t)
	for command, lists := range map[string]map[string]bool{
		"status":  {"--warehouse": true, "--profile": true, "--max-age": true, "--share": false, "--base-url": false, "--mask": false, "--keep": false},
		"show":    {"--pretty": true, "--config": true, "--api-key-file": false, "--quiet": false},
		"verify":  {"--deep": true, "--base-url": true, "--metrics-file": false},
		"compact": {"--month": true, "--quiet": true, "--requests-per-second": false},
		"plan":    {"--share": true, "--since": true, "--metrics-file": false, "--ping-url": false, "--json": false},
		"run":     {"--share": true, "--since": true, "--mask": true, "--metrics-file": true, "--quiet": true},
		"":        {"--warehouse": true, "--share": false},
	} {
		code, stdout, _ := call(t, "", append(strings.Fields(command), "--help")...)
		if code != 0 {
			t.Errorf("extract %s --help: exit code %d", command, code)
		}
		for flag, want := range lists {
			if got := strings.Contains(stdout, " "+flag+" "); got != want {
				t.Errorf("extract %s --help lists %s: %v", command, flag, got)
			}
		}
	}
	code, stdout, stderr := call(t, "", "status", "--share", "0.5", "--quiet", "--warehouse", root)
	if code != 0 || !strings.HasPrefix(stdout, "fine") {
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
	} {
		_, stdout, _ := call(t, "", append([]string{"__complete"}, strings.Split(args, " ")...)...)
		if got := strings.Join(strings.Fields(stdout), " "); got != want {
			t.Errorf("extract %s: offers %q, want %q", args, got, want)
		}
	}
	_, stdout, _ := call(t, "", "__complete", "status", "--s")
	if strings.Contains(stdout, "--share") {
		t.Errorf("status offers a flag that it does not use:\n%s", stdout)
	}
}
