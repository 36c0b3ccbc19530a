package sink

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"

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
	name string // of the snapshot to be
	dir  string // where it is made; empty once current may point at it
	dirs map[string]bool
}

func newBuilder(fsys FS, root string, n int64) (*builder, error) {
	b := &builder{fsys: fsys, root: root, name: layout.SnapshotName(n), dirs: map[string]bool{}}
	b.dir = filepath.Join(root, layout.SnapshotsName, layout.TempName(b.name, newID()))
	if err := fsys.Mkdir(b.dir); err != nil {
		return nil, fmt.Errorf("begin a snapshot: %w", err)
	}
	return b, nil
}

// place returns the path of a file to be made, its folder made.
func (b *builder) place(rel string) (string, error) {
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

// link takes an unchanged file over from an earlier snapshot.
func (b *builder) link(from *layout.Snapshot, f *layout.File) error {
	to, err := b.place(f.Path)
	if err != nil {
		return err
	}
	if err := b.fsys.Link(from.Path(f), to); err != nil {
		return fmt.Errorf("link %s into the snapshot: %w", f.Path, err)
	}
	return nil
}

// publish makes the snapshot durable and swaps current to it. Until the last
// rename the old snapshot stands; after it the new one does. When an operation
// between the two renames fails, nobody can tell which of them stands, so both
// stay: opening the warehouse reads current, and sweeps what is beyond it.
func (b *builder) publish(m *layout.Manifest) (*layout.Snapshot, error) {
	raw, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		return nil, fmt.Errorf("encode the manifest: %w", err)
	}
	if err := writeFile(b.fsys, filepath.Join(b.dir, layout.ManifestName), append(raw, '\n')); err != nil {
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
	final := filepath.Join(snapshots, b.name)
	if err := b.fsys.Rename(b.dir, final); err != nil {
		return nil, fmt.Errorf("name the snapshot: %w", err)
	}
	b.dir = ""
	if err := b.fsys.SyncDir(snapshots); err != nil {
		return nil, fmt.Errorf("sync the snapshots: %w", err)
	}
	tmp := filepath.Join(b.root, layout.TempName(layout.CurrentName, newID()))
	if err := b.fsys.Symlink(path.Join(layout.SnapshotsName, b.name), tmp); err != nil {
		return nil, fmt.Errorf("point at the snapshot: %w", err)
	}
	if err := b.fsys.Rename(tmp, filepath.Join(b.root, layout.CurrentName)); err != nil {
		return nil, errors.Join(fmt.Errorf("swap current to the snapshot: %w", err), b.fsys.Remove(tmp))
	}
	if err := b.fsys.SyncDir(b.root); err != nil {
		return nil, fmt.Errorf("sync the warehouse: %w", err)
	}
	return &layout.Snapshot{Dir: final, Manifest: m}, nil
}

// discard removes what was made, unless publish gave it its name. The next
// run sweeps what it cannot remove.
func (b *builder) discard() {
	if b.dir != "" {
		_ = removeTree(b.fsys, b.dir, layout.ManifestName)
	}
}
