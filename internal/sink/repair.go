package sink

import (
	"context"
	"fmt"
	"path/filepath"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
)

// Repair verifies the current snapshot and, if it is damaged, commits one that holds only what can
// be proven: see [RepairPlan] for the rest. The next listing fetches the lost data again. row
// makes a row of the table runs from the plan. With dry it changes nothing. The warehouse must be
// opened with Options.Adopt: otherwise a lost link current or a damaged manifest prevents the
// opening.
//
// A fault that remains afterwards is a *StillDamagedError.
func (w *Warehouse) Repair(ctx context.Context, dry bool, row func(*RepairPlan) schema.Run,
	progress func(Progress)) (*RepairPlan, error) {
	w.committing.Lock()
	defer w.committing.Unlock()
	s := w.Snapshot()
	if s == nil {
		return nil, fmt.Errorf("repair: %w", layout.ErrNoWarehouse)
	}
	if err := w.strangers(); err != nil {
		return nil, err
	}
	plan, err := w.examine(ctx, s, progress)
	if err != nil || dry || !plan.Damaged() {
		return plan, err
	}
	if err := w.mend(ctx, plan, row(plan)); err != nil {
		return nil, fmt.Errorf("repair: %w", err)
	}
	found, err := checkRun(ctx, w.opts.FS, w.Snapshot(), s, w.opts.RunID, w.forgotten)
	if err == nil && found.Count > 0 {
		err = &StillDamagedError{Problems: found.Problems}
	}
	return plan, err
}

// StillDamagedError means that a repair did not fix the warehouse.
type StillDamagedError struct{ Problems []Problem }

func (e *StillDamagedError) Error() string {
	return fmt.Sprintf("the warehouse is still damaged: %s", e.Problems[0])
}

// Hint returns advice for the operator.
func (e *StillDamagedError) Hint() string {
	return "extract verify lists every problem; restore the warehouse from a backup"
}

// examine plans the repair of a snapshot.
func (w *Warehouse) examine(ctx context.Context, s *layout.Snapshot, progress func(Progress)) (*RepairPlan, error) {
	older, err := listRetained(w.opts.FS, w.opts.Root, s)
	if err != nil {
		return nil, fmt.Errorf("repair: %w", err)
	}
	plan, err := planRepair(ctx, w.opts.FS, s, older, w.forgotten,
		counter(progress, "verified", s.Manifest.Rows(schema.Calls.Name)))
	if err != nil {
		return nil, fmt.Errorf("repair: %w", err)
	}
	if _, err := currentSnapshot(w.opts.FS, w.opts.Root); err != nil { // it was opened at an older one
		plan.Rest = append(plan.Rest, Problem{Kind: "current", Path: layout.CurrentName, What: err.Error()})
	}
	return plan, nil
}

// mend commits the result of a plan.
func (w *Warehouse) mend(ctx context.Context, plan *RepairPlan, run schema.Run) error {
	// A killed run may have listed the data that is now lost, and recorded it as covered.
	for _, run := range w.Leftover() {
		w.lostRun(run)
	}
	made, err := w.maker(NewReader(w.opts.FS, plan.Sound, new(proofs))).mend(ctx, &plan.mending, run)
	if err != nil {
		return err
	}
	w.proofs = new(proofs)
	w.noteRecorded(run)
	return w.goOn(made.Snapshot, nil)
}

// strangers returns an error for objects in the place of a part of the warehouse, which a repair
// neither removes nor overwrites.
func (w *Warehouse) strangers() error {
	current := filepath.Join(w.opts.Root, layout.CurrentName)
	paths := w.strange
	if info, err := w.opts.FS.Lstat(current); err == nil && info.IsDir() {
		paths = append(paths, current)
	}
	if len(paths) > 0 {
		return &StrangerError{paths[0]}
	}
	return nil
}

// StrangerError means that something else is in the place of a part of the warehouse.
type StrangerError struct{ Path string }

func (e *StrangerError) Error() string {
	return fmt.Sprintf("%s is not part of the warehouse, but has the name of a part", e.Path)
}

// Hint returns advice for the operator.
func (e *StrangerError) Hint() string { return "move it out of the warehouse, and repeat the command" }
