package extractcmd

import (
	"time"

	"callhouse/cmd/internal/cli"
)

// leastKeep is the shortest time that calls may be kept: below it calls would be
// erased that are not settled yet.
const leastKeep = 7 * 24 * time.Hour

// keepFrom returns the instant from which on calls are kept, a UTC midnight, so
// that whole days go; zero: all are.
func (s *settings) keepFrom(now time.Time) (time.Time, error) {
	if s.keep == "" {
		return time.Time{}, nil
	}
	span, err := cli.ParseSpan(s.keep)
	if err != nil {
		return time.Time{}, cli.Usage("write a span as in 400d, 60w or 9600h", "--keep: %w", err)
	}
	if span < leastKeep {
		return time.Time{}, cli.Usage("calls change for some days after their end", "--keep must be 7d or more, not %s", s.keep)
	}
	return now.Add(-span).UTC().Truncate(24 * time.Hour), nil
}
