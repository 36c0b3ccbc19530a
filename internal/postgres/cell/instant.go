package cell

import "regexp"

// instantRE finds the parts of a date and time that DuckDB reads only in one spelling.
var instantRE = regexp.MustCompile(`^\s*(\d{4}-\d{1,2}-\d{1,2})[ T](\d{1,2}:\d{2})(:\d{2}(?:\.\d+)?)?\s*` +
	`([zZ]|UTC|GMT|[+-]\d{1,2}(?::?\d{2})?)?\s*$`)

// Instant returns the text of a date and time as DuckDB reads it: with seconds, and without a
// space before the zone. Other texts stay as they are.
func Instant(text string) string {
	m := instantRE.FindStringSubmatch(text)
	if m == nil {
		return text
	}
	date, clock, seconds, zone := m[1], m[2], m[3], m[4]
	if seconds == "" {
		seconds = ":00"
	}
	switch {
	case zone == "", zone[0] == '+', zone[0] == '-':
	default:
		zone = "+00"
	}
	return date + " " + clock + seconds + zone
}
