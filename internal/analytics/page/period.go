package page

import (
	"fmt"
	"time"

	"callhouse/internal/analytics/question"
)

// usualDays is the length of a period that nobody chose.
const usualDays = 28

// A period is of whole days, so that the same dates typed to any report give the
// same calls. Days are held as midnight UTC, whatever the zone.
type period struct {
	since, until time.Time // until is exclusive
	loc          *time.Location
}

// PeriodError says that there is no day in what was asked for.
type PeriodError struct{ Since, Until string }

func (e *PeriodError) Error() string {
	return fmt.Sprintf("no whole day lies between %s and %s", e.Since, e.Until)
}

// newPeriod returns the days from since on and before until, both taken at the
// beginning of their day. Without until it ends with the last day that is over
// and listed whole, without since it is of 28 days: four
// weeks, so that it has as many weekends as the four before.
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

// days is the number of days.
func (p period) days() int { return int(p.until.Sub(p.since).Hours() / 24) }

// last is the last day that is over and listed at an instant or, where there is
// none, the last of all; whole tells which.
func (p period) last(at time.Time) (day period, whole bool) {
	until := p.until
	if d := question.DayOf(at, p.loc); d.Before(until) && d.After(p.since) {
		until = d
	}
	return period{since: until.AddDate(0, 0, -1), until: until, loc: p.loc}, !question.DayBegin(until, p.loc).After(at)
}

// known is up to when calls are known: listed, and not of the future.
func known(listed, now time.Time) time.Time {
	if listed.IsZero() || listed.After(now) {
		return now
	}
	return listed
}

// back is the same number of days, so many days earlier.
func (p period) back(days int) period {
	return period{since: p.since.AddDate(0, 0, -days), until: p.until.AddDate(0, 0, -days), loc: p.loc}
}

// params are the bounds as reports take them.
func (p period) params() question.Params {
	return question.Params{Since: question.DayBegin(p.since, p.loc), Until: question.DayBegin(p.until, p.loc)}
}

// flags are the bounds as they are typed.
func (p period) flags() string {
	return "--since " + p.since.Format(time.DateOnly) + " --until " + p.until.Format(time.DateOnly)
}

// bin is a day, week or month of the period, as the reports' groups are.
type bin struct {
	key   string // of the group: 2026-11-21, or 2026-11
	name  string // for people
	label string // short, below an axis
	group string // what several labels have in common
	tick  bool
	part  bool // not all of it lies in the period, or was listed
}

// unit is what a bin is: day, week or month, as --by spells it. Few enough bins
// for a chart that fits a page: up to 92 days, or 110 weeks.
func (p period) unit() string {
	switch {
	case p.days() <= 92:
		return "day"
	case p.days() <= 7*110:
		return "week"
	}
	return "month"
}

// binOf is the key of the bin that a day lies in.
func (p period) binOf(day time.Time) string {
	switch p.unit() {
	case "week":
		return day.AddDate(0, 0, -(int(day.Weekday())+6)%7).Format(time.DateOnly)
	case "month":
		return day.Format("2006-01")
	}
	return day.Format(time.DateOnly)
}

// bins returns all bins of the period, with calls or not. listed is up to when
// calls are listed; zero: not known.
func (p period) bins(listed time.Time, l *lang) []bin {
	var out []bin
	unit := p.unit()
	at := p.since
	switch unit {
	case "week":
		at = at.AddDate(0, 0, -(int(at.Weekday())+6)%7)
	case "month":
		at = at.AddDate(0, 0, 1-at.Day())
	}
	for at.Before(p.until) {
		b := bin{key: at.Format(time.DateOnly), name: l.day(at), label: at.Format("02"), group: l.time("month", at)}
		next := at.AddDate(0, 0, 1)
		switch unit {
		case "day":
			b.tick = p.days() > 14 && at.Weekday() == time.Monday
		case "week":
			next = at.AddDate(0, 0, 7)
			b.name = l.say("period.week", l.time("date", at))
			if p.days() > 7*26 { // the months of the year suffice
				b.label, b.group, b.tick = at.Format("01"), l.time("year", at), at.Day() <= 7
			}
		case "month":
			next = at.AddDate(0, 1, 0)
			b.key, b.name, b.label, b.group = at.Format("2006-01"), l.time("month", at), at.Format("01"), l.time("year", at)
		}
		b.part = at.Before(p.since) || next.After(p.until) || !listed.IsZero() && question.DayBegin(next, p.loc).After(listed)
		out = append(out, b)
		at = next
	}
	return out
}
