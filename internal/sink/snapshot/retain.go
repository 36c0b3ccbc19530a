package snapshot

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"callhouse/internal/layout"
	"callhouse/internal/sink/disk"
)

// Old snapshots stay for keepAge, and the last keepSnapshots in any case, so
// that no reader loses the files that it has resolved.
const (
	keepAge       = 24 * time.Hour
	keepSnapshots = 3
)

// Complete fails if a file of a snapshot is not there.
func Complete(fsys disk.FS, s *layout.Snapshot) error { return layout.Complete(files{fsys}, s) }

// files is what finding a snapshot needs of a file system.
type files struct{ disk.FS }

func (f files) ReadFile(name string) ([]byte, error) { return disk.ReadFile(f.FS, name) }

// Open reads a snapshot's manifest through the file layer.
func Open(fsys disk.FS, root, name string) (*layout.Snapshot, error) {
	return layout.OpenSnapshot(files{fsys}, root, name)
}

// Current returns the committed snapshot, or nil when there is none yet.
func Current(fsys disk.FS, root string) (*layout.Snapshot, error) {
	s, err := layout.FindCurrent(files{fsys}, root)
	if errors.Is(err, layout.ErrNoWarehouse) {
		return nil, nil
	}
	return s, err
}

// Numbers returns the numbers of the snapshots on the disk, ascending.
func Numbers(fsys disk.FS, root string) ([]int64, error) {
	return layout.SnapshotNumbers(files{fsys}, root)
}

// NextNumber returns the number of the snapshot that is to be made: above all
// that are there, also those that a crash kept from becoming the current one.
func NextNumber(fsys disk.FS, root string) (int64, error) {
	numbers, err := Numbers(fsys, root)
	if err != nil || len(numbers) == 0 {
		return 1, err
	}
	return numbers[len(numbers)-1] + 1, nil
}

// Sweep removes what is of no use for certain: names that only a commit in the
// making has, and the snapshots that held forgotten calls, if the checksum of the
// manifest that says so is right. It follows no link.
func Sweep(fsys disk.FS, root string, current *layout.Snapshot) error {
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
			case named && e.IsDir() && current != nil && current.Manifest.Sealed() && n < current.Manifest.Oldest:
				err = Remove(fsys, path)
			}
			if err != nil {
				return fmt.Errorf("sweep the warehouse: %w", err)
			}
		}
	}
	return nil
}

// Retire removes the snapshots that nobody can be reading any more and that no
// catalog points at. current has just been committed. The last ones that can be
// read stay, and while the current one is not complete all do.
func Retire(fsys disk.FS, root string, current *layout.Snapshot, now time.Time) error {
	numbers, err := Numbers(fsys, root)
	if err != nil || len(numbers) <= keepSnapshots {
		return err
	}
	pins, all, err := pinned(fsys, root, now)
	if err != nil || all {
		return err
	}
	if err := Complete(fsys, current); err != nil {
		return fmt.Errorf("look at the snapshot that was committed: %w", err)
	}
	// A snapshot is superseded when the next one that can be read was committed; what
	// was superseded less than keepAge ago may still be open somewhere.
	var next *layout.Snapshot
	readable := 0
	var gone []string
	for _, n := range slices.Backward(numbers) {
		s, err := Open(fsys, root, layout.SnapshotName(n))
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
		if err := Remove(fsys, dir); err != nil {
			return fmt.Errorf("remove snapshot %s: %w", filepath.Base(dir), err)
		}
	}
	return nil
}

// Remove removes a snapshot. First it takes its name away: what a crash
// leaves must not look like a snapshot that was damaged.
func Remove(fsys disk.FS, dir string) error {
	away := filepath.Join(filepath.Dir(dir), layout.TempName(filepath.Base(dir), disk.NewID()))
	if err := fsys.Rename(dir, away); err != nil {
		return err
	}
	if err := fsys.SyncDir(filepath.Dir(dir)); err != nil {
		return err
	}
	return disk.RemoveTree(fsys, away)
}

// NewestComplete returns the newest snapshot whose manifest is sound and whose files are
// there; if there is none, the newest one with a sound manifest.
func NewestComplete(fsys disk.FS, root string) (*layout.Snapshot, error) {
	numbers, err := Numbers(fsys, root)
	if err != nil {
		return nil, err
	}
	var newest *layout.Snapshot
	for _, n := range slices.Backward(numbers) {
		s, err := Open(fsys, root, layout.SnapshotName(n))
		if err == nil && Complete(fsys, s) == nil {
			return s, nil
		}
		newest = cmp.Or(newest, s)
	}
	if newest == nil {
		return nil, &NotRetainedError{}
	}
	return newest, nil
}

// Retained returns the snapshots of the warehouse at root up to the current
// one, oldest first; all of them, where none is the current one. Those that vanish meanwhile, or whose manifest is damaged, are
// left out.
func Retained(root string) ([]*layout.Snapshot, error) {
	fsys, err := disk.OpenToRead(root)
	if err != nil {
		return nil, err
	}
	current, err := Current(fsys, root)
	var lost *layout.CurrentError
	var damage *disk.DamageError
	if err != nil && !errors.As(err, &lost) && !errors.As(err, &damage) {
		return nil, err
	}
	all, _, err := ListRetained(fsys, root, current)
	return all, err
}

// ListRetained is Retained on a file system. It passes over snapshots that are
// damaged, and returns the first one's damage.
func ListRetained(fsys disk.FS, root string, current *layout.Snapshot) (out []*layout.Snapshot, damage, err error) {
	numbers, err := Numbers(fsys, root)
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
		s, err := Open(fsys, root, layout.SnapshotName(n))
		if disk.IsGone(err) {
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

// DamagedTargetError says that a snapshot cannot be gone back to.
type DamagedTargetError struct {
	Snapshot int64
	Intact   []int64 // those that can, oldest first
	Err      error
}

func (e *DamagedTargetError) Error() string {
	return fmt.Sprintf("snapshot %d is damaged, too: %v", e.Snapshot, e.Err)
}

func (e *DamagedTargetError) Unwrap() error { return e.Err }

// Hint says what to do about it.
func (e *DamagedTargetError) Hint() string {
	if len(e.Intact) == 0 {
		return "nothing was changed; every older snapshot shares the damage: extract repair removes what is damaged and fetches it again"
	}
	return fmt.Sprintf("nothing was changed; intact: %s", strings.Trim(fmt.Sprint(e.Intact), "[]"))
}

// NumbersOf returns the numbers of snapshots.
func NumbersOf(snapshots []*layout.Snapshot) (out []int64) {
	for _, s := range snapshots {
		out = append(out, s.Manifest.Snapshot)
	}
	return out
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
