package sink

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"callhouse/internal/layout"
	"callhouse/internal/sink/disk"
)

// Old snapshots are retained for keepAge, and the last keepSnapshots in any case, so that readers
// do not lose files that they have resolved.
const (
	keepAge       = 24 * time.Hour
	keepSnapshots = 3
)

// currentSnapshot returns the committed snapshot, or nil if there is none yet.
func currentSnapshot(fsys disk.FS, root string) (*layout.Snapshot, error) {
	s, err := layout.FindCurrent(fsys, root)
	if errors.Is(err, layout.ErrNoWarehouse) {
		return nil, nil
	}
	return s, err
}

// nextNumber returns the number of the next snapshot. It exceeds all existing ones, including those
// that never became current because of a crash.
func nextNumber(fsys disk.FS, root string) (int64, error) {
	numbers, err := layout.SnapshotNumbers(fsys, root)
	if err != nil || len(numbers) == 0 {
		return 1, err
	}
	return numbers[len(numbers)-1] + 1, nil
}

// sweep removes files that are certainly useless: names that only an unfinished commit has, and
// snapshots with forgotten calls, if the manifest that lists them has the right checksum. It
// follows no link.
func sweep(fsys disk.FS, root string, current *layout.Snapshot) error {
	for _, dir := range []string{root, filepath.Join(root, layout.SnapshotsName)} {
		entries, err := fsys.ReadDir(dir)
		if err != nil {
			return fmt.Errorf("sweep the warehouse: %w", err)
		}
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			n, named := layout.ParseSnapshotName(e.Name())
			switch {
			case layout.IsTempName(e.Name()) && !e.IsDir():
				err = fsys.Remove(path)
			case dir == root:
			case layout.IsTempName(e.Name()):
				err = disk.RemoveTree(fsys, path)
			case named && e.IsDir() && current != nil && n < current.Manifest.Oldest:
				err = removeSnapshot(fsys, path)
			}
			if err != nil {
				return fmt.Errorf("sweep the warehouse: %w", err)
			}
		}
	}
	return nil
}

// retirer removes superseded snapshots. It caches when they were committed, since a warehouse that
// is followed has hundreds.
type retirer struct {
	committed map[int64]time.Time // by number; zero: unreadable
}

// of returns when a snapshot was committed; false if it cannot be read.
func (r *retirer) of(fsys disk.FS, root string, n int64) (time.Time, bool) {
	at, known := r.committed[n]
	if !known {
		if s, err := layout.OpenSnapshot(fsys, root, n); err == nil {
			at = s.Manifest.CommittedAt
		}
		if r.committed == nil {
			r.committed = map[int64]time.Time{}
		}
		r.committed[n] = at
	}
	return at, !at.IsZero()
}

// Retire removes the snapshots that no reader can still be using and that no catalog needs. current
// has just been committed. The last readable ones stay, and all of them stay while the current one
// is incomplete.
func (r *retirer) Retire(fsys disk.FS, root string, current *layout.Snapshot, now time.Time) error {
	numbers, err := layout.SnapshotNumbers(fsys, root)
	if err != nil || len(numbers) <= keepSnapshots {
		return err
	}
	pins, all, err := pinned(fsys, root, now)
	if err != nil || all {
		return err
	}
	if err := layout.Complete(fsys, current); err != nil {
		return fmt.Errorf("check the committed snapshot: %w", err)
	}
	// A snapshot is superseded by the commit of the next readable one. One superseded less than
	// keepAge ago may still be open.
	var next time.Time // of the commit that superseded it; zero: none has
	readable := 0
	var gone []string
	for _, n := range slices.Backward(numbers) {
		at, intact := r.of(fsys, root, n)
		superseded := !next.IsZero() && now.Sub(next) >= keepAge
		if superseded && readable >= keepSnapshots && !pins[n] && n != current.Manifest.Snapshot {
			dir := filepath.Join(root, layout.SnapshotsName, layout.SnapshotName(n))
			info, err := fsys.Lstat(dir)
			if err == nil && info.IsDir() && !layout.InUse(filepath.Join(dir, layout.ManifestName)) {
				gone = append(gone, dir)
			}
		}
		if intact {
			next = at
			readable++
		}
	}
	for _, dir := range slices.Backward(gone) { // the oldest first
		if err := removeSnapshot(fsys, dir); err != nil {
			return fmt.Errorf("remove snapshot %s: %w", filepath.Base(dir), err)
		}
	}
	return nil
}

// removeSnapshot removes a snapshot, but never the current one. It removes the name first, so that the
// remains after a crash do not look like a damaged snapshot. A file system in layers (overlayfs)
// cannot rename a folder of a lower one: then the manifest goes first, without which a folder is no
// snapshot.
func removeSnapshot(fsys disk.FS, dir string) error {
	snapshots := filepath.Dir(dir)
	if target, err := fsys.Readlink(filepath.Join(filepath.Dir(snapshots), layout.CurrentName)); err == nil &&
		filepath.Base(target) == filepath.Base(dir) {
		return fmt.Errorf("%s is the current snapshot", dir)
	}
	away := filepath.Join(snapshots, layout.TempName(filepath.Base(dir), disk.NewID()))
	err := fsys.Rename(dir, away)
	switch {
	case errors.Is(err, syscall.EXDEV):
		if err := fsys.Remove(filepath.Join(dir, layout.ManifestName)); err != nil && !disk.IsGone(err) {
			return err
		}
		if err := fsys.SyncDir(dir); err != nil {
			return err
		}
		return disk.RemoveTree(fsys, dir)
	case err != nil:
		return err
	}
	if err := fsys.SyncDir(snapshots); err != nil {
		return err
	}
	return disk.RemoveTree(fsys, away)
}

// newestReadable returns the newest snapshot with an intact manifest and, if possible, all its files.
func newestReadable(fsys disk.FS, root string) (*layout.Snapshot, error) {
	numbers, err := layout.SnapshotNumbers(fsys, root)
	if err != nil {
		return nil, err
	}
	if s := layout.NewestComplete(fsys, root, numbers); s != nil {
		return s, nil
	}
	all, err := listRetained(fsys, root, nil)
	if err != nil || len(all) == 0 {
		return nil, cmp.Or(err, error(&NotRetainedError{}))
	}
	return all[len(all)-1], nil
}

// Retained is listRetained of the warehouse at root.
func Retained(root string, current *layout.Snapshot) ([]*layout.Snapshot, error) {
	fsys, err := disk.OpenToRead(root)
	if err != nil {
		return nil, err
	}
	return listRetained(fsys, root, current)
}

// listRetained returns the snapshots of a warehouse up to the current one, oldest first; all of them
// if none is current. It leaves out snapshots that disappear meanwhile or have a damaged manifest.
func listRetained(fsys disk.FS, root string, current *layout.Snapshot) (out []*layout.Snapshot, err error) {
	numbers, err := layout.SnapshotNumbers(fsys, root)
	if err != nil {
		return nil, err
	}
	for _, n := range numbers {
		if current != nil && n >= current.Manifest.Snapshot {
			break
		}
		if current != nil && n < current.Manifest.Oldest {
			continue // it still holds forgotten calls
		}
		if s, err := layout.OpenSnapshot(fsys, root, n); err == nil {
			out = append(out, s)
		}
	}
	if current != nil {
		out = append(out, current)
	}
	return out, nil
}

// NotRetainedError means that there is no snapshot to go back to.
type NotRetainedError struct {
	Snapshot int64 // 0: any
}

func (e *NotRetainedError) Error() string {
	if e.Snapshot == 0 {
		return "no older snapshot to return to"
	}
	return fmt.Sprintf("snapshot %d does not exist", e.Snapshot)
}
