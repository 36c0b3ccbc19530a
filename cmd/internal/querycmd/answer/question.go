package answer

import (
	"cmp"
	"strings"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/analytics/question"
)

// Periods that Compare takes besides the times that Since takes.
const (
	Previous  = "previous"   // the one before
	lastMonth = "last-month" // the same days of the month before
	lastYear  = "last-year"
)

// current are the periods that words are compared with unless Since selects another.
var current = map[string]string{"yesterday": "today", lastMonth: "this-month", lastYear: "this-year"}

// Question is the selection and grouping of a report's calls, as typed. See question.Params. The
// tags describe it to assistants: see package mcp.
type Question struct {
	Since    string   `json:"since,omitempty" jsonschema:"only calls that start at or after: 2026-11-01, today, monday, RFC 3339, or 7d"`
	Until    string   `json:"until,omitempty" jsonschema:"only calls that start before; a date means its 00:00"`
	Agent    string   `json:"agent,omitempty" jsonschema:"only calls of one agent: its id or name, or a part"`
	Where    []string `json:"where,omitempty" jsonschema:"only calls with NAME=VALUE; AND between names, OR within one; names as for by"`
	By       []string `json:"by,omitempty" jsonschema:"group by one or two of: agent, day, week, campaign, metadata.KEY and others"`
	Compare  string   `json:"compare,omitempty" jsonschema:"show the change from: previous, last-month, last-year, or when a period begins"`
	Field    string   `json:"field,omitempty" jsonschema:"count calls with NAME=VALUE of an extracted field as successful"`
	Baseline string   `json:"baseline,omitempty" jsonschema:"version to compare with, such as v12"`
	Every    string   `json:"every,omitempty" jsonschema:"step of a row: day, hour or minute"`
	Steps    bool     `json:"steps,omitempty" jsonschema:"one row per step of 5 seconds"`
	Sort     string   `json:"sort,omitempty" jsonschema:"COLUMN, COLUMN:asc or COLUMN:desc"`
	Top      uint32   `json:"top,omitempty" jsonschema:"only the first rows; default: 100"`
	Skip     uint32   `json:"skip,omitempty" jsonschema:"skip this many rows"`
	Show     []string `json:"-"` // columns; see [analytics.Answer.Show]
}

// Params parses a question. Dates are those of a zone, and ages count from now.
func (q *Question) Params(loc *time.Location, now time.Time) (question.Params, error) {
	p := question.Params{By: strings.Join(q.By, ","), Agent: q.Agent, Where: q.Where, Field: q.Field, Baseline: q.Baseline,
		Every: q.Every, Steps: q.Steps,
		Skip: int64(q.Skip), Sort: q.Sort, Top: int64(q.Top)}
	var err error
	word := strings.ToLower(q.Compare)
	if p.Since, err = cli.TimeOf("since", cmp.Or(q.Since, current[word]), loc, now); err != nil {
		return p, err
	}
	if p.Until, err = cli.TimeOf("until", q.Until, loc, now); err != nil {
		return p, err
	}
	if !p.Since.IsZero() && !p.Until.IsZero() && !p.Since.Before(p.Until) {
		return p, cli.Usage("--until is exclusive: --since 2026-11-01 --until 2026-12-01 is November",
			"--since %s is not before --until %s", q.Since, q.Until)
	}
	switch word {
	case "", Previous:
	case lastMonth:
		p.PreviousSince = question.MonthsBack(p.Since.In(loc), 1)
	case lastYear:
		p.PreviousSince = question.MonthsBack(p.Since.In(loc), 12)
	default:
		if p.PreviousSince, err = cli.ParseTime(q.Compare, loc, now); err != nil {
			return p, cli.Usage("use previous, last-month, last-year, or the time at which the other period begins: a date (2026-11-01), "+
				"a day (yesterday, monday), a time (2026-11-01T09:00:00Z) or an age (14d)", "--compare: %w", err)
		}
	}
	return p, nil
}
