package sink

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
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
	dir := filepath.Join(root, layout.SnapshotsName, name)
	path := filepath.Join(dir, layout.ManifestName)
	raw, err := readFile(fsys, path)
	if err != nil {
		return nil, fmt.Errorf("read the manifest of snapshot %s: %w", name, err)
	}
	m, err := layout.ParseManifest(raw)
	if err != nil {
		var v *layout.VersionError
		if errors.As(err, &v) {
			return nil, err
		}
		return nil, &DamageError{Path: path, What: err.Error()}
	}
	return &layout.Snapshot{Dir: dir, Manifest: m}, nil
}

// readCurrent returns the committed snapshot, or nil when there is none yet.
func readCurrent(fsys FS, root string) (*layout.Snapshot, error) {
	target, err := fsys.Readlink(filepath.Join(root, layout.CurrentName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("resolve the current snapshot: %w", err)
	}
	name := filepath.Base(target)
	if _, ok := layout.ParseSnapshotName(name); !ok {
		return nil, &DamageError{Path: filepath.Join(root, layout.CurrentName), What: fmt.Sprintf("it points at %q", target)}
	}
	return readSnapshot(fsys, root, name)
}

// sweep removes what a crash left: names that only a commit in the making has,
// snapshots that were complete but never became current, and those that the
// current one says must not be any more.
func sweep(fsys FS, root string, current *layout.Snapshot) error {
	top, err := fsys.ReadDir(root)
	if err != nil {
		return fmt.Errorf("sweep the warehouse: %w", err)
	}
	for _, e := range top {
		if layout.IsTempName(e.Name()) && !e.IsDir() {
			if err := fsys.Remove(filepath.Join(root, e.Name())); err != nil {
				return fmt.Errorf("sweep the warehouse: %w", err)
			}
		}
	}
	var newest, oldest int64
	if current != nil {
		newest, oldest = current.Manifest.Snapshot, current.Manifest.Oldest
	}
	snapshots := filepath.Join(root, layout.SnapshotsName)
	entries, err := fsys.ReadDir(snapshots)
	if err != nil {
		return fmt.Errorf("sweep the warehouse: %w", err)
	}
	for _, e := range entries {
		n, named := layout.ParseSnapshotName(e.Name())
		if layout.IsTempName(e.Name()) || named && (n > newest || n < oldest) {
			if err := removeTree(fsys, filepath.Join(snapshots, e.Name()), layout.ManifestName); err != nil {
				return fmt.Errorf("sweep the warehouse: %w", err)
			}
		}
	}
	return nil
}

// retire removes the snapshots that nobody can be reading any more and that no
// catalog points at.
func retire(fsys FS, root string, now time.Time) error {
	numbers, err := snapshotNumbers(fsys, root)
	if err != nil || len(numbers) <= keepSnapshots {
		return err
	}
	pins, all, err := pinned(fsys, root, now)
	if err != nil || all {
		return err
	}
	// A snapshot is superseded when the next one was committed; what was superseded
	// less than keepAge ago may still be open somewhere.
	for i := 0; i+keepSnapshots < len(numbers); i++ {
		if pins[numbers[i]] {
			continue
		}
		next, err := readSnapshot(fsys, root, layout.SnapshotName(numbers[i+1]))
		if err == nil && now.Sub(next.Manifest.CommittedAt) < keepAge {
			break
		}
		dir := filepath.Join(root, layout.SnapshotsName, layout.SnapshotName(numbers[i]))
		if err := removeTree(fsys, dir, layout.ManifestName); err != nil {
			return fmt.Errorf("remove snapshot %d: %w", numbers[i], err)
		}
	}
	return nil
}
