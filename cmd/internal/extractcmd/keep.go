package extractcmd

import (
	"fmt"
	"time"

	"github.com/dustin/go-humanize"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/sink"
)

// leastKeep is the shortest time for which calls may be kept. With less, calls
// would be erased before they are settled.
const leastKeep = 7 * 24 * time.Hour

// mostErased is the share of all calls that a run erases at once without --yes. A
// wrong clock or a wrong --keep would erase more.
const mostErased = 1.0 / 5

// spare lets commits erase calls past their retention, but not more than mostErased
// at once.
func (n *night) spare(w *sink.Warehouse) error {
	w.Keep(n.kept)
	aged, total, err := w.Aging()
	if err != nil || n.yes || float64(aged) <= mostErased*float64(total) {
		return err
	}
	w.Keep(time.Time{})
	n.spared = cli.Fail(cli.ExitIncomplete, fmt.Errorf(
		"--keep %s would erase %s of %s calls at once, those that started before %s; none was erased",
		n.Keep, humanize.Comma(aged), humanize.Comma(total), n.kept.Format(time.DateOnly)),
		"check this machine's clock and --keep; extract run --yes erases them")
	return nil
}

// keepFrom returns the start of the calls that are kept, a UTC midnight, so that
// whole days are erased; zero if all are kept.
func (s *settings) keepFrom(now time.Time) (time.Time, error) {
	if s.Keep == "" {
		return time.Time{}, nil
	}
	span, err := cli.ParseAge(s.Keep)
	if err != nil {
		return time.Time{}, cli.Usage("write a span as in 400d, 60w or 9600h", "--keep: %w", err)
	}
	if span < leastKeep {
		return time.Time{}, cli.Usage("calls change for some days after their end", "--keep must be 7d or more, not %s", s.Keep)
	}
	return now.Add(-span).UTC().Truncate(24 * time.Hour), nil
}
