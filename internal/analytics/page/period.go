package page

import (
	"fmt"
	"time"

	"callhouse/internal/analytics/question"
)

// usualDays is the default length of a period.
const usualDays = 28

// A period consists of whole days, so that the same dates mean the same calls in any report. Days
// are stored as midnight UTC, whatever the zone.
type period struct {
	since, until time.Time // until is exclusive
	loc          *time.Location
}

// PeriodError means that a period has no day.
type PeriodError struct{ Since, Until string }

func (e *PeriodError) Error() string {
	return fmt.Sprintf("no complete day between %s and %s", e.Since, e.Until)
}

// newPeriod returns the days from since to before until, both rounded down to their day. The default are the 28 days
// up to the last one that is over and completely listed.
func newPeriod(since, until, listed, now time.Time, loc *time.Location) (period, error) {
	p := period{loc: loc}
	p.until = question.DayOf(known(listed, now), loc)
	if !until.IsZero() {
		p.until = question.DayOf(until, loc)
	}
	p.since = p.until.AddDate(0, 0, -usualDays)
	if !since.IsZero() {
		p.since = question.DayOf(since, loc)
	}
	if !p.since.Before(p.until) {
		return p, &PeriodError{p.since.Format(time.DateOnly), p.until.Format(time.DateOnly)}
	}
	return p, nil
}

// days returns the number of days.
func (p period) days() int { return int(p.until.Sub(p.since).Hours() / 24) }

// last returns the last day that was over and listed at an instant or, if there is none, the last
// day; whole reports whether it was over.
func (p period) last(at time.Time) (day period, whole bool) {
	until := p.until
	if d := question.DayOf(at, p.loc); d.Before(until) && d.After(p.since) {
		until = d
	}
	return period{since: until.AddDate(0, 0, -1), until: until, loc: p.loc}, !question.DayBegin(until, p.loc).After(at)
}

// known returns the time up to which calls are known: listed, and not in the future.
func known(listed, now time.Time) time.Time {
	if listed.IsZero() || listed.After(now) {
		return now
	}
	return listed
}

// params returns the bounds as parameters of reports.
func (p period) params() question.Params {
	return question.Params{Since: question.DayBegin(p.since, p.loc), Until: question.DayBegin(p.until, p.loc)}
}

// flags returns the bounds as flags.
func (p period) flags() string {
	return "--since " + p.since.Format(time.DateOnly) + " --until " + p.until.Format(time.DateOnly)
}

// bin is a day or week of the period, like the groups of reports.
type bin struct {
	key   string // of the group: 2026-11-21, or 2026-11
	name  string // for people
	label string // short, below an axis
	group string // shared by several labels
	tick  bool   // if any bin has one, only bins with ticks have labels
	part  bool   // partly outside the period, or not listed
	hover string // text of the tooltip
	link  string // to its calls; empty: none
}

// unit returns the kind of bin, as in --by: days up to 92, then weeks.
func (p period) unit() string {
	if p.days() <= 92 {
		return "day"
	}
	return "week"
}

// bins returns all bins of the period, with or without calls. listed is the end of the list; zero:
// unknown.
func (p period) bins(listed time.Time, l *Texts) []bin {
	var out []bin
	unit := p.unit()
	at := p.since
	if unit == "week" {
		at = at.AddDate(0, 0, -(int(at.Weekday())+6)%7)
	}
	for at.Before(p.until) {
		b := bin{key: at.Format(time.DateOnly), name: l.Day(at), label: at.Format("02"), group: l.Time("month", at)}
		next := at.AddDate(0, 0, 1)
		if unit == "day" {
			b.tick = p.days() > 14 && at.Weekday() == time.Monday
		} else {
			next = at.AddDate(0, 0, 7)
			b.name = l.Say("period.week", l.Time("date", at))
			if p.days() > 7*26 { // labels of months are enough
				b.label, b.group, b.tick = at.Format("01"), l.Time("year", at), at.Day() <= 7
			}
		}
		b.part = at.Before(p.since) || next.After(p.until) || !listed.IsZero() && question.DayBegin(next, p.loc).After(listed)
		out = append(out, b)
		at = next
	}
	return out
}

// before returns the previous period, as in --compare previous.
func (p period) before() period {
	both := p.params().WithPrevious(p.loc)
	return period{since: question.DayOf(both.PreviousSince, p.loc), until: question.DayOf(both.PreviousUntil, p.loc), loc: p.loc}
}
