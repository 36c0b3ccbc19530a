package querycmd

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/analytics/question"
)

// groupFlag and whereFlag add flags that may be repeated.
func (a *app) groupFlag(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&a.By, "by", nil, "group the rows by `GROUP`; for two groups, use agent,day or repeat the flag")
	cli.Complete(cmd, "by", question.Dimensions()...)
}

func (a *app) whereFlag(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&a.Where, "where", nil,
		"only calls with `NAME=VALUE`, e.g. call_type=outbound; names as for --by. Repeat it to combine conditions: "+
			"AND between names, OR within one")
	cli.Complete(cmd, "where", question.Dimensions()...)
}

// agentFlag adds the flag that selects one agent's calls or changes.
func (a *app) agentFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&a.Agent, "agent", "", "only one agent: its `ID` or an ID prefix, its name or part of it")
}

// heading describes the selected calls.
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

// parseReportFlags parses the flags of reports: the zone and the selected calls.
func (a *app) parseReportFlags() (loc *time.Location, now time.Time, p question.Params, err error) {
	now = time.Now()
	if loc, err = a.Location(); err == nil {
		p, err = a.Params(loc, now)
	}
	return loc, now, p, err
}
