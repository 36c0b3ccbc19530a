package sink

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
	"callhouse/internal/sink/disk"
)

// Commit commits everything put so far. It calls row once, with the totals of the run including
// this commit, for the run's row of the table runs. On failure the last snapshot and the journal
// stay.
func (w *Warehouse) Commit(ctx context.Context, row func(total Stats, commits int64) schema.Run) error {
	return w.commit(ctx, row, nil)
}

// Finish is Commit for the end of an uninterrupted run. It also compacts months that are over and
// settled, a few per night. If an interrupt or a full disk prevents that, it commits without
// compacting.
func (w *Warehouse) Finish(ctx context.Context, row func(total Stats, commits int64) schema.Run) error {
	err := w.commit(ctx, row, nightlyMonths)
	if err != nil && (ctx.Err() != nil || disk.IsNoSpace(err)) {
		return w.Commit(context.WithoutCancel(ctx), row)
	}
	return err
}

// commit makes a commit of this run.
func (w *Warehouse) commit(ctx context.Context, row func(Stats, int64) schema.Run, compact monthsToCompact) error {
	w.committing.Lock()
	defer w.committing.Unlock()
	ref, ok, err := w.journal.Seal()
	if err != nil {
		return err
	}
	w.mu.Lock()
	if ok {
		w.sealed = append(w.sealed, ref)
	}
	refs, before, commits := slices.Clone(w.sealed), w.total, w.commits+1
	w.mu.Unlock()
	m := w.maker(w.reader())
	if m.in, err = w.readIntake(refs); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	m.masker, m.settles, m.links = w.masker, true, m.stamp.Archive != ""
	if !w.opts.KeepFrom.IsZero() {
		m.keepFrom = w.opts.KeepFrom.UnixMilli()
	}
	var wrote schema.Run
	made, err := m.merge(ctx, compact, refs, func(s Stats) schema.Run {
		all := before.Add(s)
		all.Redacted = w.Redacted()
		wrote = row(all, commits)
		return wrote
	})
	if err = errors.Join(err, m.in.frames.Close()); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	w.mu.Lock()
	w.total, w.commits = before.Add(made.Stats), commits
	if w.sealed = w.sealed[len(refs):]; len(w.sealed) == 0 {
		w.leftover = nil
	}
	w.mu.Unlock()
	for _, l := range made.Broken {
		w.lostJournal(l)
	}
	for _, name := range made.Unconfirmed {
		w.notice("the service's list of %s is empty, but was not before: known objects are kept until another run also finds it empty", name)
	}
	w.verified.Add(made.Made) // only those it wrote: linked ones are not verified
	w.noteRecorded(wrote)
	return w.switchTo(made.Snapshot, refs)
}

// Record commits only the run's row of the table runs, for a run that cannot commit its data, or
// whose row was wrong. Fetched data stays in the journal. If even the row cannot be written, for
// example on a full disk, the state keeps a note of the run, and the next run writes the row,
// without counts.
func (w *Warehouse) Record(ctx context.Context, run schema.Run) error {
	made, err := w.maintain(func(m *maker) (*commitResult, error) {
		return m.restore(ctx, func(s Stats) schema.Run {
			run.CallsPending, run.Unverified = s.Due, schema.Some(s.Unverified)
			return run
		})
	})
	if made == nil {
		cause := err
		if run.Error != "" {
			cause = errors.New(run.Error)
		}
		return errors.Join(err, w.noteUnrecorded(cause, run.Problem))
	}
	w.noteRecorded(run)
	return err
}

// Unrecorded marks this run as one without a row.
func (w *Warehouse) Unrecorded() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.recorded = true
}

// NoteFirst records in the state why a run that made no warehouse has failed. Only the last one is
// kept.
func (w *Warehouse) NoteFirst(why, problem string) error {
	return errors.Join(w.lock.SetLost(nil), w.noteUnrecorded(errors.New(why), problem))
}

// noteUnrecorded records in the state that this run has no row, and why.
func (w *Warehouse) noteUnrecorded(cause error, problem string) error {
	if !w.opts.Records || w.recorded {
		return nil
	}
	text := "the process exited without a report"
	if cause != nil {
		text = cause.Error()
	}
	w.recorded = true // recorded as well as possible
	return w.lock.SetLost(append(w.lock.Lost(), disk.Lost{RunID: w.opts.RunID, Error: text, Problem: problem}))
}

// noteRecorded records that a commit wrote this run's row, together with the missing rows.
func (w *Warehouse) noteRecorded(run schema.Run) {
	w.mu.Lock()
	w.unrecorded = nil
	w.recorded = w.recorded || run.ID == w.opts.RunID && run.Outcome != schema.OutcomeRunning && run.Outcome != schema.OutcomeFollowing
	w.mu.Unlock()
	if len(w.lock.Lost()) > 0 {
		_ = w.lock.SetLost(nil) // an existing row is not written twice
	}
}

// Runs returns the rows of the table runs as of the last commit.
func (w *Warehouse) Runs() ([]schema.Run, error) {
	return w.reader().Runs()
}

// Recover commits the records that killed runs left in the journal, each under its own run's id.
// The last of those runs gets a row: killed, with counts that may be too low. A run that failed
// before it could commit keeps its outcome, and gets its counts. None of this counts towards the
// present run.
func (w *Warehouse) Recover(ctx context.Context) (Stats, error) {
	killed := w.Leftover()
	if len(killed) == 0 {
		return Stats{}, nil
	}
	id := killed[len(killed)-1]
	runs, err := w.Runs()
	if err != nil {
		return Stats{}, err
	}
	err = w.Commit(ctx, func(s Stats, _ int64) schema.Run {
		runs := closeRuns(runs, w.unrecorded, "")
		i := slices.IndexFunc(runs, func(r schema.Run) bool { return r.ID == id })
		run := schema.Run{ID: id}
		if i >= 0 {
			run = runs[i]
		} else if t, ok := layout.ParseRunID(id); ok {
			run.StartedAt = t.UnixMilli()
		}
		if run.Outcome == schema.OutcomeFollowing {
			run.Outcome = schema.OutcomeFollowed
		}
		if run.Outcome == "" || run.Outcome == schema.OutcomeKilled {
			run.Outcome = schema.OutcomeKilled
			run.Error = "killed; the next run committed its fetched data"
		}
		run.Requests += s.Details
		run.DetailRequests += s.Details
		run.CallsMissing += s.Missing
		run.Commits++
		s.AddTo(&run)
		return run
	})
	if err != nil {
		return Stats{}, fmt.Errorf("commit the journal of killed runs: %w", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	did := w.total
	w.total, w.commits = Stats{}, 0
	return did, nil
}
