package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"callhouse/internal/sandbox"
)

// host is the machine of an example of deploy/: the program, the settings in its working folder,
// and the key.
type host struct {
	*company
	root string
}

func newHost(t *testing.T) *host {
	c := foundNow(t, sandbox.Options{World: sandbox.Config{Seed: 4, Calls: 60, Days: 5}, PerSecond: 5000, PerMinute: 100_000})
	h := &host{c, t.TempDir()}
	linkProgram(t, h.root, "extract")
	linkProgram(t, h.root, "query")
	settings := h.example("callhouse.toml") + "requests_per_second = 5000\nrequests_per_minute = 100000\n"
	if err := os.WriteFile(filepath.Join(h.root, "callhouse.toml"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	return h
}

// example returns a file of deploy/ with this host's paths.
func (h *host) example(name string) string {
	h.t.Helper()
	raw, err := os.ReadFile(filepath.Join("../../../deploy", name))
	if err != nil {
		h.t.Fatal(err)
	}
	return h.here(string(raw))
}

// here returns a text with this host's paths.
func (h *host) here(text string) string {
	return strings.NewReplacer("/usr/local/bin", h.root, "/var/lib/callhouse", h.warehouse, "/etc/callhouse/key", h.keyFile,
		"https://api.example.com", h.service.URL, "/srv/bi", h.root).Replace(text)
}

// run runs a command line like cron and systemd: with an almost empty environment.
func (h *host) run(command string, env ...string) string {
	h.t.Helper()
	cmd := exec.CommandContext(h.t.Context(), "/bin/sh", "-c", command)
	cmd.Dir, cmd.Env = h.root, append([]string{"PATH=/usr/bin:/bin"}, env...)
	said, err := cmd.CombinedOutput()
	if err != nil {
		h.t.Fatalf("%s: %v\n%s", command, err, said)
	}
	return string(said)
}

func (h *host) filled() {
	h.t.Helper()
	if n := h.instant("SELECT count(*) FROM calls"); n != 60 {
		h.t.Errorf("the warehouse has %d calls, want 60", n)
	}
}

func TestDeployCron(t *testing.T) {
	h := newHost(t)
	user, command := cronLine(t, "../../../deploy/cron/callhouse")
	if user != "callhouse" {
		t.Errorf("cron runs it as %s", user)
	}
	if said := h.run(h.here(command)); said != "" {
		t.Errorf("cron would mail after a good night: %s", said)
	}
	h.filled()
}

// The line in docs/reference/bi.md finds its programs in cron's search path.
func TestDeployCronForOtherTools(t *testing.T) {
	h := newHost(t)
	user, command := cronLine(t, "../../../docs/reference/bi.md")
	if user != "callhouse" {
		t.Errorf("cron runs it as %s", user)
	}
	h.run(h.here(command))
	h.filled()
	if _, err := os.Stat(filepath.Join(h.root, "callhouse.duckdb")); err != nil {
		t.Error(err)
	}
}

func TestDeploySystemd(t *testing.T) {
	h := newHost(t)
	service := h.example("systemd/callhouse.service")
	start := regexp.MustCompile(`(?m)^ExecStart=(.+)$`).FindStringSubmatch(service)
	credential := regexp.MustCompile(`(?m)^LoadCredential=([^:]+):(.+)$`).FindStringSubmatch(service)
	if start == nil || credential == nil || credential[2] != h.keyFile {
		t.Fatalf("no ExecStart, or no LoadCredential, in\n%s", service)
	}
	// systemd passes the credential in a folder, and the settings name no key.
	folder := t.TempDir()
	key, err := os.ReadFile(h.keyFile)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, credential[1]), key, 0o400); err != nil {
		t.Fatal(err)
	}
	// The folder of the metrics in monitoring.md is writable.
	page, err := os.ReadFile("../../../docs/reference/monitoring.md")
	if err != nil {
		t.Fatal(err)
	}
	metrics := regexp.MustCompile(`--metrics-file (/\S+)/`).FindStringSubmatch(string(page))
	if metrics == nil || !strings.Contains(service, "\nReadWritePaths=-"+metrics[1]+"\n") {
		t.Errorf("the service may not write to the folder of the metrics %q", metrics)
	}
	// A key file in the settings is read despite a credential.
	closed := regexp.MustCompile(`(?m)^api_key_file.*\n`).ReplaceAllString(h.example("callhouse.toml"), "api_key_file = \"/there/is/no/key\"\n")
	if err := os.WriteFile(filepath.Join(h.root, "callhouse.toml"), []byte(closed), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := h.run(start[1]+" 2>&1 || true", "CREDENTIALS_DIRECTORY="+folder); !strings.Contains(r, "callhouse.toml:4 names a file: remove that setting") {
		t.Errorf("of a credential that is not read it says: %s", r)
	}
	settings := regexp.MustCompile(`(?m)^api_key_file.*\n`).ReplaceAllString(h.example("callhouse.toml"), "")
	if err := os.WriteFile(filepath.Join(h.root, "callhouse.toml"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	h.run(start[1]+" --requests-per-second 5000 --requests-per-minute 100000", "CREDENTIALS_DIRECTORY="+folder)
	h.filled()

	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("no systemd-analyze here: the unit files are not checked")
	}
	units := t.TempDir()
	for _, name := range []string{"callhouse.service", "callhouse.timer", "callhouse-serve.service"} {
		if err := os.WriteFile(filepath.Join(units, name), []byte(h.example("systemd/"+name)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	h.run(analyze + " verify " + units + "/callhouse.service " + units + "/callhouse.timer " + units + "/callhouse-serve.service")
	for _, name := range []string{"callhouse", "callhouse-serve"} {
		// Exposure on its scale of 0.0 to 10.0, times ten.
		t.Log(h.run(analyze + " security --offline=true --threshold=15 " + units + "/" + name + ".service | tail -1"))
	}
}
