package sink

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"sync"

	"callhouse/internal/layout"
)

// newID returns 16 random hex digits.
func newID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// builder makes one snapshot in a folder of its own beside the committed ones.
type builder struct {
	fsys FS
	root string
	dir  string // where it is made; empty once current may point at it
	page int    // size of the pages of its data files; 0: pageBytes

	mu   sync.Mutex
	dirs map[string]bool
}

func newBuilder(fsys FS, root string, n int64) (*builder, error) {
	b := &builder{fsys: fsys, root: root, dirs: map[string]bool{}}
	b.dir = filepath.Join(root, layout.SnapshotsName, layout.TempName(layout.SnapshotName(n), newID()))
	if err := fsys.Mkdir(b.dir); err != nil {
		return nil, fmt.Errorf("begin a snapshot: %w", err)
	}
	return b, nil
}

// place returns the path of a file to be made, its folder made.
func (b *builder) place(rel string) (string, error) {
	if !filepath.IsLocal(rel) {
		return "", fmt.Errorf("make %q: it is no path inside a snapshot", rel)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.mkdir(path.Dir(rel)); err != nil {
		return "", fmt.Errorf("make a folder of the snapshot: %w", err)
	}
	return filepath.Join(b.dir, filepath.FromSlash(rel)), nil
}

func (b *builder) mkdir(rel string) error {
	if rel == "." || b.dirs[rel] {
		return nil
	}
	if err := b.mkdir(path.Dir(rel)); err != nil {
		return err
	}
	if err := b.fsys.Mkdir(filepath.Join(b.dir, filepath.FromSlash(rel))); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	b.dirs[rel] = true
	return nil
}

// link takes an unchanged file of so many bytes over from an earlier snapshot.
func (b *builder) link(from *layout.Snapshot, rel string, size int64) error {
	to, err := b.place(rel)
	if err != nil {
		return err
	}
	path := filepath.Join(from.Dir, filepath.FromSlash(rel))
	info, err := b.fsys.Lstat(path)
	switch {
	case isGone(err):
		err = &DamageError{Path: path, What: "it is not there"}
	case err == nil:
		err = layout.CheckInfo(path, info, size)
	}
	if err == nil {
		err = b.fsys.Link(path, to)
	}
	if err != nil {
		return fmt.Errorf("link %s into the snapshot: %w", rel, err)
	}
	return nil
}

// publish makes the snapshot durable and swaps current to it. Until the last
// rename the old snapshot stands; after it the new one does. When an operation
// between the two renames fails, nobody can tell which of them stands, so both
// stay: opening the warehouse reads current, and sweeps what is beyond it.
func (b *builder) publish(m *layout.Manifest) (*layout.Snapshot, error) {
	s, err := b.name(m)
	if err != nil {
		return nil, err
	}
	return s, swap(b.fsys, b.root, s)
}

// name makes the snapshot durable under its name. It is no committed one yet.
func (b *builder) name(m *layout.Manifest) (*layout.Snapshot, error) {
	raw, err := m.Encode()
	if err != nil {
		return nil, err
	}
	if err := writeFile(b.fsys, filepath.Join(b.dir, layout.ManifestName), raw); err != nil {
		return nil, fmt.Errorf("write the manifest: %w", err)
	}
	for _, d := range slices.Sorted(maps.Keys(b.dirs)) {
		if err := b.fsys.SyncDir(filepath.Join(b.dir, filepath.FromSlash(d))); err != nil {
			return nil, fmt.Errorf("sync the snapshot: %w", err)
		}
	}
	if err := b.fsys.SyncDir(b.dir); err != nil {
		return nil, fmt.Errorf("sync the snapshot: %w", err)
	}
	snapshots := filepath.Join(b.root, layout.SnapshotsName)
	final := filepath.Join(snapshots, layout.SnapshotName(m.Snapshot))
	if err := b.fsys.Rename(b.dir, final); err != nil {
		return nil, fmt.Errorf("name the snapshot: %w", err)
	}
	b.dir = ""
	if err := b.fsys.SyncDir(snapshots); err != nil {
		return nil, fmt.Errorf("sync the snapshots: %w", err)
	}
	m, err = layout.ParseManifest(raw) // as the next one to read it will, checksum and all
	return &layout.Snapshot{Dir: final, Manifest: m}, err
}

// swap makes a named snapshot the current one.
func swap(fsys FS, root string, s *layout.Snapshot) error {
	tmp := filepath.Join(root, layout.TempName(layout.CurrentName, newID()))
	if err := fsys.Symlink(path.Join(layout.SnapshotsName, filepath.Base(s.Dir)), tmp); err != nil {
		return fmt.Errorf("point at the snapshot: %w", err)
	}
	if err := fsys.Rename(tmp, filepath.Join(root, layout.CurrentName)); err != nil {
		return errors.Join(fmt.Errorf("swap current to the snapshot: %w", err), fsys.Remove(tmp))
	}
	if err := fsys.SyncDir(root); err != nil {
		return fmt.Errorf("sync the warehouse: %w", err)
	}
	return nil
}

// discard removes what was made, unless publish gave it its name. The next
// run sweeps what it cannot remove.
func (b *builder) discard() {
	if b != nil && b.dir != "" {
		_ = removeTree(b.fsys, b.dir)
	}
}
