package e2e

import (
	"bytes"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/longtest"
	"callhouse/internal/sandbox"
	"callhouse/internal/scratch"
	"callhouse/internal/test"
)

// newUser is a user with an empty home folder.
type newUser struct {
	*serviceUser
	home string
}

func newNewUser(t *testing.T) *newUser {
	u := &newUser{serviceUser: newServiceUser(t)}
	u.home = filepath.Join(u.root, "home")
	test.OK(t, errors.Join(os.Mkdir(u.home, 0o700), os.Chown(u.home, u.uid, u.gid)))
	return u
}

func (u *newUser) command(program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(u.t.Context(), filepath.Join(u.root, "bin", program), args...)
	cmd.Dir = u.home
	cmd.Env = []string{"PATH=" + u.root + "/bin:/usr/bin:/bin", "HOME=" + u.home, "TERM=xterm", "TMPDIR=/tmp", "CALLHOUSE_TEST_SEALED=yes",
		"TZ=Asia/Seoul", "CALLHOUSE_REQUESTS_PER_SECOND=2000", "CALLHOUSE_REQUESTS_PER_MINUTE=100000", "CALLHOUSE_RESOURCES=none"}
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(u.uid), Gid: uint32(u.gid), NoSetGroups: false}}
	}
	return cmd
}

// file returns the text and mode of a file in the home folder; empty if it does not exist.
func (u *newUser) file(name string) (string, fs.FileMode) {
	path := filepath.Join(u.home, name)
	st, err := os.Stat(path)
	if err != nil {
		return "", 0
	}
	raw := test.Read(u.t, path)
	return string(raw), st.Mode().Perm()
}

// files returns all files and folders of the home folder.
func (u *newUser) files() (out []string) {
	_ = filepath.WalkDir(u.home, func(path string, _ fs.DirEntry, _ error) error {
		if rel, _ := filepath.Rel(u.home, path); rel != "." {
			out = append(out, rel)
		}
		return nil
	})
	return out
}

// dialogue is a program in a terminal.
type dialogue struct {
	t    *testing.T
	cmd  *exec.Cmd
	tty  *os.File
	mu   sync.Mutex
	said bytes.Buffer
	seen int
	over chan struct{}
}

func (u *newUser) dialogue(env []string, args ...string) *dialogue {
	u.t.Helper()
	d := &dialogue{t: u.t, cmd: u.command("extract", args...), over: make(chan struct{})}
	d.cmd.Env = append(d.cmd.Env, env...)
	var err error
	if d.tty, err = pty.StartWithSize(d.cmd, &pty.Winsize{Rows: 50, Cols: 120}); err != nil {
		u.t.Skip("no pseudo terminals on this machine: ", err)
	}
	go func() {
		defer close(d.over)
		buf := make([]byte, 4096)
		for {
			n, err := d.tty.Read(buf)
			d.mu.Lock()
			d.said.Write(bytes.ReplaceAll(buf[:n], []byte("\r"), nil))
			d.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	u.t.Cleanup(func() { _ = d.cmd.Process.Kill(); _ = d.tty.Close() })
	return d
}

func (d *dialogue) text() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.said.String()
}

// answer waits for a question, and types the answer.
func (d *dialogue) answer(question, answer string) {
	d.t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(2 * time.Millisecond) {
		text := d.text()
		if at := strings.Index(text[d.seen:], question); at >= 0 && strings.HasSuffix(text, ": ") {
			d.seen = len(text)
			break
		}
		if time.Now().After(end) {
			d.t.Fatalf("no question %q in\n%s", question, text)
		}
	}
	if last := d.text()[strings.LastIndex(d.text(), "\n")+1:]; strings.HasPrefix(last, "API key") { // echo is off right after the question
		for end := time.Now().Add(time.Minute); d.echoes() && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
		}
	}
	_, err := d.tty.WriteString(answer)
	test.OK(d.t, err)
}

// end waits for the program to end, and returns its exit code and all text.
func (d *dialogue) end() (int, string) {
	d.t.Helper()
	<-d.over
	err := d.cmd.Wait()
	if e := (*exec.ExitError)(nil); err != nil && !errors.As(err, &e) {
		d.t.Fatal(err)
	}
	return d.cmd.ProcessState.ExitCode(), d.text()
}

// A new user needs five typed lines from nothing to the first report: init, the address, the key, run and a report.
func TestInit(t *testing.T) {
	u := newNewUser(t)
	test.OK(t, errors.Join(os.MkdirAll(u.home+"/callhouse/cmd", 0o755), os.Chmod(u.home+"/callhouse", 0o755))) // a clone of the sources
	c := foundNow(t, sandbox.Options{World: sandbox.Config{Seed: 5, Calls: 20, Days: 1}, PerSecond: 5000, PerMinute: 100_000})
	requests := func() int64 { return c.service.Server.Stats().Requests }

	d := u.dialogue(nil, "init")
	d.answer("Address of the service", "ftp://example.com\n")
	d.answer("it must start with https:// or http://", c.service.URL+"/v3\n")
	d.answer("API key (not shown)", "a wrong one\n")
	d.answer("invalid character", "a-wrong-key\n")
	d.answer("does not accept the API key from this terminal (status 401", "\n")
	d.answer("API key (not shown)", testKey+"\n")
	d.answer("Folder of the warehouse ["+u.home+"/callhouse-warehouse]", "/\n")
	d.answer("/ holds other files", "\n")
	d.answer("Time zone of days and reports [Asia/Seoul]", "Seoul\n")
	d.answer("unknown time zone", "\n")
	d.answer("Currency of costs", "won\n")
	d.answer("unknown currency", "krw\n")
	d.answer("Share of the request limits (below 1 if other programs use them) [1]", "half\n")
	d.answer("is not a number", "0\n")
	d.answer("must be above 0", "40%\n")
	d.answer("Continue? [Y/n]", "maybe\n")
	d.answer("answer y or n", "\n")
	code, text := d.end()
	if code != cli.ExitOK || strings.Contains(text, testKey) || strings.Contains(text, "a-wrong-key") {
		t.Fatalf("exit code %d:\n%s", code, text)
	}
	if n := requests(); n != 2 {
		t.Errorf("%d requests for a wrong and a right key", n)
	}
	config := ".config/callhouse/callhouse.toml"
	if text, mode := u.file(".config/callhouse/key"); text != testKey+"\n" || mode != 0o600 {
		t.Errorf("the key file, mode %o: %q", mode, text)
	}
	written, _ := u.file(config)
	for _, line := range []string{`base_url = "` + c.service.URL + `"`, `api_key_file = "` + u.home + `/.config/callhouse/key"`,
		`warehouse = "` + u.home + `/callhouse-warehouse"`, `tz = "Asia/Seoul"`, `currency = "KRW"`, `share = 0.4`} {
		if !strings.Contains(written, line+"\n") {
			t.Errorf("the configuration lacks %s:\n%s", line, written)
		}
	}
	// The printed nightly command and a report work, without any settings in the environment.
	_, line, _ := strings.Cut(text, "10 2 * * * ")
	line, _, _ = strings.Cut(line, "\n")
	night := u.command("extract")
	night.Path, night.Args = "/bin/sh", []string{"sh", "-c", line}
	if out, err := night.CombinedOutput(); err != nil || len(out) > 0 {
		t.Fatalf("the night: %v\n%s", err, out)
	}
	report, err := u.command("query", "sentiment").CombinedOutput()
	if err != nil || !strings.Contains(string(report), "positive of rated") {
		t.Fatalf("the report: %v\n%s", err, report)
	}

	// An existing configuration is never changed.
	before, requested := u.files(), requests()
	code, text = u.dialogue(nil, "init").end()
	if code != cli.ExitUsage || !strings.Contains(text, "it exists already: "+u.home+"/"+config) || !slices.Equal(before, u.files()) || requests() != requested {
		t.Errorf("again: exit code %d, files %q:\n%s", code, u.files(), text)
	}
}

// What root does in a warehouse of another user belongs to that user, whose nights go on with it. A key that only
// root may read serves root. Init leaves everything to that user, and asks nothing if it could not start the program.
func TestRootBecomesTheOwner(t *testing.T) {
	longtest.Only(t)
	if os.Getuid() != 0 {
		t.Skip("only root can become another user")
	}
	u := newNewUser(t)
	c := foundNow(t, sandbox.Options{World: sandbox.Config{Seed: 5, Calls: 20, Days: 1}})
	w, settings := filepath.Join(u.home, "w"), filepath.Join(u.root, "etc", "callhouse.toml")
	run := func(user, program string, args ...string) {
		t.Helper()
		cmd := u.command(program, append(args, "--config", settings)...)
		cmd.Stdin = strings.NewReader(testKey)
		if cmd.Dir = "/"; user == "root" {
			cmd.SysProcAttr = nil
		}
		out, err := cmd.CombinedOutput()
		became := strings.Contains(string(out), "running as the user nobody, to whom "+w+" belongs\n")
		if err != nil || became != (user == "root" && args[0] != "init" && program == "extract") {
			t.Fatalf("%s %s, as %s: %v\n%s", program, args, user, err, out)
		}
		test.OK(t, filepath.WalkDir(w, func(path string, d fs.DirEntry, err error) error {
			test.OK(t, err)
			info, err := d.Info()
			if err == nil && scratch.UserOf(info) != nobody {
				t.Errorf("after %s as %s, %s belongs to %d", args[0], user, path, scratch.UserOf(info))
			}
			return err
		}))
	}
	key := filepath.Join(u.root, "etc", "key")
	run("root", "extract", "init", "--yes", "--base-url", c.service.URL, "--warehouse", w, "--api-key-stdin")
	run("root", "extract", "run")
	run("callhouse", "extract", "run")
	run("root", "query", "volume")
	test.OK(t, errors.Join(os.Chown(key, 0, 0), os.Chmod(filepath.Dir(settings), 0o700)))
	for _, args := range [][]string{{"compact"}, {"rollback"}, {"status"}, {"forget", "--before", "2020-01-01", "--yes"}} {
		run("root", "extract", args...)
	}

	cmd := u.command("extract", "status", "--config", settings)
	only := []syscall.SysProcIDMap{{Size: 1}}
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER, UidMappings: only, GidMappings: only}
	if out, err := cmd.CombinedOutput(); cmd.ProcessState != nil && (err == nil || !strings.HasPrefix(string(out), "extract: the files belong")) {
		t.Errorf("root that may not become another user: %v\n%s", err, out)
	}
	closed := filepath.Join(u.root, "closed")
	test.OK(t, errors.Join(os.Remove(settings), os.Remove(key), os.MkdirAll(closed+"/w", 0o700), os.Chown(closed+"/w", u.uid, u.gid)))
	for w, says := range map[string]string{closed + "/w": "reach " + closed + "/w: " + closed, w: "start " + u.root + "/bin/extract: " + u.root + "/bin"} {
		test.OK(t, os.Chmod(filepath.Join(u.root, "bin"), map[bool]fs.FileMode{true: 0o700, false: 0o755}[says[0] == 's']))
		cmd := u.command("extract", "init", "--config", settings, "--warehouse", w, "--yes", "--base-url", c.service.URL, "--api-key-stdin")
		cmd.SysProcAttr, cmd.Stdin = nil, strings.NewReader(testKey)
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "nobody cannot "+says+" is closed") {
			t.Errorf("what the user cannot reach: %v\n%s", err, out)
		}
	}
}

// The key of one address is not sent to another. Ctrl-C at a question leaves no files behind.
func TestInitOtherAddress(t *testing.T) {
	u := newNewUser(t)
	c := foundNow(t, sandbox.Options{World: sandbox.Config{Seed: 5, Calls: 20, Days: 1}})
	d := u.dialogue([]string{"CALLHOUSE_API_KEY=" + testKey}, "init", "--base-url", "http://127.0.0.1:1")
	d.answer("Address of the service, e.g. https://api.example.com [http://127.0.0.1:1]", "\n")
	d.answer("API key (not shown; Enter keeps that of CALLHOUSE_API_KEY)", "\n")
	d.answer("no response from http://127.0.0.1:1", c.service.URL+"\n")
	d.answer("API key (not shown): ", "\n")
	d.answer("the API key is empty", "\x03")
	code, text := d.end()
	if code != cli.ExitInterrupted || c.service.Server.Stats().Requests != 0 || !strings.Contains(text, "nothing was written") || len(u.files()) > 0 {
		t.Errorf("exit code %d, %d requests, files %q:\n%s", code, c.service.Server.Stats().Requests, u.files(), text)
	}
}

// Without a terminal, and with --yes.
func TestInitYes(t *testing.T) {
	longtest.Only(t) // TestInit answers by hand
	u := newNewUser(t)
	var limited atomic.Bool
	c := foundNow(t, sandbox.Options{World: sandbox.Config{Seed: 5, Calls: 20, Days: 1}, Inject: func(int64, sandbox.Request) sandbox.FaultKind {
		if limited.Load() {
			return sandbox.Fault429Bare
		}
		return ""
	}})
	run := func(stdin string, env []string, args ...string) (int, string) {
		t.Helper()
		cmd := u.command("extract", append([]string{"init"}, args...)...)
		cmd.Stdin, cmd.Env = strings.NewReader(stdin), append(cmd.Env, env...)
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState == nil {
			t.Fatal(err)
		}
		if strings.Contains(string(out), testKey) {
			t.Errorf("the key is shown:\n%s", out)
		}
		return cmd.ProcessState.ExitCode(), string(out)
	}
	address := []string{"--yes", "--base-url", c.service.URL}
	refuse := func(code int, says, stdin string, env []string, args ...string) {
		t.Helper()
		sent := c.service.Server.Stats().Requests
		got, text := run(stdin, env, args...)
		if got != code || !strings.Contains(text, says) || len(u.files()) > 0 {
			t.Errorf("init %q: exit code %d, want %d and %q; files %q:\n%s", args, got, code, says, u.files(), text)
		}
		if n := c.service.Server.Stats().Requests - sent; n > 1 {
			t.Errorf("init %q sent %d requests", args, n)
		}
	}
	refuse(cli.ExitUsage, "takes a terminal", "", nil)
	refuse(cli.ExitUsage, "no service address", "", nil, "--yes")
	refuse(cli.ExitUsage, "no API key", "", nil, address...)
	refuse(cli.ExitUsage, "the API key is empty", "", nil, append(address, "--api-key-stdin")...)
	refuse(cli.ExitFailed, "does not accept the API key from stdin", "wrong", nil, append(address, "--api-key-stdin")...)
	refuse(cli.ExitFailed, "does not accept the API key from CALLHOUSE_API_KEY", "", []string{"CALLHOUSE_API_KEY=wrong"}, address...)
	refuse(cli.ExitFailed, "no response from", testKey, nil, "--yes", "--base-url", "http://127.0.0.1:1", "--api-key-stdin")
	refuse(cli.ExitFailed, "serves http, not https", testKey, nil, "--yes", "--base-url", strings.Replace(c.service.URL, "http:", "https:", 1), "--api-key-stdin")
	elsewhere := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(elsewhere.Close)
	refuse(cli.ExitFailed, "is the base URL right?", testKey, nil, "--yes", "--base-url", elsewhere.URL, "--api-key-stdin")
	refuse(cli.ExitFailed, "the service fails (404 not found, NOT_FOUND: ", testKey, nil, "--yes", "--base-url", c.service.URL+"/elsewhere", "--api-key-stdin")
	refuse(cli.ExitUsage, "unknown time zone", testKey, nil, append(address, "--api-key-stdin", "--tz", "Mars")...)
	limited.Store(true)
	refuse(cli.ExitFailed, "the request limits are used up", testKey, nil, append(address, "--api-key-stdin")...)
	limited.Store(false)

	// With a key in the environment, which the nightly run would not see.
	env := []string{"CALLHOUSE_API_KEY=" + testKey}
	code, text := run("", env, address...)
	if code != cli.ExitOK || !strings.Contains(text, "extract follow\n") || !strings.Contains(text, "10 2 * * * "+u.root+"/bin/extract run --config ") {
		t.Errorf("exit code %d:\n%s", code, text)
	}

	// Neither an existing configuration nor an existing key is changed. Others may read an empty one.
	test.OK(t, os.Truncate(filepath.Join(u.home, ".config/callhouse/callhouse.toml"), 0))
	files := u.files()
	if code, text := run("", env, append(address, "--tz", "Europe/Berlin")...); code != cli.ExitUsage || !strings.Contains(text, "it exists already: ") || !slices.Equal(files, u.files()) {
		t.Errorf("an existing configuration: exit code %d:\n%s", code, text)
	}
	test.OK(t, os.Remove(filepath.Join(u.home, ".config/callhouse/callhouse.toml")))
	if code, text := run("", env, address...); code != cli.ExitUsage || !strings.Contains(text, "pass it with --api-key-file") {
		t.Errorf("an existing key: exit code %d:\n%s", code, text)
	}
	if code, text := run("", nil, append(address, "--api-key-file", u.home+"/.config/callhouse/key")...); code != cli.ExitOK || !slices.Equal(files, u.files()) {
		t.Errorf("an existing key, named: exit code %d:\n%s", code, text)
	}
}

// echoes reports whether the terminal shows what is typed.
func (d *dialogue) echoes() bool {
	t, err := unix.IoctlGetTermios(int(d.tty.Fd()), unix.TCGETS)
	return err == nil && t.Lflag&unix.ECHO != 0
}
