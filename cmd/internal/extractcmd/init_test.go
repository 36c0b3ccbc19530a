package extractcmd

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/config"
	"callhouse/internal/test"
)

// An address is typed without a scheme: it is added, or the message says what to type.
func TestAddressWithoutAScheme(t *testing.T) {
	for text, want := range map[string]string{
		"api.example.com": "https://api.example.com", "api.example.com/v3/": "https://api.example.com", "//api.example.com": "https://api.example.com",
		"localhost:8080": "http://localhost:8080", "127.0.0.1:8080/v3": "http://127.0.0.1:8080", "[::1]:8080": "http://[::1]:8080",
		"http://api.example.com": "http://api.example.com",
	} {
		got, err := validAddress(text)
		test.OK(t, err)
		test.Same(t, want, got, "%s", text)
	}
	for _, text := range []string{"", "me@api.example.com", "ftp://api.example.com", "https:/api.example.com", "api example"} {
		if got, err := validAddress(text); err == nil || !strings.Contains(cli.Hint(err), "https://api.example.com") {
			t.Errorf("%q becomes %q, hint %q", text, got, cli.Hint(err))
		}
	}
	s := &settings{Config: config.Config{Values: config.Values{BaseURL: "api.example.com"}}}
	if _, err := s.crawlConfig(time.Time{}); err == nil || !strings.Contains(cli.Hint(err), "--base-url https://api.example.com") {
		t.Errorf("run: %v, hint %q", err, cli.Hint(err))
	}
}

// What init prints to start a run every night fits the machine, and the units are ready to paste.
func TestNightly(t *testing.T) {
	home := t.TempDir()
	var out bytes.Buffer
	i := &initial{settings: &settings{}, stdout: &out, target: "/etc/callhouse.toml", owner: config.Owner{UID: 7, Name: "ana"}}
	const line = "\n  10 2 * * * /bin/extract run --config /etc/callhouse.toml --quiet\n"
	for name, c := range map[string]struct {
		systemd, cron    bool
		has, has2, lacks string
	}{
		"cron":    {false, true, "with crontab -u ana -e:" + line, "", "follow"},
		"neither": {false, false, "Neither cron nor systemd runs", "\n  /bin/extract follow\n", "systemd, paste"},
		"both":    {true, true, "For systemd, paste this:", line, "follow"},
		"systemd": {true, false, "For systemd, paste this:", "\nUser=ana\n", "10 2 * * *"},
	} {
		out.Reset()
		i.nightly("/bin/extract", "/bin/extract follow", c.systemd, c.cron)
		if s := out.String(); !strings.Contains(s, c.has) || !strings.Contains(s, c.has2) || strings.Contains(s, c.lacks) {
			t.Errorf("%s:\n%s", name, s)
		}
	}
	if os.Geteuid() == 0 {
		return // root's units are of the machine
	}
	out.Reset()
	i.nightly("/bin/extract", "", true, false)
	for _, name := range []string{"systemctl", "loginctl"} {
		test.OK(t, os.WriteFile(filepath.Join(home, name), []byte("#!/bin/sh\necho \"$@\" >> "+home+"/called\n"), 0o700))
	}
	_, paste, _ := strings.Cut(out.String(), "paste this:\n")
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", paste)
	cmd.Env = []string{"HOME=" + home, "PATH=" + home + ":/usr/bin:/bin"}
	said, err := cmd.CombinedOutput()
	test.OK(t, err)
	service, called := test.Read(t, home+"/.config/systemd/user/callhouse.service"), test.Read(t, home+"/called")
	if string(called) != "--user daemon-reload\n--user enable --now callhouse.timer\nenable-linger\n" ||
		!strings.Contains(string(service), "\nExecStart=/bin/extract run --config /etc/callhouse.toml\n") {
		t.Errorf("%s\n%s\n%s", said, called, service)
	}
}

// Folders around one that belongs to another user are open to that user, whatever the umask.
func TestMakeFolder(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o077))
	dir := t.TempDir()
	test.OK(t, errors.Join(makeFolder(dir+"/a/b/c"), makeFolder(dir+"/a/b/c")))
	for path, want := range map[string]fs.FileMode{"/a": 0o755, "/a/b": 0o755, "/a/b/c": 0o700} {
		st, err := os.Stat(dir + path)
		test.OK(t, err)
		test.Same(t, want, st.Mode().Perm(), "%s", path)
	}
}

// What would stop init after the questions is said before them.
func TestInitChecksFirst(t *testing.T) {
	dir := t.TempDir()
	test.OK(t, os.Mkdir(dir+"/closed", 0o700))
	i := &initial{settings: &settings{Config: config.Config{Path: dir + "/callhouse.toml", Values: config.Values{Warehouse: dir + "/closed/w"},
		Env: config.Environment{Vars: map[string]string{"HOME": dir}}}}}
	if os.Geteuid() == 0 {
		i.Env.Root = true
		test.OK(t, errors.Join(os.Chmod(dir, 0o755), os.Chown(dir, 12345, 12345)))
		i.Settings = config.Settings{{Key: &config.Keys[2], From: config.Origin{Source: config.FromFlag}}}
		if err := i.find(); err == nil || !strings.Contains(err.Error(), "the user 12345 cannot") {
			t.Errorf("a folder that the user cannot enter: %v", err)
		}
		i.Env.Root = false
	}
	test.OK(t, os.WriteFile(dir+"/key", nil, 0o600))
	if err := i.find(); err == nil || !strings.Contains(err.Error(), "it exists already: "+dir+"/key") {
		t.Errorf("a key that exists: %v", err)
	}
}
