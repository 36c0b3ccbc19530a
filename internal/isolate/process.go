// Package isolate runs other people's SQL in processes of their own: this program starts itself
// again, with limited resources and without keys in the environment, so that a statement that takes
// too much ends only its own process. A [Process] runs one job. A [Pool] passes the clients of the
// Postgres protocol to the processes of their users, in which [Run] answers them. The package does
// not depend on a warehouse and reads no statement.
package isolate

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
	"time"

	"callhouse/internal/scratch"
	"callhouse/internal/words"
)

// Name is the hidden command that runs a job.
const Name = "isolated"

// Command returns the command that starts this program again, to be passed to Start. Its
// environment is a locale, and where time zones are.
func Command(ctx context.Context) *exec.Cmd {
	self, err := os.Executable()
	cmd := exec.CommandContext(ctx, self, Name)
	cmd.Err = errors.Join(cmd.Err, err)
	cmd.Args[0] = os.Args[0]
	cmd.Env = []string{"LANG=C.UTF-8", "ZONEINFO=" + os.Getenv("ZONEINFO")}
	return cmd
}

// Process is a started process.
type Process struct {
	cmd   *exec.Cmd
	stdin io.Closer
	trace words.Head
	temp  *scratch.Dir // nil: none can be made
}

// Start starts a command that calls ReadJob, and sends it the job. The process has its own temporary
// folder, if one can be made, since a killed process leaves its files behind.
func Start(cmd *exec.Cmd, job any) (*Process, error) {
	raw, err := json.Marshal(job)
	if err != nil {
		return nil, err
	}
	p := &Process{cmd: cmd, trace: words.Head{MaxBytes: 16 << 10}}
	if p.temp, err = scratch.MakeIfPossible(scratch.Isolated); err != nil {
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

// Wait waits for the end of the process and removes its files. trace is the error output of a crash.
func (p *Process) Wait() (trace string, err error) {
	err = p.cmd.Wait()
	return p.trace.String(), cmp.Or(err, p.temp.Remove())
}

// Stop ends the process's stdin, which asks it to end. It may be called more than once.
func (p *Process) Stop() { _ = p.stdin.Close() }

// ending is how long an ending process waits for its statements.
const ending = 10 * time.Second

// ErrNoJob reports that this program did not start the process.
var ErrNoJob = errors.New("this command is internal")

// ReadJob reads the job of this process. cancel is called when stdin ends: the process that started
// this one has ended, or no longer needs the answer. This process then ends soon.
func ReadJob(stdin io.Reader, job any, cancel func()) error {
	in := bufio.NewReader(stdin)
	line, err := in.ReadBytes('\n')
	if err != nil || json.Unmarshal(line, job) != nil {
		return ErrNoJob
	}
	go func() {
		_, _ = io.Copy(io.Discard, in)
		cancel()
		time.Sleep(ending)
		os.Exit(1)
	}()
	return nil
}
