package sink

import (
	"bytes"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"callhouse/internal/sink/disk"
)

// memFS is a file system in memory that models a power cut: a file keeps its content at its last
// Sync, a folder its names at its last SyncDir.
type memFS struct {
	mu   sync.Mutex
	root *memNode
}

type memNode struct {
	dir     map[string]*memNode // of a folder
	target  string              // of a symbolic link
	content []byte              // of a file

	syncedDir     map[string]*memNode
	syncedContent []byte
}

func newMemFS() *memFS { return &memFS{root: newMemDir()} }

func newMemDir() *memNode {
	return &memNode{dir: map[string]*memNode{}, syncedDir: map[string]*memNode{}}
}

// clone returns a copy.
func (m *memFS) clone() *memFS { return m.copied(false) }

// afterPowerCut returns a file system with only the synced state.
func (m *memFS) afterPowerCut() *memFS { return m.copied(true) }

func (m *memFS) copied(powerCut bool) *memFS {
	m.mu.Lock()
	defer m.mu.Unlock()
	seen := map[*memNode]*memNode{} // hard links stay links
	var node func(n *memNode) *memNode
	folder := func(names map[string]*memNode) map[string]*memNode {
		out := map[string]*memNode{}
		for name, child := range names {
			out[name] = node(child)
		}
		return out
	}
	node = func(n *memNode) *memNode {
		if c := seen[n]; c != nil {
			return c
		}
		c := &memNode{target: n.target}
		seen[n] = c
		switch {
		case n.dir == nil:
			c.content, c.syncedContent = bytes.Clone(n.content), bytes.Clone(n.syncedContent)
		default:
			c.dir, c.syncedDir = map[string]*memNode{}, folder(n.syncedDir)
			if !powerCut {
				c.dir = folder(n.dir)
			}
		}
		if powerCut {
			c.dir, c.content = maps.Clone(c.syncedDir), bytes.Clone(c.syncedContent)
		}
		return c
	}
	return &memFS{root: node(m.root)}
}

// look returns the node at path and its parent.
func (m *memFS) look(path string) (parent, n *memNode, base string) {
	n = m.root
	for part := range strings.SplitSeq(strings.Trim(filepath.ToSlash(path), "/"), "/") {
		if n == nil || n.dir == nil {
			return nil, nil, part
		}
		parent, n, base = n, n.dir[part], part
	}
	return parent, n, base
}

func notExist(op, name string) error { return &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist} }

// mkdirAll makes a folder and its parents, synced.
func (m *memFS) mkdirAll(path string) {
	n := m.root
	for part := range strings.SplitSeq(strings.Trim(filepath.ToSlash(path), "/"), "/") {
		if n.dir[part] == nil {
			n.dir[part] = newMemDir()
			n.syncedDir[part] = n.dir[part]
		}
		n = n.dir[part]
	}
}

func (m *memFS) put(op, name string, n *memNode) error {
	parent, old, base := m.look(name)
	if parent == nil {
		return notExist(op, name)
	}
	if old != nil {
		return &fs.PathError{Op: op, Path: name, Err: fs.ErrExist}
	}
	parent.dir[base] = n
	return nil
}

func (m *memFS) Create(name string) (disk.File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := &memNode{}
	if err := m.put("create", name, n); err != nil {
		return nil, err
	}
	return &memFile{fs: m, n: n, name: name}, nil
}

func (m *memFS) Open(name string) (disk.File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, n, _ := m.look(name)
	if n == nil || n.dir != nil {
		return nil, notExist("open", name)
	}
	return &memFile{fs: m, n: n, name: name}, nil
}

func (m *memFS) ReadFile(name string) ([]byte, error) {
	f, err := m.Open(name)
	if err != nil {
		return nil, err
	}
	info, _ := f.Stat()
	return io.ReadAll(io.NewSectionReader(f, 0, info.Size()))
}

func (m *memFS) Mkdir(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.put("mkdir", name, newMemDir())
}

func (m *memFS) Rename(from, to string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	fromParent, n, fromBase := m.look(from)
	toParent, old, toBase := m.look(to)
	if n == nil || toParent == nil {
		return notExist("rename", from)
	}
	if old != nil && old.dir != nil {
		return &fs.PathError{Op: "rename", Path: to, Err: fs.ErrExist} // never over folders
	}
	delete(fromParent.dir, fromBase)
	toParent.dir[toBase] = n
	return nil
}

func (m *memFS) Link(from, to string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, n, _ := m.look(from)
	if n == nil {
		return notExist("link", from)
	}
	return m.put("link", to, n)
}

func (m *memFS) Symlink(target, name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.put("symlink", name, &memNode{target: target})
}

func (m *memFS) Readlink(name string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, n, _ := m.look(name)
	if n == nil || n.target == "" {
		return "", notExist("readlink", name)
	}
	return n.target, nil
}

func (m *memFS) Lstat(name string) (fs.FileInfo, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, n, base := m.look(name)
	if n == nil {
		return nil, notExist("lstat", name)
	}
	return memInfo{name: base, n: n}, nil
}

func (m *memFS) Remove(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	parent, n, base := m.look(name)
	if n == nil {
		return notExist("remove", name)
	}
	if len(n.dir) > 0 {
		return &fs.PathError{Op: "remove", Path: name, Err: fs.ErrExist}
	}
	delete(parent.dir, base)
	return nil
}

func (m *memFS) ReadDir(name string) ([]fs.DirEntry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, n, _ := m.look(name)
	if n == nil || n.dir == nil {
		return nil, notExist("readdir", name)
	}
	var out []fs.DirEntry
	for _, base := range slices.Sorted(maps.Keys(n.dir)) {
		out = append(out, memInfo{name: base, n: n.dir[base]})
	}
	return out, nil
}

func (m *memFS) SyncDir(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, n, _ := m.look(name)
	if n == nil || n.dir == nil {
		return notExist("syncdir", name)
	}
	n.syncedDir = maps.Clone(n.dir)
	return nil
}

type memFile struct {
	fs   *memFS
	n    *memNode
	name string
}

func (f *memFile) Write(p []byte) (int, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	f.n.content = append(f.n.content, p...)
	return len(p), nil
}

func (f *memFile) ReadAt(p []byte, off int64) (int, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if off >= int64(len(f.n.content)) {
		return 0, io.EOF
	}
	n := copy(p, f.n.content[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *memFile) Sync() error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	f.n.syncedContent = bytes.Clone(f.n.content)
	return nil
}

func (f *memFile) Close() error { return nil }

func (f *memFile) Stat() (fs.FileInfo, error) {
	return memInfo{name: filepath.Base(f.name), n: f.n}, nil
}

type memInfo struct {
	name string
	n    *memNode
}

func (i memInfo) Name() string               { return i.name }
func (i memInfo) Size() int64                { return int64(len(i.n.content)) }
func (i memInfo) IsDir() bool                { return i.n.dir != nil }
func (i memInfo) ModTime() time.Time         { return time.Time{} }
func (i memInfo) Sys() any                   { return nil }
func (i memInfo) Info() (fs.FileInfo, error) { return i, nil }
func (i memInfo) Type() fs.FileMode          { return i.Mode().Type() }
func (i memInfo) Mode() fs.FileMode {
	switch {
	case i.n.dir != nil:
		return fs.ModeDir | 0o700
	case i.n.target != "":
		return fs.ModeSymlink | 0o600
	}
	return 0o600
}
