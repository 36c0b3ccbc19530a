package snapshot

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"callhouse/internal/layout"
	"callhouse/internal/sink/disk"
)

// farPinAge is how long a pin of a catalog on another host is valid without renewal: this host
// cannot see whether the catalog still exists.
const farPinAge = 30 * 24 * time.Hour

// Pinning is a catalog's pin while it is being made. It holds a lock, so that catalogs are made one
// at a time.
type Pinning struct {
	root string
	disk disk.FS
	lock *flock.Flock
	pin  *layout.Pin
	at   int64
}

// Pin keeps a snapshot of the warehouse at root for the catalog at an absolute path, before the
// catalog points at it. It also keeps the catalog's previous snapshot. Settle or Close must follow.
func Pin(root, catalog string, snapshot int64, now time.Time) (*Pinning, error) {
	p, err := openPin(root, catalog)
	if err != nil {
		return nil, fmt.Errorf("pin snapshot %d: %w", snapshot, err)
	}
	p.at = snapshot
	if raw, err := disk.ReadFile(p.disk, p.path()); err == nil {
		if was, err := layout.ParsePin(raw); err == nil {
			p.pin.Snapshots = was.Snapshots
		}
	}
	p.pin.Snapshots = slices.DeleteFunc(p.pin.Snapshots, func(s layout.Pinned) bool { return s.Snapshot == snapshot })
	p.pin.Snapshots = append(p.pin.Snapshots, layout.Pinned{Snapshot: snapshot})
	if err := p.write(now); err != nil {
		return nil, errors.Join(fmt.Errorf("pin snapshot %d: %w", snapshot, err), p.Close())
	}
	return p, nil
}

// Hold keeps exactly the given snapshots, which a server reads, as long as the holder's absolute
// path exists. Without snapshots it removes the pin.
func Hold(root, holder string, snapshots []int64, now time.Time) (err error) {
	p, err := openPin(root, holder)
	if err != nil {
		return fmt.Errorf("pin the snapshots in use: %w", err)
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	if len(snapshots) == 0 {
		if err := p.disk.Remove(p.path()); err != nil && !disk.IsGone(err) {
			return fmt.Errorf("remove a pin: %w", err)
		}
		return nil
	}
	for _, n := range snapshots {
		p.pin.Snapshots = append(p.pin.Snapshots, layout.Pinned{Snapshot: n})
	}
	if err := p.write(now); err != nil {
		return fmt.Errorf("pin the snapshots in use: %w", err)
	}
	return nil
}

// openPin makes an empty pin, and takes the lock.
func openPin(root, catalog string) (*Pinning, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	fsys, err := disk.Open(root)
	dir := filepath.Join(root, layout.PinsName)
	if err == nil {
		err = disk.EnsureDir(fsys, dir)
	}
	if err == nil {
		err = disk.CheckPlain(fsys, filepath.Join(dir, layout.LockName))
	}
	if err != nil {
		return nil, err
	}
	p := &Pinning{root: root, disk: fsys, lock: flock.New(filepath.Join(dir, layout.LockName), flock.SetPermissions(0o600)),
		pin: &layout.Pin{Host: host, Catalog: catalog}}
	if err := p.lock.Lock(); err != nil {
		return nil, err
	}
	return p, nil
}

func (p *Pinning) path() string {
	return filepath.Join(p.root, layout.PinsName, layout.PinName(p.pin.Host, p.pin.Catalog))
}

// Settle records that the catalog now points at the snapshot. Earlier ones stay for the programs
// that have the old catalog open.
func (p *Pinning) Settle(now time.Time) error {
	until := now.Add(keepAge).UTC()
	kept := p.pin.Snapshots[:0]
	for _, s := range p.pin.Snapshots {
		if s.Snapshot != p.at && s.Until == nil {
			s.Until = &until
		}
		if s.Until == nil || now.Before(*s.Until) {
			kept = append(kept, s)
		}
	}
	p.pin.Snapshots = kept
	if err := p.write(now); err != nil {
		return errors.Join(fmt.Errorf("pin snapshot %d: %w", p.at, err), p.Close())
	}
	return p.Close()
}

// Close releases the lock. After Settle it does nothing.
func (p *Pinning) Close() error { return p.lock.Close() }

// write replaces the pin on the disk.
func (p *Pinning) write(now time.Time) error {
	p.pin.FormatVersion, p.pin.RenewedAt = layout.FormatVersion, now.UTC()
	raw, err := json.MarshalIndent(p.pin, "", " ")
	if err != nil {
		return err
	}
	if err := disk.Replace(p.disk, p.path()+".tmp", p.path(), append(raw, '\n'), false); err != nil {
		return err
	}
	return p.disk.SyncDir(p.root)
}

// Pinned reports whether this host has a pin for the catalog at an absolute path, so that the file
// there is a catalog of this warehouse.
func Pinned(root, catalog string) bool {
	host, err := os.Hostname()
	if err != nil {
		return false
	}
	_, err = os.Lstat(filepath.Join(root, layout.PinsName, layout.PinName(host, catalog)))
	return err == nil
}

// pinned returns the snapshots that catalogs need, and removes expired pins: those whose catalog is
// gone or, on another host, was not renewed for long. all means that a pin is unreadable, so any
// snapshot may be pinned.
func pinned(fsys disk.FS, root string, now time.Time) (snapshots map[int64]bool, all bool, err error) {
	dir := filepath.Join(root, layout.PinsName)
	entries, err := fsys.ReadDir(dir)
	if disk.IsGone(err) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("read the pins: %w", err)
	}
	host, _ := os.Hostname()
	snapshots = map[int64]bool{}
	for _, e := range entries {
		if !layout.IsPinName(e.Name()) {
			continue
		}
		path := filepath.Join(dir, e.Name())
		raw, err := disk.ReadFile(fsys, path)
		if disk.IsGone(err) {
			continue
		}
		if err != nil {
			return nil, false, fmt.Errorf("read the pins: %w", err)
		}
		pin, err := layout.ParsePin(raw)
		if err != nil {
			all = true
			continue
		}
		if lapsed(pin, host, now) {
			if err := fsys.Remove(path); err != nil && !disk.IsGone(err) {
				return nil, false, fmt.Errorf("remove a pin: %w", err)
			}
			continue
		}
		for _, s := range pin.Snapshots {
			if s.Until == nil || now.Before(*s.Until) {
				snapshots[s.Snapshot] = true
			}
		}
	}
	return snapshots, all, nil
}

func lapsed(pin *layout.Pin, host string, now time.Time) bool {
	age := now.Sub(pin.RenewedAt)
	if age < keepAge { // its catalog may still be in the making
		return false
	}
	if !strings.EqualFold(pin.Host, host) {
		return age >= farPinAge
	}
	_, err := os.Stat(pin.Catalog) // it is outside of the warehouse
	return disk.IsGone(err)
}
