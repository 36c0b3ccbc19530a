package form

import "strconv"

// IsBirthday reports whether digits may be a date of birth: YYMMDD, YYYYMMDD, MMDDYYYY, DDMMYYYY and
// so on, given the lengths of their groups.
func IsBirthday(d string, shape []int) bool {
	if len(shape) == 3 && max(shape[0], shape[1], shape[2]) <= 4 {
		a, b, c := d[:shape[0]], d[shape[0]:shape[0]+shape[1]], d[shape[0]+shape[1]:]
		switch {
		case len(a) == 4 && len(b) <= 2 && len(c) <= 2:
			return isDate(a, b, c)
		case len(a) <= 2 && len(b) <= 2 && (len(c) == 4 || len(c) == 2):
			if ok := isDate(c, a, b) || isDate(c, b, a); ok || len(a) < 2 {
				return ok
			}
		}
	}
	switch len(d) {
	case 6:
		return isDate(d[:2], d[2:4], d[4:]) || isDate(d[4:], d[:2], d[2:4]) || isDate(d[4:], d[2:4], d[:2])
	case 7: // 3 15 1992
		return isDate(d[3:], d[:1], d[1:3])
	case 8:
		return isDate(d[:4], d[4:6], d[6:]) || isDate(d[4:], d[:2], d[2:4]) || isDate(d[4:], d[2:4], d[:2])
	}
	return false
}

// isDate reports whether digits may be a date of birth.
func isDate(y, m, d string) bool {
	year, _ := strconv.Atoi(y)
	month, _ := strconv.Atoi(m)
	day, _ := strconv.Atoi(d)
	return IsBorn(year, month, day, len(y) == 2)
}

// IsBorn reports whether a day is a possible date of birth. short: the year lacks its century.
func IsBorn(year, month, day int, short bool) bool {
	if short {
		if year += 1900; year < 1930 {
			year += 100
		}
	}
	_, ok := date(year, month, day)
	return ok && year >= 1900 && year <= 2040
}
