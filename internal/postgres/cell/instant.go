package cell

import "regexp"

// instantRE matches a date and time that DuckDB reads in one spelling only.
var instantRE = regexp.MustCompile(`^\s*(\d{4}-\d{1,2}-\d{1,2})[ T](\d{1,2}:\d{2})(:\d{2}(?:\.\d+)?)?\s*` +
	`([zZ]|UTC|GMT|[+-]\d{1,2}(?::?\d{2})?)?\s*$`)

// Instant returns a date and time in DuckDB's spelling: with seconds, and without a space before
// the zone. Other texts are unchanged.
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
