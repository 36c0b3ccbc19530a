package answer

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/term"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/words"
)

// Pager holds an answer back until it no longer fits the screen, and then sends it to the user's
// pager.
type Pager struct {
	tty           *os.File
	width, height int
	command       string
	env           []string

	mu   sync.Mutex // guards the answer and the messages
	held bytes.Buffer
	at   int // column of the end of held
	rows int // screen rows of held
	cmd  *exec.Cmd
	pipe io.WriteCloser
}

// Paged shows the command's answer in a pager if stdout is a terminal and there is a pager, and
// returns it; otherwise nil. Messages on the same terminal follow the answer there.
func (c *Command) Paged() *Pager {
	command, set := c.Env.Vars["PAGER"]
	if !set {
		if _, err := exec.LookPath("less"); err == nil {
			command = "less"
		}
	}
	if command == "" || command == "cat" || !cli.CanDraw(c.Stdout) {
		return nil
	}
	// The shell that starts the pager could only say so when the answer is gone.
	if name, _, _ := strings.Cut(command, " "); words.Shell(name) == name && !strings.Contains(name, "=") {
		if _, err := exec.LookPath(name); err != nil {
			words.Fprintf(c.Stderr, "no pager: PAGER is %s, which is not a program on PATH\n", command)
			return nil
		}
	}
	p := &Pager{tty: cli.File(c.Stdout), command: command, env: c.Env.Strings()}
	var err error
	if p.width, p.height, err = term.GetSize(int(p.tty.Fd())); err != nil || p.width < 20 || p.height < 4 {
		return nil
	}
	// Show colours, leave the text on the screen, and use UTF-8 in any locale.
	for name, usual := range map[string]string{"LESS": "FRX", "LESSCHARSET": "utf-8"} {
		if _, set := c.Env.Vars[name]; !set {
			p.env = append(p.env, name+"="+usual)
		}
	}
	c.Stdout = p
	if cli.CanDraw(c.Stderr) {
		c.Stderr = words.Over(c.Stderr, p)
	}
	return p
}

// Unwrap returns the terminal.
func (p *Pager) Unwrap() io.Writer { return p.tty }

// Write implements io.Writer.
func (p *Pager) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pipe != nil {
		return p.pipe.Write(text)
	}
	p.held.Write(text)
	for rest := text; len(rest) > 0; {
		r, n := utf8.DecodeRune(rest)
		rest = rest[n:]
		if p.at++; r == '\n' || p.at > p.width {
			p.rows, p.at = p.rows+1, 0
		}
	}
	if p.rows < p.height { // the last row is for the prompt
		return len(text), nil
	}
	return len(text), p.start()
}

// start starts the pager with the held text. If the pager cannot be started, output goes to the
// terminal.
func (p *Pager) start() error {
	cmd := exec.CommandContext(context.Background(), "/bin/sh", "-c", p.command) // the user ends it
	cmd.Env, cmd.Stdout, cmd.Stderr = p.env, p.tty, os.Stderr
	pipe, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		p.pipe = p.tty
	} else {
		p.cmd, p.pipe = cmd, pipe
	}
	_, err = p.pipe.Write(p.held.Bytes())
	return err
}

// Close waits until the user leaves the pager, which handles Ctrl-C until then.
func (p *Pager) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.pipe == nil:
		_, err := p.tty.Write(p.held.Bytes())
		return err
	case p.cmd == nil:
		return nil
	}
	signal.Ignore(os.Interrupt)
	defer signal.Reset(os.Interrupt)
	_ = p.pipe.Close()
	_ = p.cmd.Wait() // the pager's exit code is irrelevant
	return nil
}
