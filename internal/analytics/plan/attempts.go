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

// week is a local week, or its beginning if it goes on in the month after.
type week struct {
	from, until time.Time
	goesOn      bool
}

// attempts returns the relation tallied_attempts, as of a WITH list, and the conditions for the calls that are to
// be numbered and for those that are to be read: tallies stand for the weeks that begin in their month. A week that
// goes on in the month after is read with its rest, which is numbered from its beginning.
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

// without returns the condition that calls start in none of some weeks, which are in order.
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

// weeksIn returns the local weeks that begin in a month of UTC and are tallied: those in which the zone keeps
// its offset, and half a day before and after them, so that the week is one stretch of time. No zone was set
// back by more since 1970.
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
