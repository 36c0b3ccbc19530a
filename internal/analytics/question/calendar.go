package question

import "time"

// before returns the previous period, by the calendar of the period's zone.
func before(since, until time.Time) (time.Time, time.Time) {
	months := (until.Year()-since.Year())*12 + int(until.Month()-since.Month())
	if months > 0 && isDayBegin(since) && since.Day() == 1 && isDayBegin(until) && until.Day() == 1 {
		return DayBegin(time.Date(since.Year(), since.Month()-time.Month(months), 1, 0, 0, 0, 0, time.UTC), since.Location()), since
	}
	days := 7
	for DaysBack(until, days).After(since) {
		days += 7
	}
	return DaysBack(since, days), DaysBack(until, days)
}

// WeekendDays counts the Saturdays and Sundays in a period, from the day of its start on.
func WeekendDays(p Params, loc *time.Location) (n int) {
	first, last := DayOf(p.Since, loc), DayOf(p.Until.Add(-1), loc)
	weeks := max(last.Unix()-first.Unix(), 0) / int64(7*24*time.Hour/time.Second) // an open period has thousands
	for day := first.AddDate(0, 0, 7*int(weeks)); !day.After(last); day = day.AddDate(0, 0, 1) {
		if weekday := day.Weekday(); weekday == time.Saturday || weekday == time.Sunday {
			n++
		}
	}
	return n + 2*int(weeks)
}

// DaysBack returns the same time of day, a number of days earlier.
func DaysBack(t time.Time, days int) time.Time {
	if back := t.AddDate(0, 0, -days); !isDayBegin(t) {
		return back
	}
	y, m, d := t.Date()
	return DayBegin(time.Date(y, m, d-days, 0, 0, 0, 0, time.UTC), t.Location())
}

func isDayBegin(t time.Time) bool { return t.Equal(DayBegin(t, t.Location())) }

// DayBegin returns the first instant of the date of day in a zone: if clocks skip midnight, the
// instant after the gap; if they repeat it, the first midnight.
func DayBegin(day time.Time, loc *time.Location) time.Time {
	y, m, d := day.Date()
	t := time.Date(y, m, d, 0, 0, 0, 0, loc)
	switch {
	case DayOf(t, loc).Before(time.Date(y, m, d, 0, 0, 0, 0, time.UTC)):
		return t.Add(time.Hour)
	case DayOf(t.Add(-time.Hour), loc).Equal(DayOf(t, loc)):
		return t.Add(-time.Hour)
	}
	return t
}

// DayOf returns the date of an instant in a zone, as midnight UTC.
func DayOf(t time.Time, loc *time.Location) time.Time {
	y, m, d := t.In(loc).Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}
