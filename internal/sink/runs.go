package sink

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
	"callhouse/internal/sink/commit"
	"callhouse/internal/sink/disk"
)

// Record commits only the run's row of the table runs: for a run that cannot commit its data, or
// whose row was wrong. Fetched data stays in the journal. If even the row cannot be written, as on
// a full disk, the lock file keeps a note of the run, and the next run writes its row, without
// counts.
func (w *Warehouse) Record(ctx context.Context, run schema.Run) error {
	w.committing.Lock()
	defer w.committing.Unlock()
	c := w.newCommit()
	c.AsIs = true
	made, err := c.Run(ctx, w.opts.RunID, new(commit.Intake), nil, func(s commit.Stats) schema.Run {
		run.CallsPending = s.Due
		return run
	})
	if err != nil {
		cause := err
		if run.Error != "" {
			cause = errors.New(run.Error)
		}
		return errors.Join(err, w.noteUnrecorded(cause, run.Problem))
	}
	w.noteRecorded(run)
	return w.goOn(made, nil)
}

// Unrecorded means that this run gets no row.
func (w *Warehouse) Unrecorded() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.recorded = true
}

// noteUnrecorded records in the lock file that this run has no row, and why.
func (w *Warehouse) noteUnrecorded(cause error, problem string) error {
	if !w.opts.Records || w.recorded {
		return nil
	}
	text := "it ended without a word"
	if cause != nil {
		text = cause.Error()
	}
	w.recorded = true // as far as possible
	return w.lock.SetLost(append(w.lock.Lost(), disk.Lost{RunID: w.opts.RunID, Error: text, Problem: problem}))
}

// noteRecorded records that a commit wrote a row, and the missing ones with it.
func (w *Warehouse) noteRecorded(run schema.Run) {
	w.mu.Lock()
	w.unrecorded = nil
	w.recorded = w.recorded || run.ID == w.opts.RunID && run.Outcome != schema.OutcomeRunning
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
// before it could commit keeps its outcome, and gets its counts. None of this counts for the
// present run.
func (w *Warehouse) Recover(ctx context.Context) (commit.Stats, error) {
	killed := w.Leftover()
	if len(killed) == 0 {
		return commit.Stats{}, nil
	}
	id := killed[len(killed)-1]
	runs, err := w.Runs()
	if err != nil {
		return commit.Stats{}, err
	}
	err = w.Commit(ctx, func(s commit.Stats, _ int64) schema.Run {
		runs := commit.CloseRuns(runs, w.unrecorded, "")
		i := slices.IndexFunc(runs, func(r schema.Run) bool { return r.ID == id })
		run := schema.Run{ID: id}
		if i >= 0 {
			run = runs[i]
		} else if t, ok := layout.ParseRunID(id); ok {
			run.StartedAt = t.UnixMilli()
		}
		if run.Outcome == "" || run.Outcome == schema.OutcomeKilled {
			run.Outcome = schema.OutcomeKilled
			run.Error = "killed; what it had fetched was committed by the next run"
		}
		run.Requests += s.Details
		run.DetailRequests += s.Details
		run.CallsMissing += s.Missing
		run.Commits++
		s.AddTo(&run)
		return run
	})
	if err != nil {
		return commit.Stats{}, fmt.Errorf("take in what killed runs left: %w", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	did := w.total
	w.total, w.commits = commit.Stats{}, 0
	return did, nil
}
