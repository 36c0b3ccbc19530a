package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"callhouse/internal/longtest"
	"callhouse/internal/sandbox"
	"callhouse/internal/test"
)

const operations = "../../../docs/reference/operations.md"

// The operations page is a script: its blocks run in order, against a sandbox, in folders of the test.
func TestOperationsPage(t *testing.T) {
	t.Parallel()
	longtest.Only(t)
	page := test.Read(t, operations)
	blocks := regexp.MustCompile("(?ms)^```sh\n(.*?)^```$").FindAllStringSubmatch(string(page), -1)
	if len(blocks) < 10 {
		t.Fatalf("%s has %d blocks to run: was its markup changed?", operations, len(blocks))
	}
	c := foundNow(t, sandbox.Options{World: sandbox.Config{Seed: 3, Calls: 100, Days: 5}, PerSecond: 5000, PerMinute: 100_000})
	u := newServiceUser(t)
	root := u.root
	for _, dir := range []string{"lib", "home"} { // root's working folder is closed to others
		test.OK(t, os.Mkdir(filepath.Join(root, dir), map[string]os.FileMode{"lib": 0o755, "home": 0o700}[dir]))
	}
	user := fmt.Sprintf("%d:%d", u.uid, u.gid)
	here := strings.NewReplacer("/usr/local/bin", root+"/bin", "/etc/callhouse", root+"/etc", "/var/lib/callhouse", root+"/lib/callhouse",
		"/backup", root+"/backup", "https://api.example.com", c.service.URL, "callhouse:callhouse", user,
		"-o callhouse", fmt.Sprint("-o ", u.uid), "-g callhouse", fmt.Sprint("-g ", u.gid))
	run := func(script string) string {
		t.Helper()
		// The file is found in /etc/callhouse; here it must be named. The limits are the sandbox's,
		// or the page would take minutes.
		cmd := u.command(filepath.Join(root, "home"), script, "HOME="+root+"/home", "THE_KEY="+testKey,
			"CALLHOUSE_REQUESTS_PER_SECOND=4000", "CALLHOUSE_REQUESTS_PER_MINUTE=90000")
		if _, err := os.Stat(root + "/etc/callhouse.toml"); err == nil {
			cmd.Env = append(cmd.Env, "CALLHOUSE_CONFIG="+root+"/etc/callhouse.toml")
		}
		said, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s\n%s", err, script, said)
		}
		t.Logf("%s\n%s", script, said)
		return string(said)
	}
	_, cron := cronLine(t, "../../../deploy/cron/callhouse")
	nights := 0
	for _, b := range blocks {
		if said := run(here.Replace(b[1])); strings.Contains(said, "belongs to") {
			t.Errorf("somebody else's file is left:\n%s\n%s", b[1], said)
		}
		if strings.Contains(b[1], "extract run") {
			nights++
			if said := run("sudo -u callhouse sh -c '" + here.Replace(cron) + "'"); said != "" {
				t.Errorf("cron would mail after a good night: %s", said)
			}
		}
	}
	if nights < 4 {
		t.Errorf("cron came by %d times: were the page's blocks changed?", nights)
	}
	// The systemd section: the key belongs to root, and is passed to the service as a credential.
	credentials := filepath.Join(root, "credentials")
	run("install -d -m 0500 -o " + fmt.Sprint(u.uid) + " " + credentials + " && install -m 0400 -o " + fmt.Sprint(u.uid) + " " + root + "/etc/key " + credentials + "/key")
	service := test.Read(t, "../../../deploy/systemd/callhouse.service")
	start := regexp.MustCompile(`(?m)^ExecStart=(.+)$`).FindStringSubmatch(string(service))[1]
	_, section, _ := strings.Cut(string(page), "### systemd\n")
	steps := 0
	for _, m := range regexp.MustCompile(`(?m)^# (chown .+)$`).FindAllStringSubmatch(section, -1) {
		steps++
		run(strings.ReplaceAll(here.Replace(m[1]), "root:root", fmt.Sprintf("%d:%d", os.Getuid(), os.Getgid())))
	}
	if steps != 1 {
		t.Errorf("the section on systemd has %d steps for the key, want 1", steps)
	}
	run("CREDENTIALS_DIRECTORY=" + credentials + " CALLHOUSE_API_KEY_FILE=" + credentials + "/key sudo -u callhouse " + here.Replace(start))
}

// cronLine returns the user and command of the only crontab line in a file.
func cronLine(t *testing.T, path string) (user, command string) {
	t.Helper()
	raw := test.Read(t, path)
	lines := regexp.MustCompile(`(?m)^ *[\d*/,-]+ [\d*/,-]+ [\d*/,-]+ [\d*/,-]+ [\d*/,-]+ +(\S+) +(.+)$`).FindAllStringSubmatch(string(raw), -1)
	if len(lines) != 1 {
		t.Fatalf("%s: want one line of /etc/cron.d, got %q", path, lines)
	}
	return lines[0][1], lines[0][2]
}

// Every message explained on the page exists in the programs.
func TestOperationsMessages(t *testing.T) {
	page := test.Read(t, operations)
	var source strings.Builder
	for _, pattern := range []string{"../*/*.go", "../*/*/*.go", "../../../internal/*/*.go", "../../../internal/*/*/*.go"} {
		files, err := filepath.Glob(pattern)
		test.OK(t, err)
		for _, f := range files {
			if strings.HasSuffix(f, "_test.go") {
				continue
			}
			raw := test.Read(t, f)
			source.Write(raw)
		}
	}
	_, table, _ := strings.Cut(string(page), "## Messages\n")
	rows := 0
	for line := range strings.Lines(table) {
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		rows++
		first, _, _ := strings.Cut(line[2:], " | ")
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(first, -1) {
			for part := range strings.SplitSeq(m[1], "…") {
				if part = strings.TrimSpace(part); !strings.Contains(source.String(), part) {
					t.Errorf("no program says %q", part)
				}
			}
		}
	}
	if rows < 10 {
		t.Errorf("the table has %d messages: was its markup changed?", rows)
	}
}
