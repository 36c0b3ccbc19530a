package form

import (
	"cmp"
	"strconv"
	"time"
)

// Date returns the date, as 1992-03-15, that digits may stand for: YYMMDD, YYYYMMDD, MMDDYYYY,
// DDMMYYYY and so on, given the lengths of their groups; empty if they are not a date.
func Date(d string, shape []int) string {
	if len(shape) == 3 && max(shape[0], shape[1], shape[2]) <= 4 {
		a, b, c := d[:shape[0]], d[shape[0]:shape[0]+shape[1]], d[shape[0]+shape[1]:]
		switch {
		case len(a) == 4 && len(b) <= 2 && len(c) <= 2:
			return dateOf(a, b, c)
		case len(a) <= 2 && len(b) <= 2 && (len(c) == 4 || len(c) == 2):
			if s := cmp.Or(dateOf(c, a, b), dateOf(c, b, a)); s != "" || len(a) < 2 {
				return s
			}
		}
	}
	switch len(d) {
	case 6:
		return cmp.Or(dateOf(d[:2], d[2:4], d[4:]), dateOf(d[4:], d[:2], d[2:4]), dateOf(d[4:], d[2:4], d[:2]))
	case 7: // 3 15 1992
		return dateOf(d[3:], d[:1], d[1:3])
	case 8:
		return cmp.Or(dateOf(d[:4], d[4:6], d[6:]), dateOf(d[4:], d[:2], d[2:4]), dateOf(d[4:], d[2:4], d[:2]))
	}
	return ""
}

// dateOf returns a date of digits; empty if there is no such day.
func dateOf(y, m, d string) string {
	year, _ := strconv.Atoi(y)
	month, _ := strconv.Atoi(m)
	day, _ := strconv.Atoi(d)
	return BornOn(year, month, day, len(y) == 2)
}

// BornOn returns the day if it is a possible date of birth. short: the year lacks its century.
func BornOn(year, month, day int, short bool) string {
	if short {
		if year += 1900; year < 1930 {
			year += 100
		}
	}
	if t, ok := date(year, month, day); ok && year >= 1900 && year <= 2040 {
		return t.Format(time.DateOnly)
	}
	return ""
}
