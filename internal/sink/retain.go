package sink

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"callhouse/internal/layout"
)

// Old snapshots stay for keepAge, and the last keepSnapshots in any case, so
// that no reader loses the files that it has resolved.
const (
	keepAge       = 24 * time.Hour
	keepSnapshots = 3
)

// readSnapshot reads a snapshot's manifest through the file layer.
func readSnapshot(fsys FS, root, name string) (*layout.Snapshot, error) {
	return layout.OpenSnapshot(files{fsys}, root, name)
}

// readCurrent returns the committed snapshot, or nil when there is none yet.
func readCurrent(fsys FS, root string) (*layout.Snapshot, error) {
	s, err := layout.FindCurrent(files{fsys}, root)
	if errors.Is(err, layout.ErrNoWarehouse) {
		return nil, nil
	}
	return s, err
}

func snapshotNumbers(fsys FS, root string) ([]int64, error) {
	return layout.SnapshotNumbers(files{fsys}, root)
}

// nextNumber returns the number of the snapshot that is to be made: above all
// that are there, also those that a crash kept from becoming the current one.
func nextNumber(fsys FS, root string) (int64, error) {
	numbers, err := snapshotNumbers(fsys, root)
	if err != nil || len(numbers) == 0 {
		return 1, err
	}
	return numbers[len(numbers)-1] + 1, nil
}

// sweep removes what is of no use for certain: names that only a commit in the
// making has, and the snapshots that held forgotten calls, if the checksum of the
// manifest that says so is right. It follows no link.
func sweep(fsys FS, root string, current *layout.Snapshot) error {
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
				err = removeTree(fsys, path)
			case named && e.IsDir() && current != nil && current.Manifest.Sealed() && n < current.Manifest.Oldest:
				err = removeSnapshot(fsys, path)
			}
			if err != nil {
				return fmt.Errorf("sweep the warehouse: %w", err)
			}
		}
	}
	return nil
}

// retire removes the snapshots that nobody can be reading any more and that no
// catalog points at. current has just been committed. The last ones that can be
// read stay, and while the current one is not complete all do.
func retire(fsys FS, root string, current *layout.Snapshot, now time.Time) error {
	numbers, err := snapshotNumbers(fsys, root)
	if err != nil || len(numbers) <= keepSnapshots {
		return err
	}
	pins, all, err := pinned(fsys, root, now)
	if err != nil || all {
		return err
	}
	if err := layout.Complete(files{fsys}, current); err != nil {
		return fmt.Errorf("look at the snapshot that was committed: %w", err)
	}
	// A snapshot is superseded when the next one that can be read was committed; what
	// was superseded less than keepAge ago may still be open somewhere.
	var next *layout.Snapshot
	readable := 0
	var gone []string
	for _, n := range slices.Backward(numbers) {
		s, err := readSnapshot(fsys, root, layout.SnapshotName(n))
		superseded := next != nil && now.Sub(next.Manifest.CommittedAt) >= keepAge
		if superseded && readable >= keepSnapshots && !pins[n] && n != current.Manifest.Snapshot {
			dir := filepath.Join(root, layout.SnapshotsName, layout.SnapshotName(n))
			if info, err := fsys.Lstat(dir); err == nil && info.IsDir() {
				gone = append(gone, dir)
			}
		}
		if err == nil {
			next = s
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
