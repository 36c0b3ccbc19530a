package sink

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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

// removeSnapshot removes a snapshot, but never the current one. The manifest goes first: without it, the
// remains after a crash are no snapshot.
func removeSnapshot(fsys disk.FS, dir string) error {
	root := filepath.Dir(filepath.Dir(dir))
	if target, err := fsys.Readlink(filepath.Join(root, layout.CurrentName)); err == nil && filepath.Base(target) == filepath.Base(dir) {
		return fmt.Errorf("%s is the current snapshot", dir)
	}
	if err := fsys.Remove(filepath.Join(dir, layout.ManifestName)); err != nil && !disk.IsGone(err) {
		return err
	}
	if err := fsys.SyncDir(dir); err != nil {
		return err
	}
	return disk.RemoveTree(fsys, dir)
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

// Pinned lists the snapshots that a catalog needs. They stay while the catalog exists, even when
// superseded.
type Pinned struct {
	Catalog   string    `json:"catalog"` // its absolute path
	Snapshots []pinHold `json:"snapshots"`
}

// pinHold is a snapshot that a pin keeps: until a certain time if the catalog has moved on from it,
// otherwise without limit.
type pinHold struct {
	Snapshot int64      `json:"snapshot"`
	Until    *time.Time `json:"until,omitempty"`
}

// pinning is a catalog's pin while the catalog is being made. It holds a lock: catalogs are made one
// at a time, and no snapshot is retired meanwhile.
type pinning struct {
	Pinned
	fsys disk.FS
	path string
	lock *disk.Hold
	at   int64
}

// Pin keeps a snapshot of the warehouse at root for the catalog at an absolute path, before the
// catalog points at it. It also keeps the catalog's previous snapshot. Settle or Close must follow.
func Pin(root, catalog string, snapshot int64) (*pinning, error) {
	fsys, err := disk.Open(root)
	dir := filepath.Join(root, layout.PinsName)
	lock := filepath.Join(dir, layout.LockName)
	if err == nil {
		err = disk.EnsureDir(fsys, dir)
	}
	if err == nil {
		err = disk.CheckPlain(fsys, lock)
	}
	p := &pinning{Pinned: Pinned{Catalog: catalog}, fsys: fsys, path: pinPath(root, catalog), lock: disk.NewHold(lock), at: snapshot}
	if err == nil {
		err = p.lock.Lock()
	}
	if err != nil {
		return nil, fmt.Errorf("pin snapshot %d: %w", snapshot, err)
	}
	if was, err := readPin(fsys, p.path); err == nil {
		p.Snapshots = was.Snapshots
	}
	p.Snapshots = slices.DeleteFunc(p.Snapshots, func(s pinHold) bool { return s.Snapshot == snapshot })
	p.Snapshots = append(p.Snapshots, pinHold{Snapshot: snapshot})
	return p, p.write()
}

func pinPath(root, catalog string) string {
	sum := sha256.Sum256([]byte(catalog))
	return filepath.Join(root, layout.PinsName, hex.EncodeToString(sum[:8])+".json")
}

func readPin(fsys disk.FS, path string) (p Pinned, err error) {
	raw, err := fsys.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(raw, &p)
	}
	if err == nil && p.Catalog == "" {
		err = errors.New("the pin names no catalog")
	}
	return p, err
}

// Settle records that the catalog now points at the snapshot. Earlier ones stay for the programs
// that have the old catalog open.
func (p *pinning) Settle(now time.Time) error {
	until := now.Add(keepAge).UTC()
	for i := range p.Snapshots {
		if s := &p.Snapshots[i]; s.Snapshot != p.at && s.Until == nil {
			s.Until = &until
		}
	}
	p.Snapshots = slices.DeleteFunc(p.Snapshots, func(s pinHold) bool { return !s.holds(now) })
	return errors.Join(p.write(), p.Close())
}

func (s *pinHold) holds(now time.Time) bool { return s.Until == nil || now.Before(*s.Until) }

// Close releases the lock. After Settle it does nothing.
func (p *pinning) Close() error { return p.lock.Close() }

// write replaces the pin on the disk.
func (p *pinning) write() error {
	raw, err := json.MarshalIndent(&p.Pinned, "", " ")
	if err == nil {
		err = disk.Replace(p.fsys, p.path+".tmp", p.path, append(raw, '\n'), false)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("pin snapshot %d: %w", p.at, err), p.Close())
	}
	return nil
}

// IsPinned reports whether there is a pin for the catalog at an absolute path, so that the file there
// is a catalog of this warehouse.
func IsPinned(root, catalog string) bool {
	_, err := os.Lstat(pinPath(root, catalog))
	return err == nil
}

// pinned returns the snapshots that catalogs need, and removes the pins of catalogs that are gone.
// all means that any snapshot may be pinned: a pin is unreadable, or a catalog is being made.
func pinned(fsys disk.FS, root string, now time.Time) (snapshots map[int64]bool, all bool, err error) {
	dir := filepath.Join(root, layout.PinsName)
	entries, err := fsys.ReadDir(dir)
	if disk.IsGone(err) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("read the pins: %w", err)
	}
	if layout.InUse(filepath.Join(dir, layout.LockName)) {
		return nil, true, nil
	}
	snapshots = map[int64]bool{}
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ".json" {
			continue
		}
		path := filepath.Join(dir, e.Name())
		pin, err := readPin(fsys, path)
		if err != nil {
			all = true
			continue
		}
		if _, err := os.Stat(pin.Catalog); disk.IsGone(err) { // it is outside of the warehouse
			if err := fsys.Remove(path); err != nil && !disk.IsGone(err) {
				return nil, false, fmt.Errorf("remove a pin: %w", err)
			}
			continue
		}
		for _, s := range pin.Snapshots {
			if s.holds(now) {
				snapshots[s.Snapshot] = true
			}
		}
	}
	return snapshots, all, nil
}
