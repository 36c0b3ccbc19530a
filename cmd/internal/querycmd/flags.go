package querycmd

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/analytics/question"
)

// groupFlag and whereFlag are flags that may be repeated.
func (a *app) groupFlag(cmd *cobra.Command, usage string) {
	cmd.Flags().StringArrayVar(&a.By, "by", nil, usage)
	cli.Complete(cmd, "by", question.Dimensions()...)
}

func (a *app) whereFlag(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&a.Where, "where", nil,
		"only calls of which `NAME=VALUE` holds, as call_type=outbound; NAME as for --by; repeatable")
	cli.Complete(cmd, "where", conditions()...)
}

// skipFlag is the flag of commands that can answer without what is damaged.
func (a *app) skipFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&a.SkipDamaged, "skip-damaged", false,
		"answer without the days or months of which a file is damaged, list them, and exit with 3")
}

// agentFlag is the flag that chooses what is of one agent: calls, or changes.
func (a *app) agentFlag(cmd *cobra.Command, what string) {
	cmd.Flags().StringVar(&a.Agent, "agent", "", "only "+what+" of one agent: its `ID`, the beginning of it, its name, or a part of that")
}

// conditions are the possible beginnings of a condition.
func conditions() []string {
	out := question.Dimensions()
	for i := range out {
		out[i] += "="
	}
	return out
}

// heading tells which calls an answer is of.
func (a *app) heading(p question.Params, loc *time.Location) string {
	var parts []string
	if len(a.Where) > 0 {
		parts = append(parts, "where "+strings.Join(a.Where, ", "))
	}
	if a.Field != "" {
		parts = append(parts, "success: "+a.Field)
	}
	if _, compares := p.Previous(); compares {
		parts = append(parts, periods(p, loc))
	}
	return strings.Join(parts, "; ")
}

// asked reads the flags of reports: the zone, and which calls are asked for.
func (a *app) asked() (loc *time.Location, now time.Time, p question.Params, err error) {
	now = time.Now()
	if loc, err = a.Location(); err == nil {
		p, err = a.Params(loc, now)
	}
	return loc, now, p, err
}
