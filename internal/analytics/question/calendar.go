package question

import (
	"slices"
	"strings"
	"time"
)

// before returns the previous period, by the calendar of the period's zone.
func before(since, until time.Time) (time.Time, time.Time) {
	if months := wholeMonths(since, until); months > 0 {
		return MonthsBack(since, months), since
	}
	days := 7
	for DaysBack(until, days).After(since) {
		days += 7
	}
	return DaysBack(since, days), DaysBack(until, days)
}

// wholeMonths returns the number of months of a period of whole calendar months; 0: it is none.
func wholeMonths(since, until time.Time) int {
	if !isDayBegin(since) || since.Day() != 1 || !isDayBegin(until) || until.Day() != 1 {
		return 0
	}
	return (until.Year()-since.Year())*12 + int(until.Month()-since.Month())
}

// MonthsBack returns the same time of the same day some months earlier, or of the last day of a month that is too short.
func MonthsBack(t time.Time, months int) time.Time {
	first := time.Date(t.Year(), t.Month()-time.Month(months), 1, 0, 0, 0, 0, time.UTC)
	day := first.AddDate(0, 0, min(t.Day(), first.AddDate(0, 1, -1).Day())-1)
	return DaysBack(t, int(DayOf(t, t.Location()).Sub(day).Hours()/24))
}

// alike returns the end of a period that begins at other and is as long on the wall clock as that from since to
// until. It never overlaps that one: from 1 February it ends with the month.
func alike(since, until, other time.Time) time.Time {
	end := other.Add(until.Sub(since))
	days := int(DayOf(since, since.Location()).Sub(DayOf(other, since.Location())).Hours() / 24)
	if months := wholeMonths(since, until); months > 0 && wholeMonths(other, since) > 0 {
		end = MonthsBack(other, -months)
	} else if DaysBack(since, days).Equal(other) {
		end = DaysBack(until, days)
	}
	if end.After(since) {
		return since
	}
	return end
}

// Parts returns, for each key and the steps of a report, the parts of the days, weeks, months and steps that begin
// before from or end after until (zero: unknown), by their text, such as " from 09:26".
func (q Question) Parts(from, until time.Time, loc *time.Location) []map[string]string {
	out := make([]map[string]string, len(q.Keys)+1)
	for n, t := range []time.Time{from, until} {
		if t.IsZero() {
			continue
		}
		mark := func(i int, text string, begin time.Time, layout string) {
			if t.Equal(begin) {
				return
			}
			if out[i] == nil {
				out[i] = map[string]string{}
			}
			out[i][text] += []string{" from ", " to "}[n] + strings.TrimSuffix(t.In(loc).Format(layout), " 00:00")
		}
		for i, d := range q.Keys {
			if d.inOne == nil {
				continue
			}
			key, layout := d.keyOf(DayOf(t, loc)), "01-02 15:04"
			if d.Name == "day" {
				layout = "15:04"
			}
			first, _ := d.inOne(key)
			mark(i, key, DayBegin(first, loc), layout)
		}
		if step := map[string]time.Duration{"hour": time.Hour, "minute": time.Minute}[q.Every]; slices.Contains(q.Report.Flags, "every") {
			begin, layout := DayBegin(DayOf(t, loc), loc), "15:04"
			if step > 0 {
				begin, layout = begin.Add(t.Sub(begin).Truncate(step)), "15:04:05"
			}
			mark(len(q.Keys), begin.In(loc).Format("2006-01-02T15:04:05"), begin, layout)
		}
	}
	return out
}

// WeekendDays counts the Saturdays and Sundays in a period, from the day of its start on.
func WeekendDays(p Params, loc *time.Location) (n int) {
	for day, end := DayOf(p.Since, loc), DayOf(p.Until.Add(-1), loc); !day.After(end); day = day.AddDate(0, 0, 1) {
		if day.Weekday() == time.Saturday || day.Weekday() == time.Sunday {
			n++
		}
	}
	return n
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
