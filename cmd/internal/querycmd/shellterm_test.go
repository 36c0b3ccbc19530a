//go:build linux

package querycmd_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/hinshun/vt10x"

	"callhouse/cmd/internal/cmdtest"
	"callhouse/cmd/internal/querycmd"
)

// TestShellProcess is not a test, but the command that the tests of the shell start in a terminal.
func TestShellProcess(t *testing.T) {
	if os.Getenv("CALLHOUSE_TEST_SHELL") == "" {
		t.Skip("it is what other tests start")
	}
	os.Exit(querycmd.Run(context.Background(), cmdtest.Child(), strings.Fields(os.Getenv("CALLHOUSE_TEST_SHELL")), os.Stdin, os.Stdout, os.Stderr))
}

// terminal is a terminal with the command, and its screen.
type terminal struct {
	t     *testing.T
	cmd   *exec.Cmd
	tty   *os.File
	left  chan error
	shown chan struct{} // closed after the last output

	mu     sync.Mutex
	screen vt10x.Terminal
	raw    bytes.Buffer // all output
}

// deadline bounds waits that only a broken shell exceeds.
const deadline = time.Minute

// start runs the command in a terminal of a given size. env is added to a small environment.
func start(t *testing.T, columns, rows int, args string, env ...string) *terminal {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestShellProcess$")
	cmd.Env = append([]string{"CALLHOUSE_TEST_SHELL=" + args, "PATH=" + os.Getenv("PATH"), "TERM=xterm-256color", "PAGER=", "INPUTRC=/dev/null",
		"HOME=" + t.TempDir(), "TMPDIR=" + t.TempDir(), "XDG_STATE_HOME=" + t.TempDir()}, env...)
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: uint16(columns), Rows: uint16(rows)})
	if err != nil {
		t.Skip("no pseudo terminals on this machine: ", err)
	}
	x := &terminal{t: t, cmd: cmd, tty: tty, left: make(chan error, 1), screen: vt10x.New(vt10x.WithSize(columns, rows), vt10x.WithWriter(tty))}
	x.shown = make(chan struct{})
	go func() {
		defer close(x.shown)
		buf := make([]byte, 4096)
		for {
			n, err := tty.Read(buf)
			x.mu.Lock()
			x.raw.Write(buf[:n])
			_, _ = x.screen.Write(buf[:n]) // it reports the cursor's position
			x.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-x.shown
		_ = tty.Close()
	})
	go func() { x.left <- cmd.Wait() }()
	return x
}

// shows returns the text on the screen, without trailing spaces.
func (x *terminal) shows() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	var out []string
	for line := range strings.SplitSeq(x.screen.String(), "\n") {
		out = append(out, strings.TrimRight(line, " "))
	}
	return strings.TrimRight(strings.Join(out, "\n"), "\n")
}

// idle reports whether nothing is being drawn: while drawing, the cursor is hidden.
func (x *terminal) idle() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.screen.CursorVisible()
}

// drawn returns all output.
func (x *terminal) drawn() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.raw.String()
}

// wait waits until done.
func (x *terminal) wait(what string, done func() bool) {
	x.t.Helper()
	for end := time.Now().Add(deadline); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			x.t.Fatalf("waiting for %s, the terminal shows\n%s", what, x.shows())
		}
	}
}

// see waits until the screen shows all of the texts and nothing is being drawn.
func (x *terminal) see(texts ...string) {
	x.t.Helper()
	for _, s := range texts {
		x.wait(s, func() bool { return strings.Contains(x.shows(), s) && x.idle() })
	}
}

// ready waits for an empty prompt. Input typed while the editor draws, with a hidden cursor, can be
// lost when it arrives together with the terminal's report of the cursor.
func (x *terminal) ready() {
	x.t.Helper()
	x.wait("the prompt", func() bool {
		x.mu.Lock()
		defer x.mu.Unlock()
		at := x.screen.Cursor()
		lines := strings.Split(x.screen.String(), "\n")
		return x.screen.CursorVisible() && at.X == len("query> ") && at.Y < len(lines) && strings.TrimRight(lines[at.Y], " ") == "query>"
	})
}

func (x *terminal) keys(keys string) {
	x.t.Helper()
	if _, err := x.tty.WriteString(keys); err != nil {
		x.t.Fatal(err)
	}
}

// typed types text that the screen must show.
func (x *terminal) typed(text string) {
	x.t.Helper()
	x.keys(text)
	x.wait("what is typed: "+text, func() bool {
		x.mu.Lock()
		defer x.mu.Unlock()
		lines := strings.Split(x.screen.String(), "\n")
		at := min(x.screen.Cursor().Y, len(lines)-1)
		return x.screen.CursorVisible() && strings.Contains(strings.Join(lines[max(at-2, 0):at+1], ""), text)
	})
}

// press types a key that moves the cursor.
func (x *terminal) press(key string) {
	x.t.Helper()
	at := func() vt10x.Cursor {
		x.mu.Lock()
		defer x.mu.Unlock()
		return x.screen.Cursor()
	}
	before := at()
	x.keys(key)
	x.wait("the cursor to move", func() bool { now := at(); return now.X != before.X || now.Y != before.Y })
}

// drop discards the input.
func (x *terminal) drop() {
	x.t.Helper()
	x.press(ctrlC)
	x.ready()
}

// leave ends the session at an empty prompt, and returns the exit code.
func (x *terminal) leave() int {
	x.t.Helper()
	x.ready()
	x.keys(ctrlD)
	return x.ends()
}

// run types a line at the prompt, and waits for the texts and the next prompt.
func (x *terminal) run(line string, texts ...string) {
	x.t.Helper()
	x.ready()
	x.typed(line)
	x.press(enter)
	x.see(texts...)
	x.ready()
}

// ends waits for the command's end and returns its exit code.
func (x *terminal) ends() int {
	x.t.Helper()
	select {
	case err := <-x.left:
		return endOf(err)
	case <-time.After(deadline):
		x.t.Fatalf("it does not end; the terminal shows\n%s", x.shows())
		return -1
	}
}

// Keys.
const (
	enter, up    = "\r", "\x1b[A"
	ctrlC, ctrlD = "\x03", "\x04"
	ctrlR        = "\x12"
)
