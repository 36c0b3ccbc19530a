package sink

import (
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
