package extractcmd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dustin/go-humanize"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/recorded"
	"callhouse/cmd/internal/runreport"
	"callhouse/internal/crawler"
	"callhouse/internal/schema"
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

// prune deletes the recordings that must not be kept: those of forgotten calls that forget could not
// delete, those of callers who opted out, and those past their retention. It comes before the commits
// that drop calls: their rows say where the files are.
func (n *night) prune(ctx context.Context, w *sink.Warehouse) error {
	if w.Snapshot() == nil {
		return nil
	}
	before, keep := n.kept, "--keep "+n.Keep
	if n.spared != nil {
		before = time.Time{}
	}
	if n.keptAudio.After(before) {
		before, keep = n.keptAudio, "--keep-recordings "+n.KeepRecordings
	}
	if err := n.spareAudio(ctx, w, &before, keep); err != nil {
		return err
	}
	forgotten, err := w.DeleteRecordings(ctx)
	if err != nil {
		return err
	}
	p, err := recorded.Prune(ctx, w, before, keep, n.Now)
	if err != nil {
		return err
	}
	if files := p.Files + forgotten.Files; files > 0 {
		n.log.Info("deleted recordings", "recordings", files, "size", humanize.Bytes(uint64(p.Bytes+forgotten.Bytes)))
	}
	if left := p.Left + forgotten.Left; left > 0 {
		w.Keep(time.Time{}) // the rows say where the files are
		n.undeleted = cli.Fail(cli.ExitIncomplete, fmt.Errorf("%s could not be deleted: %w", cli.Plural(left, "recording"),
			errors.Join(p.Why, forgotten.Why)), "the next run tries again")
	}
	if p.Calls == 0 {
		return nil
	}
	return w.Commit(ctx, func(did sink.Stats, commits int64) schema.Run {
		return runreport.Row(n.id, cli.Version(), n.started, &crawler.Progress{TotalCount: -1}, nil, did, commits, n.Secrets)
	})
}

// spareAudio is spare for recordings: with too many at once none are deleted, and no calls erased.
func (n *night) spareAudio(ctx context.Context, w *sink.Warehouse, before *time.Time, keep string) error {
	stored := w.Snapshot().Manifest.Recordings().States[schema.RecordingStored]
	if before.IsZero() || stored == 0 || n.Yes {
		return nil
	}
	var aged int64
	for r, err := range w.RecordingsToDelete(ctx, *before) {
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
