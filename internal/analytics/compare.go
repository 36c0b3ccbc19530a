package analytics

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"callhouse/internal/analytics/stored"
	"callhouse/internal/analytics/value"
	sqlfiles "callhouse/sql"
)

// Compare returns p with a period that has an end, and the period before it, as
// [Params] has them. It returns a *GroupError where a report cannot be compared.
//
// The one before a period of whole calendar months is of as many months. Before
// any other it is the same time as many weeks earlier as the period lasts, rounded
// up: so it has as many hours of the same times of day and days of the week. Without
// an end it ends where the list of calls was last read.
func (w *Warehouse) Compare(report string, p Params, now time.Time) (Params, error) {
	f, err := reportCalled(report)
	if err == nil {
		err = mayCompare(f, p)
	}
	if err != nil {
		return p, err
	}
	if p.Since.IsZero() {
		return p, &GroupError{"--compare needs the start of the period", "set it, e.g. --since 7d or --since 2026-11-01"}
	}
	if p.Until.IsZero() {
		p.Until = now
		if listed := w.Snapshot().Manifest.ListedTo(); listed.Before(now) && listed.After(p.Since) {
			p.Until = listed
		}
	}
	if !p.Since.Before(p.Until) {
		return p, &GroupError{"the period starts in the future", "set --since to an earlier time"}
	}
	p.PreviousSince, p.PreviousUntil = before(p.Since.In(w.Location()), p.Until.In(w.Location()))
	return p, nil
}

// Previous returns what selects the calls of the period that p is compared with;
// false where there is none.
func (p Params) Previous() (Params, bool) {
	q := p
	q.Since, q.Until, q.PreviousSince, q.PreviousUntil = p.PreviousSince, p.PreviousUntil, time.Time{}, time.Time{}
	return q, q.bounded()
}

// before returns the period before one, by its zone's calendar.
func before(since, until time.Time) (time.Time, time.Time) {
	months := (until.Year()-since.Year())*12 + int(until.Month()-since.Month())
	if months > 0 && isDayBegin(since) && since.Day() == 1 && isDayBegin(until) && until.Day() == 1 {
		return DayBegin(time.Date(since.Year(), since.Month()-time.Month(months), 1, 0, 0, 0, 0, time.UTC), since.Location()), since
	}
	days := 7
	for daysBack(until, days).After(since) {
		days += 7
	}
	return daysBack(since, days), daysBack(until, days)
}

// Uneven returns how many days of the weekend lie in the period of p and in the one with which it is
// compared, where these differ: then their numbers of calls differ, too.
func (p Params) Uneven(loc *time.Location) (now, previous int, uneven bool) {
	now, previous = weekendDays(p.Since, p.Until, loc), weekendDays(p.PreviousSince, p.PreviousUntil, loc)
	return now, previous, now != previous
}

func weekendDays(since, until time.Time, loc *time.Location) (n int) {
	for day := DayOf(since, loc); day.Before(until) && DayBegin(day, loc).Before(until); day = day.AddDate(0, 0, 1) {
		if weekday := day.Weekday(); weekday == time.Saturday || weekday == time.Sunday {
			n++
		}
	}
	return n
}

// daysBack returns the same time of day, so many days earlier.
func daysBack(t time.Time, days int) time.Time {
	if back := t.AddDate(0, 0, -days); !isDayBegin(t) {
		return back
	}
	y, m, d := t.Date()
	return DayBegin(time.Date(y, m, d-days, 0, 0, 0, 0, time.UTC), t.Location())
}

func isDayBegin(t time.Time) bool { return t.Equal(DayBegin(t, t.Location())) }

// DayBegin returns the first instant in a zone of the date that day shows. Where
// clocks skip midnight, that is when they go on; where they repeat it, the first.
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

// mayCompare returns a *GroupError where the answers of two periods have no rows
// in common.
func mayCompare(f *sqlfiles.File, p Params) error {
	if !f.Selects() || !f.Grouped() {
		return &GroupError{f.Name + " has no figures to compare", "run it for each period, with --since and --until"}
	}
	if f.Incomparable != "" {
		return &GroupError{f.Name + " cannot be compared with the previous period", f.Incomparable}
	}
	keys, err := asked(p)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(keys, func(d dimension) bool { return d.once }) {
		return &GroupError{"a day, week or month lies in one period only and cannot be compared with the previous one",
			"group by weekday or hour, or select days with --since and --until"}
	}
	return nil
}

// compared returns the report of f's answers over two selections of calls, given
// as lists for WITH, their rows joined on the keys.
//
// A row that one period lacks has nothing to count there: its counts are 0, and
// so are its shares of what the group has. What else it would say is null.
//
// The more shares and means an answer has, the wider are the bounds of each change: all of
// them together have 95 %. p.Strict says what is judged with them.
func compared(f *sqlfiles.File, now, previous string, p Params) *sqlfiles.File {
	out := *f
	out.Columns = nil
	var on, joined, shown, judged []string
	for _, c := range f.Columns {
		x := stored.Ident(c.Name)
		if c.Name == "key" || slices.Contains(f.Keys, c.Name) {
			on = append(on, "n."+x+" IS NOT DISTINCT FROM p."+x)
			joined = append(joined, "coalesce(n."+x+", p."+x+") AS "+x)
			shown = append(shown, x)
			out.Columns = append(out.Columns, c)
			continue
		}
		was, of, wasOf := stored.Ident(value.PreviousOf+c.Name), stored.Ident("whole_"+c.Name), stored.Ident("previous_whole_"+c.Name)
		n, before := wholeOf(f, c, "n"), wholeOf(f, c, "p")
		joined = append(joined, orZero(f, c, "n", "p", n)+" AS "+x, orZero(f, c, "p", "n", before)+" AS "+was, n+" AS "+of, before+" AS "+wasOf)
		add := func(prefix, unit, expr string) {
			shown = append(shown, expr+" AS "+stored.Ident(prefix+c.Name))
			out.Columns = append(out.Columns, sqlfiles.Column{Name: prefix + c.Name, Unit: unit, Of: c.Of})
		}
		bounds := func(unit, call, there string) {
			add(value.ChangeLowOf, unit, fmt.Sprintf(call, -1))
			add(value.ChangeHighOf, unit, fmt.Sprintf(call, 1))
			if len(p.Columns) == 0 || slices.Contains(p.Columns, c.Name) {
				judged = append(judged, fmt.Sprintf("if(%s IS NOT NULL AND %s IS NOT NULL AND "+there+", 1, 0)", x, was, of, wasOf))
			}
		}
		add("", c.Unit, x)
		add(value.PreviousOf, c.Unit, was)
		switch {
		case c.Unit == "percent" && c.Of != "":
			add(value.ChangeOf, "points", x+" - "+was)
			if c.Whole != "" {
				bounds("points", fmt.Sprintf("share_change(%s, %s, %s, %s, z, %%d)", x, of, was, wasOf), "%s > 0 AND %s > 0")
			}
		case slices.Contains([]string{"count", "ms", "money", "number"}, c.Unit): // no word, and no bound of a share
			add(value.ChangeOf, c.Unit, x+" - "+was)
			if c.Spread != "" {
				bounds(c.Unit, fmt.Sprintf("CAST(mean_change(%s, %s, z, %%d) AS %s)", of, wasOf, c.Type), "%s IS NOT NULL AND %s IS NOT NULL")
			}
		}
	}
	changes := "1"
	if len(judged) > 0 {
		changes = "sum(" + strings.Join(judged, " + ") + ") OVER ()"
	}
	if p.Strict.Changes > 0 {
		changes = strconv.Itoa(p.Strict.Changes)
	}
	out.SQL = fmt.Sprintf(`WITH now AS (SELECT row_number() OVER () AS place, * FROM (%s)),
previous AS (SELECT row_number() OVER () AS place, * FROM (%s)),
joined AS (
SELECT %s,
n.place AS place, p.place AS previous_place,
min(n.place) OVER whole_group AS group_place, min(p.place) OVER whole_group AS previous_group_place
FROM now n FULL JOIN previous p ON %s
WINDOW whole_group AS (PARTITION BY coalesce(n.key, p.key))),
strict AS (SELECT *, chance_z(%d * (%s)) AS z FROM joined)
SELECT %s
FROM strict
ORDER BY group_rank(-group_place) NULLS LAST, group_rank(-previous_group_place), key NULLS LAST, place NULLS LAST, previous_place`,
		withList(now, f.SQL), withList(previous, f.SQL), strings.Join(joined, ", "), strings.Join(on, " AND "),
		max(p.Strict.Answers, 1), changes, strings.Join(shown, ", "))
	return &out
}

var wordRE = regexp.MustCompile(`[a-z_][a-z0-9_]*`)

// wholeOf returns how many a share is of, or the spread of a mean, in the rows called alias.
func wholeOf(f *sqlfiles.File, c sqlfiles.Column, alias string) string {
	switch {
	case c.Spread != "":
		return alias + "." + c.Spread
	case c.Whole == "":
		return "NULL"
	}
	text := wordRE.ReplaceAllStringFunc(c.Whole, func(word string) string {
		if _, ok := f.Column(word); ok || f.Repeats[word] != nil {
			return figure(f, word, alias)
		}
		return word
	})
	if ofGroup(c) {
		text += " OVER whole_group"
	}
	return text
}

// figure returns a figure of the rows called alias: that of the row, or of the rows with the same keys where all have
// the same.
func figure(f *sqlfiles.File, name, alias string) string {
	x := alias + "." + stored.Ident(name)
	keys := f.Repeats[name]
	if keys == nil {
		return x
	}
	by := "coalesce(n.key, p.key)"
	for _, k := range keys {
		if k != "key" {
			by += fmt.Sprintf(", coalesce(n.%[1]s, p.%[1]s)", stored.Ident(k))
		}
	}
	return fmt.Sprintf("max(%s) OVER (PARTITION BY %s)", x, by)
}

// ofGroup says that a share is of what its group has, in all its rows.
func ofGroup(c sqlfiles.Column) bool { return strings.Contains(c.Whole, "(") }

// orZero returns a figure of the rows called alias; 0 where these have none, but
// the other ones do, and it counts.
func orZero(f *sqlfiles.File, c sqlfiles.Column, alias, other, whole string) string {
	x := figure(f, c.Name, alias)
	counts := alias + ".place IS NULL AND " + other + "." + stored.Ident(c.Name) + " IS NOT NULL"
	switch {
	case ofGroup(c), f.Repeats[c.Whole] != nil:
		counts += " AND " + whole + " > 0"
	case c.Unit != "count":
		return x
	case f.Repeats[c.Name] != nil:
		counts += " AND " + x + " IS NULL"
	}
	return fmt.Sprintf("CASE WHEN %s THEN 0 ELSE %s END", counts, x)
}

// asked returns what a report's groups and conditions go by.
func asked(p Params) ([]dimension, error) {
	keys, err := keysOf(p.By)
	if err != nil {
		return nil, err
	}
	filters, err := filtersOf(p.Where)
	for _, c := range filters {
		keys = append(keys, c.dimension)
	}
	return keys, err
}
