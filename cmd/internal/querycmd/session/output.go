package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/term"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/querycmd/answer"
	"callhouse/internal/analytics/format"
)

// outFile is the file that .output names. The first answer replaces it, others are
// appended. Each is written completely or not at all.
type outFile struct {
	path, format string
	begun        bool
}

// redirect sends the answers to a file, in the format of its ending, or else of the
// session.
func (s *Session) redirect(path string) {
	s.file = &outFile{path: path, format: s.format}
	if f, ok := format.OfFile(path); ok {
		s.file.format = string(f)
	}
}

func (f *outFile) add(a *answer.Command, do func(*answer.Command) error) error {
	a.Format = f.format
	fill := func(w io.Writer) error {
		a.Stdout = w
		return do(a)
	}
	if !f.begun {
		err := a.WriteFile(f.path, fill)
		f.begun = err == nil
		return err
	}
	if format.Format(f.format).Binary() {
		return cli.Usage(".output FILE names another, .output alone is the terminal", "%s holds an answer, and %s files hold one", f.path, f.format)
	}
	file, err := os.OpenFile(f.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, a.FileMode(f.path))
	if err != nil {
		return answer.Unwritable(f.path, err)
	}
	info, err := file.Stat()
	if err == nil {
		if err = fill(file); err != nil && info.Mode().IsRegular() {
			err = errors.Join(err, file.Truncate(info.Size()))
		}
	}
	return errors.Join(err, file.Close())
}

// paged lets do write to the terminal, through a pager if the answer does not fit.
// It returns whether there was a pager.
func (s *Session) paged(ctx context.Context, a *answer.Command, do func(*answer.Command) error) (paged bool, err error) {
	p := &pager{ctx: ctx, out: s.a.Stdout, width: a.Shell.Width, room: terminalHeight() - 2, command: pagerCommand()}
	var notes bytes.Buffer
	a.Stdout, a.Stderr = p, &notes
	err = do(a)
	if e := p.close(); err == nil {
		err = e
	}
	if p.cmd != nil && errors.Is(err, syscall.EPIPE) {
		err = nil // who left the pager has seen enough
		a.Shell.Wrote = nil
	}
	_, _ = notes.WriteTo(s.a.Stderr)
	return p.cmd != nil, err
}

// pagerCommand is PAGER, or less if it is installed; "" for none.
func pagerCommand() string {
	if command, ok := os.LookupEnv("PAGER"); ok {
		if command == "cat" {
			return ""
		}
		return command
	}
	if path, err := exec.LookPath("less"); err == nil {
		return path
	}
	return ""
}

func terminalHeight() int {
	if _, height, err := term.GetSize(int(os.Stdout.Fd())); err == nil && height > 4 {
		return height
	}
	return 24
}

// pager holds back what is written while it fits on the terminal, and starts the
// command when it no longer does.
type pager struct {
	ctx         context.Context
	out         io.Writer
	width, room int
	command     string

	held  bytes.Buffer
	lines int
	cmd   *exec.Cmd
	pipe  io.WriteCloser
}

func (p *pager) Write(b []byte) (int, error) {
	if p.command == "" {
		return p.out.Write(b)
	}
	if p.cmd != nil {
		return p.pipe.Write(b)
	}
	p.held.Write(b)
	for line := range bytes.Lines(b) {
		p.lines += max(1, (cells().StringWidth(string(line))+p.width-1)/p.width)
	}
	if p.lines <= p.room {
		return len(b), nil
	}
	if err := p.start(); err != nil {
		return 0, err
	}
	if _, err := p.held.WriteTo(p.pipe); err != nil {
		return 0, err
	}
	return len(b), nil
}

func (p *pager) start() error {
	// Ctrl-C is the pager's, and the end of the statement does not end it.
	cmd := exec.CommandContext(context.WithoutCancel(p.ctx), "sh", "-c", p.command)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Env = os.Environ()
	if os.Getenv("LESS") == "" {
		cmd.Env = append(cmd.Env, "LESS=SRFX")
	}
	pipe, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return fmt.Errorf("run the pager %s: %w", p.command, err)
	}
	p.cmd, p.pipe = cmd, pipe
	return nil
}

// close writes what fits, or waits until the user has left the pager.
func (p *pager) close() error {
	if p.cmd == nil {
		_, err := p.held.WriteTo(p.out)
		return err
	}
	_ = p.pipe.Close()
	var exit *exec.ExitError
	if err := p.cmd.Wait(); err != nil && !errors.As(err, &exit) {
		return fmt.Errorf("wait for the pager: %w", err)
	}
	return nil
}
