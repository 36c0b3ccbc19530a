package querycmd_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/longtest"
	"callhouse/internal/test"
)

// Statements that outlast any test: one that can be cancelled; one that cannot, since it is a
// single function call; and one that fills TMPDIR.
const (
	endless  = "SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE a.range * b.range % 7 = 3"
	deaf     = "SELECT levenshtein(repeat('a', 1000000), repeat('b', 1000000))"
	spilling = "SELECT count(DISTINCT s) FROM (SELECT repeat(CAST(hash(range) AS VARCHAR), 5) AS s FROM range(300000000))"
)

// handleHangups makes the started programs receive the signal of a closed terminal, even if the test
// runs under nohup.
func handleHangups(t *testing.T) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(c) })
}

// process is the command in a separate process with its own TMPDIR.
type process struct {
	t    *testing.T
	cmd  *exec.Cmd
	temp string
	left chan error
}

// spawn starts the command with the statement on stdin. Its answer goes to out.
func spawn(t *testing.T, temp, args, statement string, out io.Writer) *process {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestShellProcess$")
	cmd.Env = []string{"CALLHOUSE_TEST_SHELL=" + args, "PATH=" + os.Getenv("PATH"), "HOME=" + temp, "TMPDIR=" + temp}
	cmd.Stdin, cmd.Stdout = strings.NewReader(statement), out
	test.OK(t, cmd.Start())
	p := &process{t: t, cmd: cmd, temp: temp, left: make(chan error, 1)}
	go func() { p.left <- cmd.Wait() }()
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return p
}

// temporary returns the content of TMPDIR as relative paths.
func (p *process) temporary() (out []string) {
	_ = filepath.WalkDir(p.temp, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && path != p.temp {
			out = append(out, path[len(p.temp)+1:])
		}
		return nil // files may disappear meanwhile
	})
	return out
}

// wait waits until done.
func (p *process) wait(what string, done func() bool) {
	p.t.Helper()
	for end := time.Now().Add(deadline); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			p.t.Fatalf("waiting for %s; TMPDIR holds %v", what, p.temporary())
		}
	}
}

// ends waits for the end: an exit code, or 128 plus the signal.
func (p *process) ends() int {
	p.t.Helper()
	select {
	case err := <-p.left:
		return endOf(err)
	case <-time.After(deadline):
		p.t.Fatal("it does not end")
		return -1
	}
}

// endOf returns the exit code of a process, or 128 plus the signal that ended it.
func endOf(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if s, ok := exit.Sys().(syscall.WaitStatus); ok && s.Signaled() {
			return 128 + int(s.Signal())
		}
		return exit.ExitCode()
	}
	return 0
}

// However the command ends, except by SIGKILL, it leaves nothing in TMPDIR. After SIGKILL, the next
// command removes the leftovers.
func TestEndingsLeaveNothing(t *testing.T) {
	copyWarehouse(t)
	handleHangups(t)
	for _, c := range longtest.Some(4, []struct {
		name, args, statement string
		signals               []syscall.Signal
		code                  int
	}{
		{"Ctrl-C", "sql -", endless, []syscall.Signal{syscall.SIGINT}, cli.ExitInterrupted},
		{"SIGTERM", "sql -", endless, []syscall.Signal{syscall.SIGTERM}, cli.ExitInterrupted},
		{"terminal closed", "sql -", endless, []syscall.Signal{syscall.SIGHUP}, cli.ExitInterrupted},
		{"safe, Ctrl-C", "sql --safe -", endless, []syscall.Signal{syscall.SIGINT}, cli.ExitInterrupted},
		{"safe, terminal closed", "sql --safe -", endless, []syscall.Signal{syscall.SIGHUP}, cli.ExitInterrupted},
		{"wrong", "sql -", "SELEC 1", nil, cli.ExitUsage},
		{"no zone", "sql - --tz Mars/Olympus", "SELECT 1", nil, cli.ExitUsage},
		{"done", "sql -", "SELECT 1", nil, 0},
	}) {
		t.Run(c.name, func(t *testing.T) {
			p := spawn(t, t.TempDir(), c.args, c.statement, nil)
			for _, sig := range c.signals {
				p.wait("a folder", func() bool { return len(p.temporary()) > 0 })
				_ = p.cmd.Process.Signal(sig)
			}
			if code := p.ends(); code != c.code {
				t.Errorf("it ends with %d, want %d", code, c.code)
			}
			if left := p.temporary(); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
	t.Run("SIGTERM, and nobody reads", func(t *testing.T) {
		pipe := filepath.Join(t.TempDir(), "pipe")
		test.OK(t, syscall.Mkfifo(pipe, 0o600))
		reader, err := os.OpenFile(pipe, os.O_RDWR, 0)
		test.OK(t, err)
		defer reader.Close()
		p := spawn(t, t.TempDir(), "sql - --format csv --output "+pipe, "FROM range(100000000)", nil)
		p.wait("a full pipe", func() bool { n, _ := unix.IoctlGetInt(int(reader.Fd()), unix.TIOCINQ); return n >= 60_000 })
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
		if code := p.ends(); code != cli.ExitInterrupted || len(p.temporary()) > 0 {
			t.Errorf("it ends with %d, and leaves %v", code, p.temporary())
		}
	})
	t.Run("Ctrl-C twice", func(t *testing.T) {
		p := spawn(t, t.TempDir(), "sql -", deaf, nil)
		p.wait("a folder", func() bool { return len(p.temporary()) > 0 })
		p.wait("the end", func() bool { _ = p.cmd.Process.Signal(syscall.SIGINT); return len(p.left) > 0 })
		if code := p.ends(); code != 128+int(syscall.SIGINT) && code != cli.ExitInterrupted { // cancelled before it began
			t.Errorf("it ends with %d", code)
		}
		if left := p.temporary(); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	})
	t.Run("reader gone", func(t *testing.T) {
		r, w, err := os.Pipe()
		test.OK(t, err)
		p := spawn(t, t.TempDir(), "sql - --format csv", "FROM range(1000000000)", w)
		_ = w.Close()
		if _, err := r.Read(make([]byte, 10)); err != nil {
			t.Error(err)
		}
		_ = r.Close()
		if code := p.ends(); code != 0 {
			t.Errorf("it ends with %d", code)
		}
		if left := p.temporary(); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	})
	t.Run("killed", func(t *testing.T) {
		temp := t.TempDir()
		for _, c := range longtest.Some(2, []struct{ args, statement, until string }{
			{"sql --safe -", endless, `(?m)^callhouse-isolated-`},
			{"sql --safe --memory 64MiB -", spilling, `(?m)^callhouse-isolated-.*duckdb_temp`},
			{"sql -", endless, `(?m)^callhouse-query-`},
		}) {
			p, re := spawn(t, temp, c.args, c.statement, nil), regexp.MustCompile(c.until)
			there := func() bool { return re.MatchString(strings.Join(p.temporary(), "\n")) }
			p.wait("its files", there)
			_ = p.cmd.Process.Kill()
			if p.ends(); len(p.temporary()) == 0 {
				t.Errorf("%s: who is killed leaves nothing: %v", c.args, p.temporary())
			}
		}
		for _, args := range []string{"sql --safe -", "sql --safe -", "sql -"} { // a statement's process may briefly outlive its parent
			aged(t, temp)
			if code := spawn(t, temp, args, "SELECT 1", nil).ends(); code != 0 {
				t.Errorf("%s ends with %d", args, code)
			}
		}
		if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	})
}

// A shell ended by a signal leaves nothing either, and the terminal in its original state.
func TestShellEndedBySignal(t *testing.T) {
	copyWarehouse(t)
	handleHangups(t)
	for _, c := range longtest.Some(3, []struct {
		name    string
		running bool
		sig     syscall.Signal
	}{
		{"idle", false, syscall.SIGTERM},
		{"terminal closed", false, syscall.SIGHUP},
		{"running", true, syscall.SIGTERM},
	}) {
		t.Run(c.name, func(t *testing.T) {
			temp := t.TempDir()
			x := start(t, 80, 24, "shell", "TMPDIR="+temp)
			x.ready()
			if x.lflag()&unix.ICANON != 0 {
				t.Error("the editor reads whole lines")
			}
			if c.running {
				x.typed(endless + ";")
				x.keys(enter)
			}
			test.OK(t, x.cmd.Process.Signal(c.sig))
			if code := x.ends(); code != 128+int(c.sig) || x.lflag()&unix.ICANON == 0 {
				t.Errorf("it ends with %d; the terminal's flags are %o", code, x.lflag())
			}
			if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

// aged makes everything in a folder two days old.
func aged(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	test.OK(t, err)
	old := time.Now().Add(-48 * time.Hour)
	for _, e := range entries {
		if err := os.Chtimes(filepath.Join(dir, e.Name()), old, old); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
}
