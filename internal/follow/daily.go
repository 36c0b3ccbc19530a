package follow

import (
	"fmt"
	"time"
)

// Daily is a time of day in a zone.
type Daily struct {
	Hour, Minute int
	Zone         *time.Location
}

// ParseDaily parses a time such as 03:00.
func ParseDaily(text string, zone *time.Location) (Daily, error) {
	at, err := time.Parse("15:04", text)
	if err != nil {
		return Daily{}, fmt.Errorf("%q is not a time of day such as 03:00", text)
	}
	return Daily{at.Hour(), at.Minute(), zone}, nil
}

// Next returns the first such time after t. A time skipped by a clock change moves forward by the
// length of the gap; of a repeated time the first occurrence counts.
func (d Daily) Next(t time.Time) time.Time {
	local := t.In(d.Zone)
	for day := local.Day() - 1; ; day++ {
		at := time.Date(local.Year(), local.Month(), day, d.Hour, d.Minute, 0, 0, d.Zone)
		if first := at.Add(-time.Hour); first.Hour() == at.Hour() && first.Day() == at.Day() {
			at = first
		}
		if at.After(t) {
			return at
		}
	}
}
