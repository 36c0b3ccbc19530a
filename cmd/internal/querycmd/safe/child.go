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

	"github.com/spf13/cobra"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/config"
	"callhouse/cmd/internal/querycmd/answer"
	"callhouse/internal/analytics"
	"callhouse/internal/analytics/duck"
	"callhouse/internal/analytics/opened"
	"callhouse/internal/layout"
	"callhouse/internal/lend/process"
	"callhouse/internal/scratch"
)

// Name is the hidden command that runs one statement with limits. It reads a job from stdin, writes
// rows to stdout, and a report to file descriptor 3.
const Name = "safe-statement"

// ChildCommand returns the hidden command.
func ChildCommand(a *answer.Command) *cobra.Command {
	return &cobra.Command{
		Use: Name, Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			tell := os.NewFile(3, "report")
			var job Job
			err := process.Job(a.Stdin, &job, func() { os.Exit(cli.ExitFailed) })
			if tell == nil || err != nil {
				return cli.Usage("run: query sql --safe", "%s is an internal command of query", Name)
			}
			report := job.run(cmd.Context(), a.Stdout)
			return errors.Join(json.NewEncoder(tell).Encode(report), tell.Close())
		},
	}
}

// run runs the statement and reports the result.
func (j *Job) run(ctx context.Context, out io.Writer) *Report {
	said, err := j.write(ctx, out)
	if err == nil {
		return said
	}
	var d *duck.Error
	memory := size(j.Memory)
	if errors.Is(err, syscall.EFBIG) {
		temp := size(j.Temp)
		err = cli.Fail(cli.ExitFailed, fmt.Errorf("the statement was stopped: its sheet exceeds %s of disk space", temp.String()),
			"--temp raises the limit")
	}
	if errors.As(err, &d) && d.Kind != "Parser" && (d.Kind == "Out of Memory" || diedOfMemory(d.Message)) {
		err = tooMuch(memory)
		if missing := scratch.Missing(); missing != "" {
			err = cli.Fail(cli.ExitFailed, err, missing)
		}
		if strings.Contains(d.Message, "offload") {
			temp := size(j.Temp)
			err = fmt.Errorf("the statement was stopped: it exceeds %s of memory and %s of disk space", memory.String(), temp.String())
			err = cli.Fail(cli.ExitFailed, err,
				"--memory and --temp raise the limits")
		}
	}
	err = j.command(nil).Explain(answer.ExplainSQL(err))
	return &Report{Code: cli.Code(err), Error: short(layout.Inside(j.Warehouse, err.Error())), Hint: short(cli.Hint(err))}
}

func (j *Job) write(ctx context.Context, out io.Writer) (said *Report, err error) {
	loc, err := time.LoadLocation(j.Zone)
	if err != nil {
		return nil, err
	}
	// In our measurements DuckDB accounts for half of its memory; allocators reserve the rest or it
	// is not counted. With half the limit, DuckDB spills to disk before the system's limit ends the
	// statement.
	w, err := analytics.Open(ctx, j.Warehouse, analytics.Options{Options: opened.Options{
		Location: loc, Rights: j.Rights, Safe: &opened.Limits{Memory: j.Memory / 2, Temp: j.Temp}}})
	if err != nil {
		return nil, err
	}
	defer func() { err = cmp.Or(err, w.Close()) }()
	// DuckDB does not enforce its limit everywhere, and a sheet's rows go to a separate file, so
	// the system limits both.
	if err := process.Limit(j.Memory, j.Temp); err != nil {
		return nil, fmt.Errorf("limit the memory: %w", err)
	}
	return write(ctx, j.command(out), w, j)
}

// command returns the command that answers in this process.
func (j *Job) command(out io.Writer) *answer.Command {
	return &answer.Command{Config: config.Config{Values: config.Values{Warehouse: j.Warehouse, TZ: j.Zone, Format: string(j.Format)}},
		Stdout: out, Stderr: io.Discard, Shell: &answer.Shell{Width: j.Width, Instead: j.Instead}}
}
