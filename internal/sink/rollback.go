package sink

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
)

// Retained returns the snapshots of the warehouse at root up to the current
// one, oldest first; all of them, where none is the current one. Those that vanish meanwhile, or whose manifest is damaged, are
// left out.
func Retained(root string) ([]*layout.Snapshot, error) {
	disk, err := openToRead(root)
	if err != nil {
		return nil, err
	}
	current, err := readCurrent(disk, root)
	var lost *layout.CurrentError
	var damage *DamageError
	if err != nil && !errors.As(err, &lost) && !errors.As(err, &damage) {
		return nil, err
	}
	all, _, err := retained(disk, root, current)
	return all, err
}

// retained is Retained on a file system. It passes over snapshots that are
// damaged, and returns the first one's damage.
func retained(fsys FS, root string, current *layout.Snapshot) (out []*layout.Snapshot, damage, err error) {
	numbers, err := snapshotNumbers(fsys, root)
	if err != nil {
		return nil, nil, err
	}
	for _, n := range numbers {
		if current != nil && n >= current.Manifest.Snapshot {
			break
		}
		if current != nil && n < current.Manifest.Oldest {
			continue // what was forgotten is still in it
		}
		s, err := readSnapshot(fsys, root, layout.SnapshotName(n))
		if isGone(err) {
			continue // a run removed it just now, or a crash while it was removed
		}
		if err != nil {
			damage = cmp.Or(damage, err)
			continue
		}
		out = append(out, s)
	}
	if current != nil {
		out = append(out, current)
	}
	return out, damage, nil
}

// NotRetainedError says that there is no snapshot to go back to.
type NotRetainedError struct {
	Snapshot int64 // 0: any
	Have     []int64
}

func (e *NotRetainedError) Error() string {
	if e.Snapshot == 0 {
		return "no older snapshot is left to go back to"
	}
	return fmt.Sprintf("snapshot %d is not there to go back to", e.Snapshot)
}

// Before returns the last of the snapshots that another run committed than the
// current one: where a rollback goes that is not told where to.
func Before(snapshots []*layout.Snapshot) (*layout.Snapshot, error) {
	current := snapshots[len(snapshots)-1]
	for _, s := range slices.Backward(snapshots) {
		if s.Manifest.RunID != current.Manifest.RunID {
			return s, nil
		}
	}
	return nil, &NotRetainedError{}
}

// Rollback commits a new snapshot that holds what an older one holds: hard links
// to its files, its coverage, and so what is due. The table runs keeps its
// rows, and gains row. What is forgotten stays forgotten, and what the
// journal holds stays there. to 0 is the snapshot that Before returns. Of a
// warehouse that was opened with Adopt, to must be said, and may be the newest.
func (w *Warehouse) Rollback(ctx context.Context, to int64, row func(target *layout.Snapshot) schema.Run) (*layout.Snapshot, error) {
	w.committing.Lock()
	defer w.committing.Unlock()
	c := w.newCommit()
	if c.old == nil {
		return nil, &NotRetainedError{Snapshot: to}
	}
	target, err := c.rollbackTarget(to, w.opts.Adopt)
	if err == nil {
		err = layout.Complete(files{c.fsys}, target)
	}
	if err != nil {
		return nil, err
	}
	if err := target.Manifest.Writable(); err != nil {
		return nil, err
	}
	runs, err := c.readRuns()
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	now := c.old.Manifest
	next, err := nextNumber(c.fsys, c.root)
	if err != nil {
		return nil, err
	}
	if c.b, err = newBuilder(c.fsys, c.root, next); err != nil {
		return nil, err
	}
	c.old, c.keeper, c.in = target, c.old, &intake{}
	snapshot, err := c.goBack(next, now, runs, row(target))
	if err != nil {
		c.b.discard()
		return nil, fmt.Errorf("roll back: %w", err)
	}
	w.mu.Lock()
	w.current = snapshot
	w.mu.Unlock()
	return target, retire(w.opts.FS, w.opts.Root, snapshot, w.opts.Now())
}

// rollbackTarget finds the snapshot to go back to; adopted says that none is the
// current one.
func (c *commit) rollbackTarget(to int64, adopted bool) (*layout.Snapshot, error) {
	all, _, err := retained(c.fsys, c.root, c.old)
	if err != nil {
		return nil, err
	}
	e := &NotRetainedError{Snapshot: to}
	switch {
	case to == 0 && !adopted:
		return Before(all)
	case !adopted:
		all = all[:len(all)-1]
	}
	for _, s := range all {
		if s.Manifest.Snapshot == to {
			return s, nil
		}
		e.Have = append(e.Have, s.Manifest.Snapshot)
	}
	return nil, e
}

// goBack builds and publishes the snapshot called number, which follows now, out of
// c.old.
func (c *commit) goBack(number int64, now *layout.Manifest, runs []schema.Run, run schema.Run) (*layout.Snapshot, error) {
	if err := c.linkRest(func(f *layout.File) bool { return f.Table == schema.Runs.Name }); err != nil {
		return nil, err
	}
	if err := c.writeRuns(c.withRun(runs, run)); err != nil {
		return nil, err
	}
	m := c.manifest(nil, run.ID)
	m.Snapshot, m.Journal = number, now.Journal
	return c.b.publish(m)
}
