package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"callhouse/internal/analytics/localtime"
	"callhouse/internal/analytics/question"
	"callhouse/internal/analytics/stored"
	"callhouse/internal/schema"
)

const halfDay = 12 * time.Hour

// week is a local week, or its first part if it continues in the next month.
type week struct {
	from, until time.Time
	goesOn      bool
}

// attempts returns the relation tallied_attempts, as part of a WITH list, and two conditions on
// calls: those to number and those to read. Tallies replace the calls of weeks that begin in their
// month. If a week continues in the next month, its calls are read as well, so that the rest is
// numbered from the start of the week.
func (p *Planner) attempts(q question.Question) (with []string, others, read string) {
	tallies, _, _ := p.tallyFiles(&schema.AttemptTallies, q)
	starts := []string{"NULL"}
	for _, f := range tallies {
		weeks := p.weeksIn(f.Period)
		for _, w := range weeks {
			starts = append(starts, localtime.Instant(w.from))
		}
		others += without(weeks)
		read += without(slices.DeleteFunc(weeks, func(w week) bool { return w.goesOn }))
	}
	with = []string{fmt.Sprintf("tallied_attempts AS NOT MATERIALIZED (SELECT NULL AS key, * FROM (%s) WHERE week_start_at IN (%s))",
		stored.Relation(p.snap, tallies, &schema.AttemptTallies, false), strings.Join(starts, ", "))}
	return with, others, read
}

// without returns the condition that a call starts in none of the weeks, which must be sorted.
func without(weeks []week) (text string) {
	for i := 0; i < len(weeks); i++ {
		from := weeks[i].from
		for i+1 < len(weeks) && weeks[i+1].from.Equal(weeks[i].until) {
			i++
		}
		text += fmt.Sprintf(" AND (start_at < %s OR start_at >= %s)", localtime.Instant(from), localtime.Instant(weeks[i].until))
	}
	return text
}

// weeksIn returns the local weeks that begin in a UTC month and are tallied: those for which the
// zone's offset is constant from half a day before the week to half a day after it, so that the
// week is one interval. No zone was set back by more since 1970.
func (p *Planner) weeksIn(month string) (out []week) {
	begin, err := time.Parse("2006-01", month)
	if err != nil {
		return nil
	}
	end := begin.AddDate(0, 1, 0)
	y, m, d := begin.In(p.loc).Date()
	d -= (int(begin.In(p.loc).Weekday()) + 6) % 7 // back to Monday
	for monday := func(i int) time.Time { return time.Date(y, m, d+7*i, 0, 0, 0, 0, p.loc) }; monday(0).Before(end); d += 7 {
		w := week{from: monday(0), until: monday(1)}
		if w.until.After(end) {
			w.until, w.goesOn = end, true
		}
		_, seconds := w.from.Zone()
		_, changes := w.from.Add(-halfDay).ZoneBounds()
		if !w.from.Before(begin) && w.from.Hour() == 0 && slices.Contains(schema.AttemptOffsets, seconds/60) && seconds%60 == 0 &&
			(changes.IsZero() || changes.After(w.until.Add(halfDay))) {
			out = append(out, w)
		}
	}
	return out
}
