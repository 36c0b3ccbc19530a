package querycmd

import (
	"bufio"
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
	"callhouse/internal/analytics"
	"callhouse/internal/analytics/duck"
	"callhouse/internal/analytics/format"
	"callhouse/internal/proven"
)

// SafeCommand is the hidden command that runs one statement under limits. It is
// told what to do on stdin, writes rows to stdout, and its end to file 3.
const SafeCommand = "safe-statement"

func (a *app) safeChildCommand() *cobra.Command {
	return &cobra.Command{
		Use: SafeCommand, Hidden: true, Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			tell := os.NewFile(3, "report")
			in := bufio.NewReader(a.stdin)
			var job safeJob
			line, err := in.ReadBytes('\n')
			if err == nil {
				err = json.Unmarshal(line, &job)
			}
			if tell == nil || err != nil {
				return cli.Usage("run: query sql --safe", "%s is run by query itself", SafeCommand)
			}
			go func() { // the end of stdin is the end of the process that wants the answer
				_, _ = io.Copy(io.Discard, in)
				os.Exit(cli.ExitFailed)
			}()
			report := job.run(cmd.Context(), a.stdout)
			return errors.Join(json.NewEncoder(tell).Encode(report), tell.Close())
		},
	}
}

// run runs the statement, and tells how it went.
func (j *safeJob) run(ctx context.Context, out io.Writer) *safeReport {
	said, err := j.write(ctx, out)
	if err == nil {
		return said
	}
	var d *duck.Error
	memory := size(j.Memory)
	if errors.Is(err, syscall.EFBIG) {
		temp := size(j.Temp)
		err = cli.Fail(cli.ExitFailed, fmt.Errorf("the statement was stopped: its sheet takes more than %s of space", temp.String()), "--temp gives it more")
	}
	if errors.As(err, &d) && d.Kind != "Parser" && (d.Kind == "Out of Memory" || diedOfMemory(d.Message)) {
		err = tooMuch(memory)
		if strings.Contains(d.Message, "offload") {
			temp := size(j.Temp)
			err = cli.Fail(cli.ExitFailed, fmt.Errorf("the statement was stopped: it takes more than %s of memory and %s of space beside it", memory.String(), temp.String()),
				"--memory and --temp give it more")
		}
	}
	err = (&app{Config: config.Config{Values: config.Values{Warehouse: j.Warehouse, TZ: j.Zone}}}).explain(explainSQL(err))
	e := &cli.Error{Code: cli.ExitFailed}
	errors.As(err, &e)
	return &safeReport{Code: e.Code, Error: short(err.Error()), Hint: short(e.Hint)}
}

func (j *safeJob) write(ctx context.Context, out io.Writer) (said *safeReport, err error) {
	loc, err := time.LoadLocation(j.Zone)
	if err != nil {
		return nil, err
	}
	w, err := analytics.Open(ctx, j.Warehouse, analytics.Options{Location: loc, Prover: proven.Open(j.Warehouse, time.Now), Safe: &analytics.Limits{Memory: j.Memory, Temp: j.Temp}})
	if err != nil {
		return nil, err
	}
	defer func() { err = firstOf(err, w.Close()) }()
	// DuckDB does not hold its limit everywhere, and a sheet's rows wait in a file of their own: so the system does.
	if err := limit(j.Memory+safeHeadroom, j.Temp); err != nil {
		return nil, fmt.Errorf("limit the memory: %w", err)
	}
	if c := j.Checks; c != nil {
		c.app = &app{stdout: out, stderr: io.Discard, Config: config.Config{Values: config.Values{Format: string(j.Format)}}, shared: &shared{width: j.Width, rows: j.Rows}}
		failed, err := c.check(ctx, w)
		return &safeReport{Failed: failed}, err
	}
	rows, err := w.SQLWith(ctx, j.Statement, j.Params)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	r, err := format.Write(ctx, out, j.Format, rows, format.Options{Location: loc, Width: j.Width, Rows: j.Rows, Records: j.Records, Instead: j.Instead})
	return &safeReport{Rows: r.Rows, Notes: r.Notes}, err
}
