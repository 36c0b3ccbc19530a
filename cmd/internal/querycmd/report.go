package querycmd

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"callhouse/internal/analytics"
	sqlfiles "callhouse/sql"
)

// reportCommand makes the command of a named report.
func (a *app) reportCommand(f *sqlfiles.File) *cobra.Command {
	cmd := &cobra.Command{
		Use:     f.Name,
		Short:   sentence(f.Answers),
		Long:    longText(f) + "\n\nGroups for --by: " + wrapList(analytics.Dimensions()) + ".",
		GroupID: "reports",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.runReport(cmd, f.Name)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&a.since, "since", "", "only calls that start at `TIME` or after: 2026-11-01, an RFC 3339 time, or an age as 7d")
	fl.StringVar(&a.until, "until", "", "only calls that start before `TIME`; a date means its beginning")
	fl.StringVar(&a.by, "by", "", "one group of rows for each value of `GROUP`; see above")
	fl.StringVar(&a.agent, "agent", "", "only calls of the agent whose `ID` this is, or begins with")
	complete(cmd, "by", analytics.Dimensions())
	return cmd
}

func (a *app) runReport(cmd *cobra.Command, name string) (err error) {
	ctx := cmd.Context()
	loc, err := a.location()
	if err != nil {
		return err
	}
	now := time.Now()
	p, err := a.params(loc, now)
	if err != nil {
		return err
	}
	if _, err := a.outputFormat(); err != nil {
		return err
	}
	w, err := a.open(ctx, loc)
	if err != nil {
		return err
	}
	defer func() { err = firstOf(err, w.Close()) }()
	rows, err := w.Report(ctx, name, p)
	if err != nil {
		return err
	}
	defer rows.Close()
	r, err := a.write(ctx, rows, loc)
	if err != nil {
		return err
	}
	a.notes(r)
	c, err := w.Coverage(ctx, name, p, now)
	if err != nil {
		return err
	}
	if r.Rows == 0 {
		fmt.Fprintln(a.stderr, "no calls match")
	}
	if line := c.String(loc); line != "" {
		fmt.Fprintln(a.stderr, "coverage: "+line)
	}
	return nil
}

// firstOf returns the first error: what failed later is of no interest then.
func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
