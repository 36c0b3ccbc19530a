package sink

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"syscall"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
	"callhouse/internal/sink/disk"
	"callhouse/internal/sink/repair"
	"callhouse/internal/sink/snapshot"
	"callhouse/internal/sink/verify"
)

// Repair verifies the current snapshot and, if it is damaged, commits one that holds only what can
// be proven: see [repair.Plan] for the rest. The next listing fetches the lost data again. row
// makes a row of the table runs from the plan. With dry it changes nothing. The warehouse must be
// opened with Options.Adopt: otherwise a lost link current or a damaged manifest prevents the
// opening.
//
// A fault that remains afterwards is a *StillDamagedError.
func (w *Warehouse) Repair(ctx context.Context, dry bool, row func(*repair.Plan) schema.Run,
	progress func(snapshot.Progress)) (*repair.Plan, error) {
	w.committing.Lock()
	defer w.committing.Unlock()
	s := w.Snapshot()
	if s == nil {
		return nil, fmt.Errorf("repair: %w", layout.ErrNoWarehouse)
	}
	plan, err := w.examine(ctx, s, progress)
	if err != nil || dry || !plan.Damaged() {
		return plan, err
	}
	if err := w.mend(ctx, plan, row(plan)); err != nil {
		return nil, fmt.Errorf("repair: %w", err)
	}
	found, err := verify.CheckRun(ctx, w.opts.FS, w.Snapshot(), s, w.opts.RunID, w.forgotten)
	if err == nil && found.Count > 0 {
		err = &StillDamagedError{Problems: found.Problems}
	}
	return plan, err
}

// StillDamagedError means that a repair did not fix the warehouse.
type StillDamagedError struct{ Problems []verify.Problem }

func (e *StillDamagedError) Error() string {
	return fmt.Sprintf("the warehouse is still damaged: %s", e.Problems[0])
}

// Hint returns advice for the operator.
func (e *StillDamagedError) Hint() string {
	return "extract verify lists every problem; restore the warehouse from a backup"
}

// examine plans the repair of a snapshot.
func (w *Warehouse) examine(ctx context.Context, s *layout.Snapshot, progress func(snapshot.Progress)) (*repair.Plan, error) {
	older, err := snapshot.ListRetained(w.opts.FS, w.opts.Root, s)
	if err != nil {
		return nil, fmt.Errorf("repair: %w", err)
	}
	plan, err := repair.Examine(ctx, w.opts.FS, s, older, w.forgotten,
		snapshot.Counter(progress, "verified", s.Manifest.Rows(schema.Calls.Name)))
	if err != nil {
		return nil, fmt.Errorf("repair: %w", err)
	}
	if _, err := snapshot.Current(w.opts.FS, w.opts.Root); err != nil { // it was opened at an older one
		plan.Rest = append(plan.Rest, verify.Problem{Kind: "current", Path: layout.CurrentName, What: err.Error()})
	}
	for _, path := range w.strange {
		plan.Rest = append(plan.Rest, verify.Problem{Kind: "journal", Path: path,
			What: "it is not part of the journal, but has the name of a part"})
	}
	if w.amnesia {
		plan.Sound.Manifest.Forgotten = nil
		plan.Rest = append(plan.Rest, verify.Problem{Kind: "tombstones", Path: s.Manifest.Forgotten.Path,
			What: "the record of forgotten calls is damaged and discarded"})
	}
	return plan, nil
}

// mend commits the result of a plan.
func (w *Warehouse) mend(ctx context.Context, plan *repair.Plan, run schema.Run) error {
	if err := w.clearCurrent(); err != nil {
		return err
	}
	for _, path := range w.strange {
		if err := w.setAside(path); err != nil {
			return err
		}
	}
	w.strange = nil
	if n, err := snapshot.DropUnreadablePins(w.opts.FS, w.opts.Root); err != nil {
		return err
	} else if n > 0 {
		w.notice("%d pins were unreadable and removed; query catalog pins a catalog again when it writes it", n)
	}
	// A killed run may have listed the data that is now lost, and recorded it as covered.
	for _, run := range w.Leftover() {
		w.lostRun(run)
	}
	made, err := w.base().Mend(ctx, &plan.Mending, run)
	if err != nil {
		return err
	}
	w.proofs = new(snapshot.Proofs)
	w.noteRecorded(run)
	return w.goOn(made.Snapshot, nil)
}

// clearCurrent moves aside a folder that is in place of the link current, as after a copy that
// followed links.
func (w *Warehouse) clearCurrent() error {
	path := filepath.Join(w.opts.Root, layout.CurrentName)
	info, err := w.opts.FS.Lstat(path)
	if disk.IsGone(err) || err == nil && !info.IsDir() {
		return nil
	}
	return errors.Join(err, w.setAside(path))
}

// setAside moves a foreign object out of the way. Nothing in it is lost.
func (w *Warehouse) setAside(path string) error {
	away := filepath.Join(w.opts.Root, layout.AsidePrefix+disk.NewID())
	err := w.opts.FS.Rename(path, away)
	if errors.Is(err, syscall.EXDEV) { // a lower layer of overlayfs
		return fmt.Errorf("set %s aside: this file system cannot rename it: move it out of the warehouse and repeat: %w", path, err)
	}
	if err != nil {
		return fmt.Errorf("set %s aside: %w", filepath.Base(path), err)
	}
	w.notice("%s was moved to %s, which may be removed", path, filepath.Base(away))
	return nil
}
