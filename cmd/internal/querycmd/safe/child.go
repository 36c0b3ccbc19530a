package safe

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/config"
	"callhouse/cmd/internal/querycmd/answer"
	"callhouse/internal/analytics"
	"callhouse/internal/analytics/database"
	"callhouse/internal/analytics/duck"
	"callhouse/internal/isolate"
	"callhouse/internal/layout"
	"callhouse/internal/scratch"
)

// Run runs the job in this process, which is limited. It writes the rows to out, and a report to
// file descriptor 3.
func (j *Job) Run(ctx context.Context, out io.Writer) error {
	report, err := j.write(ctx, out)
	if err != nil {
		err = j.command(nil).Explain(answer.ExplainSQL(j.explain(err)))
		report = &Report{Code: cli.Code(err), Error: short(layout.Inside(j.Warehouse, err.Error())), Hint: short(cli.Hint(err))}
	}
	to := os.NewFile(3, "report")
	return errors.Join(json.NewEncoder(to).Encode(report), to.Close())
}

// explain names the limit that a statement exceeded.
func (j *Job) explain(err error) error {
	var d *duck.Error
	memory, temp := cli.Size(j.Memory), cli.Size(j.Temp)
	switch {
	case errors.Is(err, syscall.EFBIG):
		return cli.Fail(cli.ExitFailed, fmt.Errorf("the statement was stopped: its sheet exceeds %s of disk space", temp),
			"query less at once; --temp of query sql raises the limit")
	case !errors.As(err, &d) || d.Kind == "Parser" || d.Kind != "Out of Memory" && !diedOfMemory(d.Message):
		return err
	case strings.Contains(d.Message, "offload"):
		err = fmt.Errorf("the statement was stopped: it exceeds %s of memory and %s of disk space", memory, temp)
		return cli.Fail(cli.ExitFailed, err, "query less at once; --memory and --temp of query sql raise the limits")
	}
	if missing := scratch.Missing(); missing != "" {
		return cli.Fail(cli.ExitFailed, tooMuch(memory), missing)
	}
	return tooMuch(memory)
}

// headroom is what the process may use besides, for thread stacks and Go's heap.
const headroom = 32 << 20

func (j *Job) write(ctx context.Context, out io.Writer) (said *Report, err error) {
	loc, err := time.LoadLocation(j.Zone)
	if err != nil {
		return nil, err
	}
	// In our measurements DuckDB accounts for half of its memory; allocators reserve the rest or it
	// is not counted. With half the limit, DuckDB spills to disk before the system's limit ends the
	// statement.
	w, err := analytics.Open(ctx, j.Warehouse, analytics.Options{Options: database.Options{
		Location: loc, Rights: j.Rights, Safe: &database.Limits{Memory: j.Memory / 2, Temp: j.Temp}}})
	if err != nil {
		return nil, err
	}
	defer func() { err = cmp.Or(err, w.Close()) }()
	if err := isolate.Limit(j.Memory, headroom, j.Temp); err != nil {
		return nil, fmt.Errorf("limit the memory: %w", err)
	}
	return write(ctx, j.command(out), w, j)
}

// command returns the command that answers in this process.
func (j *Job) command(out io.Writer) *answer.Command {
	return &answer.Command{Config: config.Config{Values: config.Values{Warehouse: j.Warehouse, TZ: j.Zone, Format: string(j.Format)}},
		Decimal: j.Decimal, Stdout: out, Stderr: io.Discard, Columns: j.Width}
}
