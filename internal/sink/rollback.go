package sink

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
)

// Retained returns the snapshots of the warehouse at root up to the current
// one, oldest first. Those that vanish meanwhile are left out.
func Retained(root string) ([]*layout.Snapshot, error) {
	current, err := layout.Current(root)
	if err != nil {
		return nil, err
	}
	return retained(Disk{}, root, current)
}

func retained(fsys FS, root string, current *layout.Snapshot) ([]*layout.Snapshot, error) {
	numbers, err := snapshotNumbers(fsys, root)
	if err != nil {
		return nil, err
	}
	var out []*layout.Snapshot
	for _, n := range numbers {
		if n >= current.Manifest.Snapshot {
			break
		}
		if n < current.Manifest.Oldest {
			continue // what was forgotten is still in it
		}
		s, err := readSnapshot(fsys, root, layout.SnapshotName(n))
		if isGone(err) {
			continue // a run removed it just now, or a crash while it was removed
		}
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return append(out, current), nil
}

// snapshotNumbers lists the snapshots' folders, lowest number first.
func snapshotNumbers(fsys FS, root string) ([]int64, error) {
	entries, err := fsys.ReadDir(filepath.Join(root, layout.SnapshotsName))
	if err != nil {
		return nil, fmt.Errorf("list the snapshots: %w", err)
	}
	var out []int64
	for _, e := range entries {
		if n, ok := layout.ParseSnapshotName(e.Name()); ok {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out, nil
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
// journal holds stays there. to 0 is the snapshot that Before returns.
func (w *Warehouse) Rollback(ctx context.Context, to int64, row func(target *layout.Snapshot) schema.Run) (*layout.Snapshot, error) {
	w.committing.Lock()
	defer w.committing.Unlock()
	c := w.newCommit()
	if c.old == nil {
		return nil, &NotRetainedError{Snapshot: to}
	}
	target, err := c.rollbackTarget(to)
	if err != nil {
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
	if c.b, err = newBuilder(c.fsys, c.root, now.Snapshot+1); err != nil {
		return nil, err
	}
	c.old, c.keeper, c.in = target, c.old, &intake{}
	snapshot, err := c.goBack(now, runs, row(target))
	if err != nil {
		c.b.discard()
		return nil, fmt.Errorf("roll back: %w", err)
	}
	w.mu.Lock()
	w.current = snapshot
	w.mu.Unlock()
	return target, retire(w.opts.FS, w.opts.Root, w.opts.Now())
}

func (c *commit) rollbackTarget(to int64) (*layout.Snapshot, error) {
	all, err := retained(c.fsys, c.root, c.old)
	if err != nil {
		return nil, err
	}
	if to == 0 {
		return Before(all)
	}
	e := &NotRetainedError{Snapshot: to}
	for _, s := range all[:len(all)-1] {
		if s.Manifest.Snapshot == to {
			return s, nil
		}
		e.Have = append(e.Have, s.Manifest.Snapshot)
	}
	return nil, e
}

// goBack builds and publishes the snapshot after now out of c.old.
func (c *commit) goBack(now *layout.Manifest, runs []schema.Run, run schema.Run) (*layout.Snapshot, error) {
	if err := c.linkRest(func(f *layout.File) bool { return f.Table == schema.Runs.Name }); err != nil {
		return nil, err
	}
	if err := c.writeRuns(runs, run); err != nil {
		return nil, err
	}
	m := c.manifest(nil, run.ID)
	m.Snapshot, m.Journal = now.Snapshot+1, now.Journal
	return c.b.publish(m)
}
