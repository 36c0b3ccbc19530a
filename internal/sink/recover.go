package sink

import (
	"context"
	"fmt"
	"slices"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
)

// Runs returns the rows of the table runs as of the last commit.
func (w *Warehouse) Runs() ([]schema.Run, error) {
	c := &commit{fsys: w.opts.FS, root: w.opts.Root, old: w.Snapshot(), proofs: w.proofs}
	return c.readRuns()
}

// Recover commits what killed runs left in the journal, each record under its
// own run's id, and gives the last of those runs its row: killed, with the
// counts that its traces show, which may be lower than what it did. A run that
// failed before it could commit keeps its outcome, and has its counts. It does
// nothing when no run left anything. What it did does not count for this run.
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
		runs := closeLost(runs, w.lost, "")
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
		run.CallsNew += s.New
		run.CallsChanged += s.Changed
		run.CallsSettled += s.Settled
		run.CallsMissing += s.Missing
		run.CallsPending = s.Due
		run.Transcripts += s.Transcripts
		run.Turns += s.Turns
		run.Commits++
		return run
	})
	if err != nil {
		return Stats{}, fmt.Errorf("take in what killed runs left: %w", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	did := w.total
	w.total, w.commits = Stats{}, 0
	return did, nil
}
