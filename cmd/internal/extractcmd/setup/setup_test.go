package setup

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/cmdtest"
	"callhouse/cmd/internal/config"
	"callhouse/cmd/internal/extractcmd/settings"
	"callhouse/deploy"
	"callhouse/internal/api"
	"callhouse/internal/sandbox"
	"callhouse/internal/words"
	"time"
)

func TestMain(m *testing.M) { cmdtest.Main(m) }

const key = "a-key-that-must-never-show"

// server is a machine, in a folder of the test, on which root runs init.
type server struct {
	t       *testing.T
	root    string
	service string
	ran     []string
	fails   string // the program that fails
	owner   func() (int, int, error)
}

func newServer(t *testing.T) *server {
	t.Helper()
	service, err := sandbox.New(sandbox.Options{World: sandbox.Config{Seed: 5, Calls: 60, Days: 5}, Keys: []string{key}})
	if err != nil {
		t.Fatal(err)
	}
	running, err := sandbox.Listen(t.Context(), "127.0.0.1:0", service)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = running.Close() })
	m := &server{t: t, root: t.TempDir(), service: running.URL, owner: func() (int, int, error) { return os.Getuid(), os.Getgid(), nil }}
	for _, dir := range []string{"/etc/cron.d", "/etc/systemd/system", "/run/systemd/system", "/var/lib"} {
		if err := os.MkdirAll(m.root+dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	bin := t.TempDir()
	if err := os.WriteFile(bin+"/systemctl", nil, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	return m
}

func (m *server) init(args ...string) (code int, text string) {
	m.t.Helper()
	var out bytes.Buffer
	clock := api.NewClock(time.Now)
	env := config.Environment{Vars: map[string]string{"CALLHOUSE_API_KEY": key}}
	s := &settings.Settings{Config: config.Config{Env: env}, Clock: clock, Now: clock.Now, Secrets: new(words.Secrets), Stderr: &out}
	root := &cobra.Command{Use: "extract", SilenceUsage: true, SilenceErrors: true}
	s.AddFlags(root, config.Extract)
	root.AddCommand(command(s, func(env config.Environment) (*machine, error) {
		return &machine{system: true, root: m.root, env: env, config: m.root + "/etc/callhouse/callhouse.toml", warehouse: m.root + "/var/lib/callhouse",
			zone: "UTC", program: "/usr/local/bin/extract", owner: m.owner, run: func(_ context.Context, _, name string, args ...string) (string, error) {
				m.ran = append(m.ran, name+" "+strings.Join(args, " "))
				if m.fails == name {
					return "", errors.New(name + " fails")
				}
				return "", nil
			}}, nil
	}))
	root.SetArgs(append([]string{"init", "--yes", "--base-url", m.service}, args...))
	root.SetOut(&out)
	root.SetErr(&out)
	return cli.Report(&out, "extract", root.ExecuteContext(m.t.Context())), out.String()
}

func (m *server) files() (out string) {
	_ = filepath.WalkDir(m.root, func(path string, e fs.DirEntry, _ error) error {
		if st, err := e.Info(); err == nil && !e.IsDir() || strings.HasSuffix(path, "/callhouse") {
			out += strings.TrimPrefix(path, m.root) + " " + st.Mode().Perm().String() + "\n"
		}
		return nil
	})
	return out
}

func (m *server) read(path string) string {
	f, err := os.Open(m.root + path)
	if err != nil {
		m.t.Fatal(err)
	}
	defer f.Close()
	raw, err := io.ReadAll(f)
	if err != nil {
		m.t.Fatal(err)
	}
	return string(raw)
}

// Root sets up the machine with the units of deploy/, and a failure reverts everything.
func TestSystem(t *testing.T) {
	m := newServer(t)
	m.owner = func() (int, int, error) { return 0, 0, user.UnknownUserError("callhouse") }
	if code, text := m.init(); code != cli.ExitUsage || !strings.Contains(text, "useradd --system") || m.files() != "" {
		t.Errorf("without the user: exit code %d, files %q:\n%s", code, m.files(), text)
	}
	m.owner = func() (int, int, error) { return os.Getuid(), os.Getgid(), nil }
	m.fails = "systemctl"
	if code, text := m.init(); code != cli.ExitFailed || !strings.Contains(text, "reverted") || m.files() != "" {
		t.Errorf("systemctl fails: exit code %d, files %q:\n%s", code, m.files(), text)
	}
	m.fails, m.ran = "", nil
	code, text := m.init()
	want := "/etc/callhouse -rwxr-x---\n/etc/callhouse/callhouse.toml -rw-r-----\n/etc/callhouse/key -rw-------\n" +
		"/etc/systemd/system/callhouse.service -rw-r--r--\n/etc/systemd/system/callhouse.timer -rw-r--r--\n/var/lib/callhouse -rwx------\n"
	if code != cli.ExitOK || m.files() != want || m.read("/etc/systemd/system/callhouse.service") != deploy.Service ||
		strings.Join(m.ran, "\n") != "systemctl daemon-reload\nsystemctl enable --now callhouse.timer" {
		t.Fatalf("exit code %d, files\n%s\nran %q\n%s", code, m.files(), m.ran, text)
	}
	if !strings.Contains(text, "sudo -u callhouse") || strings.Contains(text, key) {
		t.Errorf("it says\n%s", text)
	}
}

// Units of a package are not overwritten, and cron is the alternative schedule.
func TestSystemSchedules(t *testing.T) {
	m := newServer(t)
	if err := os.MkdirAll(m.root+"/usr/lib/systemd/system", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(m.root+"/usr/lib/systemd/system/callhouse.timer", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if code, text := m.init(); code != cli.ExitOK || strings.Contains(m.files(), "/etc/systemd/system/callhouse") || len(m.ran) != 2 {
		t.Errorf("with a package's units: exit code %d, files\n%s\n%s", code, m.files(), text)
	}
	if code, text := m.init("--schedule", "cron"); code != cli.ExitOK || m.read("/etc/cron.d/callhouse") != deploy.Cron {
		t.Errorf("by cron: exit code %d\n%s\n%s", code, m.read("/etc/cron.d/callhouse"), text)
	}
}

// Without systemd and cron, init says so; with --schedule none, that was the user's choice.
func TestNoSchedule(t *testing.T) {
	m := newServer(t)
	const none = "Neither systemd nor cron was found, so nothing starts it every night"
	if code, text := m.init("--schedule", "none"); code != cli.ExitOK || !strings.Contains(text, "Nothing starts it every night") ||
		strings.Contains(text, none) {
		t.Errorf("by choice: exit code %d\n%s", code, text)
	}
	for _, dir := range []string{"/etc/cron.d", "/run/systemd/system"} {
		if err := os.Remove(m.root + dir); err != nil {
			t.Fatal(err)
		}
	}
	if code, text := m.init(); code != cli.ExitOK || !strings.Contains(text, none) {
		t.Errorf("without both: exit code %d\n%s", code, text)
	}
}

func TestQuoting(t *testing.T) {
	for word, want := range map[string][3]string{
		"/usr/bin/extract":      {"/usr/bin/extract", "/usr/bin/extract", "/usr/bin/extract"},
		"/home/an a/50%/it's":   {`'/home/an a/50%/it'\''s'`, `'/home/an a/50\%/it'\''s'`, `"/home/an a/50%%/it's"`},
		"/home/$USER/callhouse": {`'/home/$USER/callhouse'`, `'/home/$USER/callhouse'`, `"/home/$$USER/callhouse"`},
	} {
		if got := [3]string{words.Shell(word), cronQuoted(word), unitQuoted(word)}; got != want {
			t.Errorf("%s: %q, want %q", word, got, want)
		}
	}
}

// A new volume is an empty folder, whatever its file system put into it.
func TestWarehouseInANewVolume(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"lost+found", ".Trash-1000", "System Volume Information", "@eaDir"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	i := &initial{Settings: new(settings.Settings), machine: &machine{system: true}}
	if path, err := i.validWarehouse(dir); err != nil || path != dir {
		t.Errorf("%q, %v", path, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "letter.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := i.validWarehouse(dir); err == nil || !strings.Contains(err.Error(), "holds other files") {
		t.Errorf("a folder with a letter: %v", err)
	}
}
