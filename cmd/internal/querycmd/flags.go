package querycmd

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/analytics"
)

// previous is what --compare takes.
const previous = "previous"

// groupFlag and whereFlag are flags that may be repeated.
func (a *app) groupFlag(cmd *cobra.Command, usage string) {
	cmd.Flags().StringArrayVar(&a.by, "by", nil, usage)
	cli.Complete(cmd, "by", analytics.Dimensions()...)
}

func (a *app) whereFlag(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&a.where, "where", nil, "only calls of which `NAME=VALUE` holds, as call_type=outbound; NAME as for --by; repeatable")
	cli.Complete(cmd, "where", conditions()...)
}

// agentFlag is the flag that chooses what is of one agent: calls, or changes.
func (a *app) agentFlag(cmd *cobra.Command, what string) {
	cmd.Flags().StringVar(&a.agent, "agent", "", "only "+what+" of one agent: its `ID`, the beginning of it, its name, or a part of that")
}

// conditions are the possible beginnings of a condition.
func conditions() []string {
	out := analytics.Dimensions()
	for i := range out {
		out[i] += "="
	}
	return out
}

// heading tells which calls an answer is of.
func (a *app) heading(p analytics.Params, loc *time.Location) string {
	var parts []string
	if len(a.where) > 0 {
		parts = append(parts, "where "+strings.Join(a.where, ", "))
	}
	if a.field != "" {
		parts = append(parts, "success: "+a.field)
	}
	if _, compares := p.Previous(); compares {
		parts = append(parts, periods(p, loc))
	}
	return strings.Join(parts, "; ")
}

// asked reads the flags of reports: the zone, and which calls are asked for.
func (a *app) asked() (loc *time.Location, now time.Time, p analytics.Params, err error) {
	now = time.Now()
	if loc, err = a.Location(); err == nil {
		p, err = a.params(loc, now)
	}
	return loc, now, p, err
}

// params reads the flags of reports.
func (a *app) params(loc *time.Location, now time.Time) (analytics.Params, error) {
	if a.compare != "" && a.compare != previous {
		return analytics.Params{}, cli.Usage("write --compare previous", "there is no period %q to compare with", a.compare)
	}
	p := analytics.Params{By: strings.Join(a.by, ","), Agent: a.agent, Where: a.where, Field: a.field, Every: a.every,
		Most: int64(a.most), Skip: int64(a.skip)}
	var err error
	if p.Since, err = cli.TimeOf("since", a.since, loc, now); err != nil {
		return p, err
	}
	if p.Until, err = cli.TimeOf("until", a.until, loc, now); err != nil {
		return p, err
	}
	if !p.Since.IsZero() && !p.Until.IsZero() && !p.Since.Before(p.Until) {
		return p, cli.Usage("--until is exclusive: --since 2026-11-01 --until 2026-12-01 is November",
			"--since %s is not before --until %s", a.since, a.until)
	}
	return p, nil
}
