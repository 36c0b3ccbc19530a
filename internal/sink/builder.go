package sink

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"sync"

	"callhouse/internal/layout"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
	"callhouse/internal/sink/disk"
)

// builder makes one snapshot in a folder of its own next to the committed ones.
type builder struct {
	fsys   disk.FS
	root   string
	dir    string // folder in which it is made; empty once current may point at it
	number int64

	mu   sync.Mutex
	dirs map[string]bool
}

// newBuilder begins the next snapshot. Its number exceeds all existing ones, including those that never
// became current because of a crash.
func newBuilder(fsys disk.FS, root string) (*builder, error) {
	b := &builder{fsys: fsys, root: root, number: 1, dirs: map[string]bool{}}
	numbers, err := layout.SnapshotNumbers(fsys, root)
	if err != nil {
		return nil, err
	}
	if len(numbers) > 0 {
		b.number = numbers[len(numbers)-1] + 1
	}
	b.dir = filepath.Join(root, layout.SnapshotsName, layout.TempName(layout.SnapshotName(b.number), disk.NewID()))
	if err := fsys.Mkdir(b.dir); err != nil {
		return nil, fmt.Errorf("begin a snapshot: %w", err)
	}
	return b, nil
}

// place returns the path of a new file, and makes its folder.
func (b *builder) place(rel string) (string, error) {
	if !filepath.IsLocal(rel) {
		return "", fmt.Errorf("make %q: it is not a path inside a snapshot", rel)
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

// Create makes a file.
func (b *builder) Create(rel string) (disk.File, error) {
	path, err := b.place(rel)
	if err != nil {
		return nil, err
	}
	return b.fsys.Create(path)
}

// Remove removes a file that Create made.
func (b *builder) Remove(rel string) error {
	return b.fsys.Remove(filepath.Join(b.dir, filepath.FromSlash(rel)))
}

// Write makes a small file of the snapshot.
func (b *builder) Write(rel string, content []byte) error {
	path, err := b.place(rel)
	if err != nil {
		return err
	}
	if err := disk.WriteFile(b.fsys, path, content); err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(path), err)
	}
	return nil
}

// Link links an unchanged file of the given size from an earlier snapshot.
func (b *builder) Link(from *layout.Snapshot, rel string, size int64) error {
	to, err := b.place(rel)
	if err != nil {
		return err
	}
	path := filepath.Join(from.Dir, filepath.FromSlash(rel))
	info, err := b.fsys.Lstat(path)
	switch {
	case disk.IsGone(err):
		err = &layout.DamageError{Path: path, What: "it is not there"}
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

// Seal sorts the manifest's files, and makes the snapshot durable under its name. It is not committed yet.
func (b *builder) Seal(m *layout.Manifest) (*layout.Snapshot, error) {
	order := map[string]int{}
	for i, t := range resource.Tables {
		order[t.Name] = i
	}
	slices.SortFunc(m.Files, func(a, b layout.File) int {
		return cmp.Or(cmp.Compare(order[a.Table], order[b.Table]), cmp.Compare(a.Period, b.Period))
	})
	m.Watermark = 0
	for _, f := range m.FilesOf(schema.Calls.Name) {
		if f.MaxStart != nil {
			m.Watermark = max(m.Watermark, *f.MaxStart)
		}
	}
	raw, err := m.Encode()
	if err != nil {
		return nil, err
	}
	if err := disk.WriteFile(b.fsys, filepath.Join(b.dir, layout.ManifestName), raw); err != nil {
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
	m, err = layout.ParseManifest(raw) // as the next reader will read it, including the checksum
	return &layout.Snapshot{Dir: final, Manifest: m}, err
}

// makeCurrent makes a sealed snapshot the current one. If it fails, it may be unknown which one is
// current, so both stay. Opening the warehouse reads current and removes anything newer.
func makeCurrent(fsys disk.FS, root string, s *layout.Snapshot) error {
	tmp := filepath.Join(root, layout.TempName(layout.CurrentName, disk.NewID()))
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

// Discard removes the unfinished snapshot, unless Seal has given it its name. The next run
// removes anything that is left.
func (b *builder) Discard() {
	if b != nil && b.dir != "" {
		_ = disk.RemoveTree(b.fsys, b.dir)
	}
}
