package extractcmd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dustin/go-humanize"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/schema"
)

// maxErased is the largest share of all calls that a run may erase at once without --yes. A wrong
// clock or a wrong --keep would exceed it.
const maxErased = 1.0 / 5

// retention holds the retention limits of a run, and the reasons why they were not applied.
type retention struct {
	callsFrom time.Time // calls that started earlier are erased; zero: none
	audioFrom time.Time // recordings of calls that started earlier are deleted; zero: none
	notErased error     // why nothing was erased: it would have been too much at once
	undeleted error     // why some recordings that must be deleted are still there
}

// setRetention computes both limits from the settings.
func (j *job) setRetention(at time.Time) (err error) {
	if j.callsFrom, err = j.keepFrom("keep", j.Keep, at); err == nil {
		j.audioFrom, err = j.keepFrom("keep-recordings", j.KeepRecordings, at)
	}
	return err
}

// limitErased lets commits erase calls past their retention, unless they exceed maxErased.
func (j *job) limitErased() error {
	j.w.Keep(j.callsFrom)
	aged, total, err := j.w.Aging()
	if err == nil {
		j.tooMany("--keep "+j.Keep, "calls", aged, total, j.callsFrom)
	}
	return err
}

// tooMany reports whether a setting would erase too many things at once. Then nothing is erased.
func (j *job) tooMany(keep, what string, aged, total int64, before time.Time) bool {
	if j.Yes || float64(aged) <= maxErased*float64(total) {
		return false
	}
	j.w.Keep(time.Time{})
	j.notErased = cli.Fail(cli.ExitIncomplete, fmt.Errorf("%s would erase %s of %s %s at once, those that started before %s; "+
		"nothing was erased", keep, humanize.Comma(aged), humanize.Comma(total), what, before.Format(time.DateOnly)),
		"check this machine's clock and the setting; to erase them, use extract run --yes")
	return true
}

// prune deletes the recordings of forgotten calls that forget could not delete, of callers who opted
// out, and those past their retention. It must run before the commits that drop calls, because the
// dropped rows hold the paths of the files.
func (j *job) prune(ctx context.Context) error {
	if j.w.Snapshot() == nil {
		return nil
	}
	j.undeleted = nil
	before, keep := j.callsFrom, "--keep "+j.Keep
	if j.notErased != nil {
		before = time.Time{}
	}
	if j.audioFrom.After(before) {
		before, keep = j.audioFrom, "--keep-recordings "+j.KeepRecordings
	}
	if err := j.limitDeleted(ctx, &before, keep); err != nil {
		return err
	}
	forgotten, err := j.w.DeleteRecordings(ctx)
	if err != nil {
		return err
	}
	limit := j.w.Keep(time.Time{})
	p, err := pruneRecordings(ctx, j.w, before, keep, j.Now, func(ctx context.Context) error { return j.w.Commit(ctx, j.current) })
	if err != nil {
		return err
	}
	if files := p.Files + forgotten.Files; files > 0 {
		j.log.Info("deleted recordings", "recordings", files, "size", humanize.Bytes(uint64(p.Bytes+forgotten.Bytes)))
	}
	if left := p.Left + forgotten.Left; left > 0 {
		j.undeleted = cli.Fail(cli.ExitIncomplete, fmt.Errorf("%s could not be deleted: %w", cli.Plural(left, "recording"),
			errors.Join(p.Why, forgotten.Why)), "the next run tries again")
		return nil
	}
	j.w.Keep(limit)
	return nil
}

// limitDeleted is limitErased for recordings: above the limit, it deletes no recordings and erases no calls.
func (j *job) limitDeleted(ctx context.Context, before *time.Time, keep string) error {
	stored := j.w.Snapshot().Manifest.Recordings().States[schema.RecordingStored]
	if before.IsZero() || stored == 0 || j.Yes {
		return nil
	}
	var aged int64
	for r, err := range j.w.RecordingsBefore(ctx, *before) {
		if err != nil {
			return err
		}
		if r.Known.State == schema.RecordingStored {
			aged++
		}
	}
	if j.tooMany(keep, "recordings", aged, stored, *before) {
		*before = time.Time{}
	}
	return nil
}
