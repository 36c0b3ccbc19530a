package answer

import (
	"strings"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/analytics/question"
)

// Previous is the only period that Compare accepts.
const Previous = "previous"

// Question is the selection and grouping of a report's calls, as typed. See question.Params.
type Question struct {
	Since, Until, Agent, Compare string
	Field, Every, Sort, Baseline string
	By, Where                    []string
	Show                         []string // columns; see [analytics.Answer.Shown]
	Limit, Skip, Top             uint32
	Steps                        bool
}

// Params parses a question. Dates are those of a zone, and ages count from now.
func (q *Question) Params(loc *time.Location, now time.Time) (question.Params, error) {
	if q.Compare != "" && q.Compare != Previous {
		return question.Params{}, cli.Usage("use --compare previous", "unknown period %q", q.Compare)
	}
	p := question.Params{By: strings.Join(q.By, ","), Agent: q.Agent, Where: q.Where, Field: q.Field, Baseline: q.Baseline,
		Every: q.Every, Steps: q.Steps,
		Limit: int64(q.Limit), Skip: int64(q.Skip), Sort: q.Sort, Top: int64(q.Top)}
	var err error
	if p.Since, err = cli.TimeOf("since", q.Since, loc, now); err != nil {
		return p, err
	}
	if p.Until, err = cli.TimeOf("until", q.Until, loc, now); err != nil {
		return p, err
	}
	if !p.Since.IsZero() && !p.Until.IsZero() && !p.Since.Before(p.Until) {
		return p, cli.Usage("--until is exclusive: --since 2026-11-01 --until 2026-12-01 is November",
			"--since %s is not before --until %s", q.Since, q.Until)
	}
	return p, nil
}
