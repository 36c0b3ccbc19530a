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

const operations = "../../../docs/operations.md"

// The page on operation is a script: its blocks run one after the other, against
// a sandbox, in folders of the test's own.
func TestOperationsPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(operations)
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?ms)^```sh\n(.*?)^```$").FindAllStringSubmatch(string(page), -1)
	if len(blocks) < 10 {
		t.Fatalf("%s has %d blocks to run: was its markup changed?", operations, len(blocks))
	}
	c := found(t, sandbox.Options{World: sandbox.Config{Seed: 3, Calls: 300, Days: 10}, PerSecond: 5000, PerMinute: 100_000})
	root := t.TempDir()
	for _, dir := range []string{"bin", "etc", "lib", "home"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	linkProgram(t, filepath.Join(root, "bin"), "extract")
	linkProgram(t, filepath.Join(root, "bin"), "query")
	here := strings.NewReplacer("/usr/local/bin", root+"/bin", "/etc/callhouse", root+"/etc", "/var/lib/callhouse", root+"/lib/callhouse",
		"/backup", root+"/backup", "https://api.example.com", c.service.URL)
	for _, b := range blocks {
		cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", here.Replace(b[1]))
		cmd.Dir = filepath.Join(root, "home")
		// The file is found in /etc/callhouse without being told; here it has to be. The
		// limits are the sandbox's, or the page would take minutes.
		cmd.Env = []string{"PATH=" + root + "/bin:/usr/bin:/bin", "HOME=" + cmd.Dir, "THE_KEY=" + testKey,
			"CALLHOUSE_REQUESTS_PER_SECOND=4000", "CALLHOUSE_REQUESTS_PER_MINUTE=90000"}
		if _, err := os.Stat(root + "/etc/callhouse.toml"); err == nil {
			cmd.Env = append(cmd.Env, "CALLHOUSE_CONFIG="+root+"/etc/callhouse.toml")
		}
		said, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s\n%s", err, b[1], said)
		}
		t.Logf("%s\n%s", b[1], said)
	}
}

// Every message that the page explains is one that the programs have.
func TestOperationsMessages(t *testing.T) {
	page, err := os.ReadFile(operations)
	if err != nil {
		t.Fatal(err)
	}
	var source strings.Builder
	for _, pattern := range []string{"../*/*.go", "../../../internal/*/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if strings.HasSuffix(f, "_test.go") {
				continue
			}
			raw, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
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
