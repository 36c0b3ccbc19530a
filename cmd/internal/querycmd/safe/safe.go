// Package safe runs untrusted statements, each in a process with limits.
package safe

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/config"
	"callhouse/cmd/internal/querycmd/answer"
	"callhouse/internal/analytics"
	"callhouse/internal/analytics/format"
	"callhouse/internal/analytics/rights"
	"callhouse/internal/analytics/value"
	"callhouse/internal/isolate"
)

// Mode is how untrusted statements run.
type Mode struct {
	On bool
	Limits
	cmd *cobra.Command // has the flags
}

// Limits are the limits of a statement's process.
type Limits struct {
	Memory, Temp, Output cli.Size
	Timeout              time.Duration
}

// Flags adds the flags to a command. CALLHOUSE_SAFE sets the default of --safe.
func (s *Mode) Flags(cmd *cobra.Command) {
	s.cmd, s.Memory, s.Temp, s.Output = cmd, 1<<30, 1<<30, 64<<20
	f := cmd.Flags()
	f.BoolVar(&s.On, "safe", false, "run untrusted SQL: only the warehouse's tables, in a process with limits;\n"+
		"CALLHOUSE_SAFE=1 makes it the default")
	f.Var(&s.Memory, "memory", "with --safe: limit a statement's memory to `SIZE`")
	f.Var(&s.Temp, "temp", "with --safe: limit the disk space for data that exceeds memory to `SIZE`")
	f.Var(&s.Output, "max-output", "with --safe: limit the answer to `SIZE`")
	cli.SpanVar(f, &s.Timeout, "timeout", 30*time.Second, "with --safe: limit the run time to `TIME`, e.g. 30s or 5m")
}

// Read checks the flags after parsing.
func (s *Mode) Read(vars config.Environment) error {
	env := vars.Get(config.EnvSafe)
	if env != "" && !s.cmd.Flags().Changed("safe") {
		on, err := strconv.ParseBool(env)
		if err != nil { // not treated as "no": whoever set it meant to be safe
			return cli.Usage("set it to 1 or 0", "CALLHOUSE_SAFE is %q", env)
		}
		s.On = on
	}
	for _, name := range []string{"memory", "temp", "max-output", "timeout"} {
		if !s.On && s.cmd.Flags().Changed(name) {
			return cli.Usage("add --safe", "--%s requires --safe", name)
		}
	}
	if err := s.Memory.CheckMemory(); err != nil {
		return err
	}
	if s.Timeout <= 0 {
		return cli.Usage("for example 30s or 5m", "--timeout %s is not a positive duration", s.Timeout)
	}
	return nil
}

// Job is the input of a statement's process.
type Job struct {
	Warehouse string
	Zone      string
	Statement string
	Params    map[string]string
	Format    format.Format
	Decimal   string
	Width     int
	Memory    int64
	Temp      int64
	Rights    rights.Rights // of the reader
	Rows      int64         // maximum; 0: all
	Bytes     int64         // maximum size of the rows as JSON; 0: no limit
}

// Report is the output of that process, apart from the rows.
type Report struct {
	Rows    int64
	Notes   []string
	Columns []value.Column // only if the job limits the rows
	More    bool           // rows were left out because of the job's Rows or Bytes
	// Snapshot is the number of the snapshot that was read.
	Snapshot int64
	Code     int // exit code; 0: success
	Error    string
	Hint     string
}

// most limits the texts of a report: DuckDB's errors repeat parts of a statement of any length.
const most = 4 << 10

func short(text string) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// Answer runs one statement and writes its answer, in a separate process if the mode is on.
func (s *Mode) Answer(ctx context.Context, a *answer.Command, text string, params map[string]string) (err error) {
	loc, err := a.Location()
	if err != nil {
		return err
	}
	if s.On {
		_, err := s.RunJob(ctx, a, Job{Statement: text, Params: params}, loc)
		return err
	}
	if _, err := a.OutputFormat(); err != nil {
		return err
	}
	o := a.Options(loc)
	o.MemoryLimit = "" // not every statement can use temporary files
	w, err := analytics.Open(ctx, a.Warehouse, o)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, w.Close()) }()
	r, err := write(ctx, a, w, &Job{Statement: text, Params: params})
	if err != nil {
		return answer.ExplainSQL(err)
	}
	a.Notes(format.Result{Notes: r.Notes})
	return nil
}

// write runs a job's statement in this process and writes its answer.
func write(ctx context.Context, a *answer.Command, w *analytics.Warehouse, j *Job) (*Report, error) {
	rows, err := w.SQLWith(ctx, j.Statement, j.Params)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	first := &format.First{Source: rows, Rows: cmp.Or(j.Rows, math.MaxInt64), Bytes: j.Bytes}
	o := a.Drawing(w.Location())
	o.Title, o.About = "sql", func(context.Context) ([][2]string, error) {
		return [][2]string{{"statement", j.Statement}, {"zone", w.Location().String()},
			{"snapshot", fmt.Sprint(w.Snapshot().Manifest.Snapshot)}}, nil
	}
	r, err := a.WriteAs(ctx, first, o)
	if err != nil {
		return nil, err
	}
	said := &Report{Rows: r.Rows, Notes: r.Notes, More: first.More, Snapshot: w.Snapshot().Manifest.Snapshot}
	if j.Rows > 0 {
		said.Columns = rows.Columns()
	}
	if first.Rows == 0 && !first.More {
		_, err := rows.Values(ctx)
		said.More = err == nil
		if !errors.Is(err, io.EOF) {
			return said, err
		}
	}
	return said, nil
}

// RunJob runs a job in a separate process and writes the answer. If that process dies, this one
// reports why.
func (s *Mode) RunJob(ctx context.Context, a *answer.Command, job Job, loc *time.Location) (said *Report, err error) {
	if job.Format, err = a.OutputFormat(); err != nil {
		return nil, err
	}
	o := a.Drawing(loc)
	job.Warehouse, job.Zone, job.Memory, job.Temp = a.Warehouse, loc.String(), int64(s.Memory), int64(s.Temp)
	job.Width, job.Decimal = o.Width, a.Decimal
	r, err := a.Deliver(func(w io.Writer) (r format.Result, err error) {
		if said, err = s.run(ctx, job, w); err != nil {
			return r, err
		}
		return format.Result{Rows: said.Rows, Notes: said.Notes}, nil
	})
	if err == nil {
		a.Notes(r)
	}
	return said, err
}

// errTooLong is the reason for stopping a statement that exceeds --timeout.
var errTooLong = errors.New("too long")

func (s *Mode) run(ctx context.Context, job Job, out io.Writer) (said *Report, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.Timeout, errTooLong)
	defer cancel()
	said, trace, err := s.exec(ctx, job, out)
	switch {
	case said != nil && said.Code == 0 && err == nil:
		return said, nil
	case said != nil && said.Code != 0:
		return nil, cli.Fail(said.Code, errors.New(said.Error), said.Hint)
	case errors.Is(context.Cause(ctx), errTooLong):
		return nil, cli.Fail(cli.ExitFailed, fmt.Errorf("the statement timed out after %s", s.Timeout), "--timeout raises the limit")
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.Is(err, syscall.EPIPE), errors.Is(err, io.ErrClosedPipe), cli.Is[*cli.Error](err):
		return nil, err
	}
	switch {
	case err == nil:
		err = errors.New("the process exited without a report")
	case !cli.Is[*exec.ExitError](err):
		return nil, fmt.Errorf("run the statement in its own process: %w", err)
	case diedOfMemory(trace):
		return nil, tooMuch(s.Memory)
	}
	return nil, cli.Fail(cli.ExitFailed, fmt.Errorf("the statement's process failed: %w", err),
		"it may have exceeded its memory: query less at once")
}

func tooMuch(memory cli.Size) error {
	return cli.Fail(cli.ExitFailed, fmt.Errorf("the statement was stopped: it exceeds %s of memory", memory),
		"query less at once, e.g. fewer days; --memory of query sql raises the limit")
}

// diedOfMemory reports whether a process that printed trace ran out of memory.
func diedOfMemory(trace string) bool {
	trace = strings.ToLower(trace)
	marks := []string{"out of memory", "cannot allocate memory", "bad_alloc", "pthread_create failed", "memory exhausted",
		"failed to allocate", "allocation failed"}
	return slices.ContainsFunc(marks, func(mark string) bool { return strings.Contains(trace, mark) })
}

// exec runs the job in a process and streams its answer to out. It returns the report, if there is
// one, and the error output of a crashed process.
func (s *Mode) exec(ctx context.Context, job Job, out io.Writer) (said *Report, trace string, err error) {
	from, to, err := os.Pipe()
	if err != nil {
		return nil, "", err
	}
	defer from.Close()
	defer to.Close()
	through := &limitedWriter{w: out, left: int64(s.Output), limit: s.Output}
	cmd := isolate.Command(ctx)
	cmd.Stdout, cmd.ExtraFiles, cmd.WaitDelay = through, []*os.File{to}, time.Second
	p, err := isolate.Start(cmd, map[string]any{"Statement": job})
	if err != nil {
		return nil, "", err
	}
	_ = to.Close()
	report := make(chan *Report, 1)
	go func() {
		r := new(Report)
		if json.NewDecoder(io.LimitReader(from, 1<<20)).Decode(r) != nil {
			r = nil
		}
		_, _ = io.Copy(io.Discard, from) // otherwise a process that writes more than that would block
		report <- r
	}()
	trace, err = p.Wait()
	_ = from.SetReadDeadline(time.Now().Add(time.Second))
	said = <-report
	if through.err != nil { // the failed write ended the process
		said, err = nil, through.err
	}
	return said, trace, err
}

// limitedWriter forwards a process's output up to a limit, and keeps the error.
type limitedWriter struct {
	w     io.Writer
	left  int64
	limit cli.Size
	err   error
}

// Write implements io.Writer.
func (o *limitedWriter) Write(p []byte) (n int, err error) {
	if o.left -= int64(len(p)); o.left < 0 {
		err = cli.Fail(cli.ExitFailed, fmt.Errorf("the statement was stopped: its answer exceeds %s", o.limit),
			"--max-output raises the limit")
	} else {
		n, err = o.w.Write(p)
	}
	if err != nil {
		o.err = err
	}
	return n, err
}
