// Package process starts processes with limited resources: for statements that could use too much,
// this program starts itself again, without keys in the environment.
package process

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"syscall"

	"callhouse/internal/scratch"
	"callhouse/internal/words"
)

// Self returns the command that starts this program again as one of its hidden commands. Its
// environment is a locale and env.
func Self(ctx context.Context, name string, env ...string) *exec.Cmd {
	self, err := os.Executable()
	cmd := exec.CommandContext(ctx, self, name)
	cmd.Err = errors.Join(cmd.Err, err)
	cmd.Args[0] = os.Args[0]
	cmd.Env = append([]string{"LANG=C.UTF-8"}, env...)
	return cmd
}

// Process is a started process.
type Process struct {
	cmd   *exec.Cmd
	stdin io.Closer
	trace words.Head
	temp  *scratch.Dir // nil: none can be made
}

// Start starts a command that calls Job, and sends it the job. The process has its own temporary
// folder, if one can be made, since a killed process leaves its files behind. Call Wait, then Clear.
func Start(cmd *exec.Cmd, kind scratch.Kind, job any) (*Process, error) {
	raw, err := json.Marshal(job)
	if err != nil {
		return nil, err
	}
	p := &Process{cmd: cmd, trace: words.Head{Most: 16 << 10}}
	if p.temp, err = scratch.MakeIfPossible(kind); err != nil {
		return nil, err
	}
	cmd.Env = append(cmd.Env, "TMPDIR="+cmp.Or(p.temp.Where(), os.TempDir()))
	cmd.Stderr = &p.trace
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // so that only this process receives Ctrl-C; it ends the other
	stdin, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, errors.Join(err, p.temp.Remove())
	}
	p.stdin = stdin
	_, _ = stdin.Write(append(raw, '\n')) // fails only if the process has ended
	return p, nil
}

// Wait waits for the end of the process.
func (p *Process) Wait() error { return p.cmd.Wait() }

// Stop ends the process's stdin, which asks it to end. It may be called more than once.
func (p *Process) Stop() { _ = p.stdin.Close() }

// Trace returns the error output of a crashed process. The process must have ended.
func (p *Process) Trace() string { return p.trace.String() }

// Clear removes the files of the process, which must have ended.
func (p *Process) Clear() error { return p.temp.Remove() }

// ErrAlone reports that the process was not started by this program.
var ErrAlone = errors.New("this command is internal")

// Job reads the job of this process. over is called when stdin ends: the process that started this
// one has ended, or no longer needs the answer.
func Job(stdin io.Reader, job any, over func()) error {
	in := bufio.NewReader(stdin)
	line, err := in.ReadBytes('\n')
	if err != nil || json.Unmarshal(line, job) != nil {
		return ErrAlone
	}
	go func() {
		_, _ = io.Copy(io.Discard, in)
		over()
	}()
	return nil
}
