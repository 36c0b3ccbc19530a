package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"callhouse/internal/longtest"
	"callhouse/internal/sandbox"
	"callhouse/internal/test"
)

// host is the machine of an example of deploy/: the program, the settings, and the key.
type host struct {
	*company
	root string
}

func newHost(t *testing.T) *host {
	c := foundNow(t, sandbox.Options{World: sandbox.Config{Seed: 4, Calls: 20, Days: 1}, PerSecond: 5000, PerMinute: 100_000})
	h := &host{c, t.TempDir()}
	linkProgram(t, h.root, "extract")
	linkProgram(t, h.root, "query")
	settings := h.example("callhouse.toml") + "requests_per_second = 5000\nrequests_per_minute = 100000\n"
	test.OK(t, os.WriteFile(filepath.Join(h.root, "callhouse.toml"), []byte(settings), 0o600))
	return h
}

// example returns a file of deploy/ with this host's paths.
func (h *host) example(name string) string {
	h.t.Helper()
	raw := test.Read(h.t, filepath.Join("../../../deploy", name))
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
	cmd.Dir, cmd.Env = h.root, append([]string{"PATH=/usr/bin:/bin", "CALLHOUSE_RESOURCES=none", "CALLHOUSE_CONFIG=" + filepath.Join(h.root, "callhouse.toml")}, env...)
	said, err := cmd.CombinedOutput()
	if err != nil {
		h.t.Fatalf("%s: %v\n%s", command, err, said)
	}
	return string(said)
}

func (h *host) filled() {
	h.t.Helper()
	if n := h.instant("SELECT count(*) FROM calls"); n != 20 {
		h.t.Errorf("the warehouse has %d calls, want 20", n)
	}
}

func TestDeploySystemd(t *testing.T) {
	h := newHost(t)
	service := h.example("systemd/callhouse.service")
	start := regexp.MustCompile(`(?m)^ExecStart=(.+)$`).FindStringSubmatch(service)
	credential := regexp.MustCompile(`(?m)^LoadCredential=([^:]+):(.+)\nEnvironment=CALLHOUSE_API_KEY_FILE=/run/credentials/callhouse.service/(.+)$`).
		FindStringSubmatch(service)
	if start == nil || credential == nil || credential[2] != h.keyFile || credential[1] != credential[3] {
		t.Fatalf("no ExecStart, or no LoadCredential with its variable, in\n%s", service)
	}
	// systemd passes the credential in a folder of this process alone.
	folder := t.TempDir()
	test.OK(t, os.WriteFile(filepath.Join(folder, credential[1]), test.Read(t, h.keyFile), 0o400))
	// The folder of the metrics in monitoring.md is writable.
	page := test.Read(t, "../../../docs/reference/monitoring.md")
	metrics := regexp.MustCompile(`--metrics-file (/\S+)/`).FindStringSubmatch(string(page))
	if metrics == nil || !strings.Contains(service, "\nReadWritePaths=-"+metrics[1]+"\n") {
		t.Errorf("the service may not write to the folder of the metrics %q", metrics)
	}
	unreadable := regexp.MustCompile(`(?m)^api_key_file.*\n`).ReplaceAllString(h.example("callhouse.toml"), "api_key_file = \"/there/is/no/key\"\n")
	test.OK(t, os.WriteFile(filepath.Join(h.root, "callhouse.toml"), []byte(unreadable), 0o600))
	h.run(start[1]+" --requests-per-second 5000 --requests-per-minute 100000", "CREDENTIALS_DIRECTORY="+folder,
		"CALLHOUSE_API_KEY_FILE="+filepath.Join(folder, credential[3]))
	h.filled()

	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("no systemd-analyze here: the unit files are not checked")
	}
	units := t.TempDir()
	names := []string{"callhouse.service", "callhouse.timer", "callhouse-serve.service", "callhouse-follow.service"}
	for _, name := range names {
		test.OK(t, os.WriteFile(filepath.Join(units, name), []byte(h.example("systemd/"+name)), 0o600))
	}
	h.run(analyze + " verify " + units + "/" + strings.Join(names, " "+units+"/"))
	for _, name := range []string{"callhouse", "callhouse-serve", "callhouse-follow"} {
		// Exposure on its scale of 0.0 to 10.0, times ten.
		t.Log(h.run(analyze + " security --offline=true --threshold=15 " + units + "/" + name + ".service | tail -1"))
	}
}

// The settings of the examples of extract follow are valid. TestFollow in extractcmd follows a service.
func TestDeployFollow(t *testing.T) {
	longtest.Only(t)
	h := newHost(t)
	start := regexp.MustCompile(`(?m)^ExecStart=(.+)$`).FindStringSubmatch(h.example("systemd/callhouse-follow.service"))
	for name, args := range map[string][]string{
		"systemd":    strings.Fields(start[1])[1:],
		"docker":     h.yaml("docker/compose.yaml").args("services", "follow", "command"),
		"kubernetes": followInKubernetes(h),
	} {
		if args[0] != "follow" {
			t.Errorf("%s runs extract %s", name, args)
		}
		h.run("./extract config " + strings.Join(args[1:], " "))
	}
}

// followInKubernetes returns the arguments of the example. Its names agree with those of callhouse.yaml.
func followInKubernetes(h *host) []string {
	h.t.Helper()
	spec := h.yaml("kubernetes/callhouse-follow.yaml").at("spec", "template", "spec")
	night := h.yaml("kubernetes/callhouse.yaml") // the volume claim is its first document
	volume := spec.at("volumes").of.([]any)[0].(map[string]any)
	claim := volume["persistentVolumeClaim"].(map[string]any)["claimName"]
	if name := night.at("metadata", "name").of; claim != name {
		h.t.Errorf("the volume claim is called %v and %v", claim, name)
	}
	container := document{h.t, spec.at("containers").of.([]any)[0]}
	if mount := container.at("volumeMounts").of.([]any)[0].(map[string]any); mount["name"] != volume["name"] {
		h.t.Errorf("%v is mounted, not %v", mount["name"], volume["name"])
	}
	return container.args("args")
}

// document is a YAML value of an example.
type document struct {
	t  *testing.T
	of any
}

// yaml reads the first document of an example.
func (h *host) yaml(name string) document {
	h.t.Helper()
	d := document{t: h.t}
	if err := yaml.Unmarshal([]byte(h.example(name)), &d.of); err != nil {
		h.t.Fatalf("%s: %v", name, err)
	}
	return d
}

func (d document) at(path ...string) document {
	d.t.Helper()
	for _, name := range path {
		members, ok := d.of.(map[string]any)
		if !ok || members[name] == nil {
			d.t.Fatalf("nothing at %v", path)
		}
		d.of = members[name]
	}
	return d
}

func (d document) args(path ...string) (out []string) {
	d.t.Helper()
	for _, v := range d.at(path...).of.([]any) {
		out = append(out, fmt.Sprint(v))
	}
	return out
}
