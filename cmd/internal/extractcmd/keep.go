package extractcmd

import (
	"fmt"
	"time"

	"github.com/dustin/go-humanize"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/sink"
)

// mostErased is the share of all calls that a run erases at once without --yes. A
// wrong clock or a wrong --keep would erase more.
const mostErased = 1.0 / 5

// spare lets commits erase calls past their retention, but not more than mostErased
// at once.
func (n *night) spare(w *sink.Warehouse) error {
	w.Keep(n.kept)
	aged, total, err := w.Aging()
	if err != nil || n.Yes || float64(aged) <= mostErased*float64(total) {
		return err
	}
	w.Keep(time.Time{})
	n.spared = cli.Fail(cli.ExitIncomplete, fmt.Errorf(
		"--keep %s would erase %s of %s calls at once, those that started before %s; nothing was erased",
		n.Keep, humanize.Comma(aged), humanize.Comma(total), n.kept.Format(time.DateOnly)),
		"check this machine's clock and --keep; to erase them, use extract run --yes")
	return nil
}
