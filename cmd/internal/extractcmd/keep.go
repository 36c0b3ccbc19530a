package extractcmd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/dustin/go-humanize"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/extractcmd/settings"
	"callhouse/cmd/internal/recorded"
	"callhouse/internal/schema"
	"callhouse/internal/sink"
)

// mostErased is the largest share of all calls that a run may erase at once without --yes. A wrong
// clock or a wrong --keep would exceed it.
const mostErased = 1.0 / 5

// retention holds the retention limits of a run, and the reasons why they were not applied.
type retention struct {
	kept      time.Time // calls that started earlier are erased; zero: none
	keptAudio time.Time // recordings of calls that started earlier are deleted; zero: none
	spared    error     // why nothing was erased: it would have been too much at once
	undeleted error     // why some recordings that must be deleted are still there
}

// setKept computes both limits from the settings.
func (n *retention) setKept(s *settings.Settings, started time.Time) (err error) {
	if n.kept, err = s.KeepFrom(started); err == nil {
		n.keptAudio, err = s.KeepRecordingsFrom(started)
	}
	return err
}

// spare lets commits erase calls past their retention, unless they exceed mostErased.
func (n *retention) spare(s *settings.Settings, w *sink.Warehouse) error {
	w.Keep(n.kept)
	aged, total, err := w.Aging()
	if err != nil || s.Yes || float64(aged) <= mostErased*float64(total) {
		return err
	}
	w.Keep(time.Time{})
	n.spared = cli.Fail(cli.ExitIncomplete, fmt.Errorf(
		"--keep %s would erase %s of %s calls at once, those that started before %s; nothing was erased",
		s.Keep, humanize.Comma(aged), humanize.Comma(total), n.kept.Format(time.DateOnly)),
		"check this machine's clock and --keep; to erase them, use extract run --yes")
	return nil
}

// prune deletes the recordings of forgotten calls that forget could not delete, of callers who opted
// out, and those past their retention. It must run before the commits that drop calls, because the
// dropped rows hold the paths of the files.
func (n *retention) prune(ctx context.Context, s *settings.Settings, w *sink.Warehouse, log *slog.Logger,
	row func(sink.Stats, int64) schema.Run) error {
	if w.Snapshot() == nil {
		return nil
	}
	n.undeleted = nil
	before, keep := n.kept, "--keep "+s.Keep
	if n.spared != nil {
		before = time.Time{}
	}
	if n.keptAudio.After(before) {
		before, keep = n.keptAudio, "--keep-recordings "+s.KeepRecordings
	}
	if err := n.spareAudio(ctx, s, w, &before, keep); err != nil {
		return err
	}
	forgotten, err := w.DeleteRecordings(ctx)
	if err != nil {
		return err
	}
	keeps := w.Keep(time.Time{})
	p, err := recorded.Prune(ctx, w, before, keep, s.Now, func(ctx context.Context) error { return w.Commit(ctx, row) })
	if err != nil {
		return err
	}
	if files := p.Files + forgotten.Files; files > 0 {
		log.Info("deleted recordings", "recordings", files, "size", humanize.Bytes(uint64(p.Bytes+forgotten.Bytes)))
	}
	if left := p.Left + forgotten.Left; left > 0 {
		n.undeleted = cli.Fail(cli.ExitIncomplete, fmt.Errorf("%s could not be deleted: %w", cli.Plural(left, "recording"),
			errors.Join(p.Why, forgotten.Why)), "the next run tries again")
		return nil
	}
	w.Keep(keeps)
	return nil
}

// spareAudio is spare for recordings: above the limit, it deletes no recordings and erases no calls.
func (n *retention) spareAudio(ctx context.Context, s *settings.Settings, w *sink.Warehouse, before *time.Time, keep string) error {
	stored := w.Snapshot().Manifest.Recordings().States[schema.RecordingStored]
	if before.IsZero() || stored == 0 || s.Yes {
		return nil
	}
	var aged int64
	for r, err := range w.RecordingsBefore(ctx, *before) {
		if err != nil {
			return err
		}
		if r.Known.State == schema.RecordingStored {
			aged++
		}
	}
	if float64(aged) <= mostErased*float64(stored) {
		return nil
	}
	*before = time.Time{}
	w.Keep(time.Time{})
	n.spared = cli.Fail(cli.ExitIncomplete, fmt.Errorf("%s would delete %s of %s recordings at once; nothing was deleted", keep,
		humanize.Comma(aged), humanize.Comma(stored)),
		"check this machine's clock and the setting; to delete them, use extract run --yes")
	return nil
}
