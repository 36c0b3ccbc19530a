package sink

import (
	"context"
	"errors"
	"slices"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
)

// Record commits the run's row of the table runs and nothing else, for a run
// that cannot commit what it fetched, or whose row turned out to be wrong; what
// was fetched stays in the journal. Where not even the row can be written, as on
// a full disk, the lock keeps a note of the run, from which the next one makes
// its row, without counts.
func (w *Warehouse) Record(ctx context.Context, run schema.Run) error {
	w.committing.Lock()
	defer w.committing.Unlock()
	c := w.newCommit()
	c.asIs = true
	snapshot, err := c.run(ctx, w.opts.RunID, nil, func(s Stats) schema.Run {
		run.CallsPending = s.Due
		return run
	})
	if err != nil {
		cause := err
		if run.Error != "" {
			cause = errors.New(run.Error)
		}
		return errors.Join(err, w.lose(cause))
	}
	w.mu.Lock()
	w.current = snapshot
	w.mu.Unlock()
	w.found(run)
	return retire(w.opts.FS, w.opts.Root, snapshot, w.opts.Now())
}

// Unrecorded says that this run is to have no row, as if it had never been.
func (w *Warehouse) Unrecorded() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.recorded = true
}

// lose notes in the lock that this run has no row, and why.
func (w *Warehouse) lose(cause error) error {
	if !w.opts.Records || w.recorded {
		return nil
	}
	text := "it ended without a word"
	if cause != nil {
		text = cause.Error()
	}
	w.recorded = true // as far as it can be
	w.lock.holder.Lost = append(w.lock.holder.Lost, Lost{RunID: w.opts.RunID, Error: text})
	return w.lock.write()
}

// found says that a commit wrote a row, and those of the lost runs with it.
func (w *Warehouse) found(run schema.Run) {
	w.mu.Lock()
	w.lost = nil
	w.recorded = w.recorded || run.ID == w.opts.RunID && run.Outcome != schema.OutcomeRunning
	w.mu.Unlock()
	if len(w.lock.holder.Lost) > 0 {
		w.lock.holder.Lost = nil
		_ = w.lock.write() // a row that is there is not written twice
	}
}

// lostRuns makes the rows of runs that could not write them.
func lostRuns(lost []Lost) (out []schema.Run) {
	for _, l := range lost {
		started, ok := layout.ParseRunID(l.RunID)
		if !ok {
			continue
		}
		run := schema.Run{ID: l.RunID, StartedAt: started.UnixMilli(), Outcome: schema.OutcomeFailed, Error: l.Error}
		if l.Error == "" {
			run.Outcome, run.Error = schema.OutcomeKilled, "killed before it had committed anything"
		}
		out = append(out, run)
	}
	return out
}

// killedLater is the error of a run that was killed after a commit.
const killedLater = "killed; what it had committed stays"

// closeLost adds to the rows of runs those of the lost ones, and closes those of
// runs that never ended, but for the one that still goes on ("": none does): they
// were killed.
func closeLost(runs, lost []schema.Run, goesOn string) []schema.Run {
	for _, l := range lost {
		i := slices.IndexFunc(runs, func(r schema.Run) bool { return r.ID == l.ID })
		switch {
		case i < 0:
			runs = append(runs, l)
		case runs[i].Outcome == schema.OutcomeRunning:
			runs[i].Outcome, runs[i].Error = l.Outcome, l.Error
			if l.Outcome == schema.OutcomeKilled {
				runs[i].Error = killedLater
			}
		}
	}
	for i := range runs {
		if r := &runs[i]; r.Outcome == schema.OutcomeRunning && r.ID != goesOn {
			r.Outcome, r.Error = schema.OutcomeKilled, killedLater
		}
	}
	return runs
}
