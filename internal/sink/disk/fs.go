// Package disk is the file system of a warehouse: durable writes, the lock, and the modes of files.
// It follows no link out of the warehouse.
package disk

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"callhouse/internal/layout"
)

// FS is the file layer of a warehouse: the part of a POSIX file system that the sink uses. Tests
// replace it with one that fails or stops at the n-th operation, or that loses unsynced data.
type FS interface {
	// Create makes a new file for writing; it fails if the name exists.
	Create(name string) (File, error)
	// Open opens a regular file for reading.
	Open(name string) (File, error)
	ReadFile(name string) ([]byte, error)
	Mkdir(name string) error
	Rename(from, to string) error
	Link(from, to string) error
	Symlink(target, name string) error
	Readlink(name string) (string, error)
	// Lstat describes a name, and does not follow a link.
	Lstat(name string) (fs.FileInfo, error)
	Remove(name string) error
	ReadDir(name string) ([]fs.DirEntry, error)
	// SyncDir makes the names in a folder durable.
	SyncDir(name string) error
}

// File is an open file.
type File interface {
	io.Writer
	io.ReaderAt
	io.Closer
	Sync() error
	Stat() (fs.FileInfo, error)
}

// disk is the real file system of one warehouse. Files are made 0640 and folders 0750, less the umask:
// the mode of the warehouse's folder, 0700 if it is made here, decides whether the group reads them. No
// link is followed out of the warehouse, and only regular files are opened.
type disk struct {
	dir *layout.Dir
}

// Open returns the file system of the existing warehouse at root.
func Open(root string) (FS, error) { return open(root) }

func open(root string) (*disk, error) {
	dir, err := layout.OpenDir(root)
	if err != nil {
		return nil, err
	}
	return &disk{dir: dir}, nil
}

// Close closes the warehouse's folder.
func (d *disk) Close() error { return d.dir.Close() }

// syncFolder makes the names in an open folder durable, and closes it. On macOS, Sync also flushes
// the disk's own cache.
func syncFolder(f *os.File) error {
	return errors.Join(f.Sync(), f.Close())
}

func (d *disk) Create(name string) (File, error) {
	f, err := d.dir.Root.OpenFile(d.dir.In(name), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o640)
	if err != nil {
		return nil, d.dir.WithPath(name, err)
	}
	return f, nil
}

func (d *disk) Open(name string) (File, error) {
	f, err := d.dir.Open(name)
	if err != nil {
		return nil, err // not a nil *os.File
	}
	return f, nil
}

func (d *disk) ReadFile(name string) ([]byte, error) { return d.dir.ReadFile(name) }

func (d *disk) Mkdir(name string) error {
	return d.dir.WithPath(name, d.dir.Root.Mkdir(d.dir.In(name), 0o750))
}

func (d *disk) Rename(from, to string) error {
	return d.dir.WithPath(to, d.dir.Root.Rename(d.dir.In(from), d.dir.In(to)))
}

func (d *disk) Link(from, to string) error {
	return d.dir.WithPath(from, d.dir.Root.Link(d.dir.In(from), d.dir.In(to)))
}

func (d *disk) Symlink(target, name string) error {
	return d.dir.WithPath(name, d.dir.Root.Symlink(target, d.dir.In(name)))
}

func (d *disk) Readlink(name string) (string, error) { return d.dir.Readlink(name) }

func (d *disk) Lstat(name string) (fs.FileInfo, error) { return d.dir.Lstat(name) }

func (d *disk) Remove(name string) error {
	return d.dir.WithPath(name, d.dir.Root.Remove(d.dir.In(name)))
}

func (d *disk) ReadDir(name string) ([]fs.DirEntry, error) { return d.dir.ReadDir(name) }

func (d *disk) SyncDir(name string) error {
	f, err := d.dir.Root.Open(d.dir.In(name))
	if err != nil {
		return d.dir.WithPath(name, err)
	}
	return syncFolder(f)
}

// ReadOnly returns a file system that refuses changes.
func ReadOnly(fsys FS) FS { return readOnly{fsys} }

type readOnly struct{ FS }

// errReadOnly means that a read-only command tried to write.
var errReadOnly = errors.New("the warehouse is open for reading only")

func (readOnly) Create(string) (File, error)  { return nil, errReadOnly }
func (readOnly) Mkdir(string) error           { return errReadOnly }
func (readOnly) Rename(string, string) error  { return errReadOnly }
func (readOnly) Link(string, string) error    { return errReadOnly }
func (readOnly) Symlink(string, string) error { return errReadOnly }
func (readOnly) Remove(string) error          { return errReadOnly }
func (readOnly) SyncDir(string) error         { return errReadOnly }

// OpenToRead returns the file system of a warehouse for a read-only command.
func OpenToRead(root string) (FS, error) {
	disk, err := Open(root)
	if err != nil {
		return nil, err
	}
	return ReadOnly(disk), nil
}

// EnsureDir makes a folder if it does not exist, and its name durable.
func EnsureDir(fsys FS, name string) error {
	err := fsys.Mkdir(name)
	if errors.Is(err, fs.ErrExist) {
		info, err := fsys.Lstat(name)
		if err == nil && !info.IsDir() {
			err = &layout.DamageError{Path: name, What: "it is not a folder"}
		}
		return err
	}
	if err != nil {
		return err
	}
	return cannot(filepath.Dir(name), syncFolders, fsys.SyncDir(filepath.Dir(name)))
}

// RemoveTree removes a folder of ours with all its content.
func RemoveTree(fsys FS, name string) error {
	entries, err := fsys.ReadDir(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(name, e.Name())
		if e.IsDir() {
			err = RemoveTree(fsys, path)
		} else {
			err = fsys.Remove(path)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return fsys.Remove(name)
}

// WriteFile makes a new file with the given content, durable except for its name.
func WriteFile(fsys FS, name string, content []byte) error {
	f, err := fsys.Create(name)
	if err != nil {
		return err
	}
	if _, err = f.Write(content); err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		// A file that could not be made durable must not stay.
		_ = fsys.Remove(name)
	}
	return err
}

// NewID returns 16 random hex digits.
func NewID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// Replace replaces a small file, durably and as a whole or not at all. It makes the new file under
// the name tmp in the same folder; private hides it from the group.
func Replace(fsys FS, tmp, name string, content []byte, private bool) error {
	if err := fsys.Remove(tmp); err != nil && !IsGone(err) { // left by a killed run
		return err
	}
	err := WriteFile(fsys, tmp, content)
	if err == nil && private {
		err = Private(fsys, tmp)
	}
	if err == nil {
		err = fsys.Rename(tmp, name)
	}
	if err != nil {
		_ = fsys.Remove(tmp)
		return err
	}
	return fsys.SyncDir(filepath.Dir(name))
}

// Private makes a file or folder unreadable for the group, which may read the rest.
func Private(fsys FS, path string) error {
	d, ok := fsys.(*disk)
	if !ok {
		return nil
	}
	st, err := d.Lstat(path)
	if err == nil {
		err = d.dir.Root.Chmod(d.dir.In(path), st.Mode()&^0o077)
	}
	return err
}

// MakeRoot makes a warehouse's folder, and its parents, if they do not exist.
func MakeRoot(root string) error {
	root = filepath.Clean(root)
	err := os.Mkdir(root, 0o700)
	if errors.Is(err, fs.ErrNotExist) && filepath.Dir(root) != root {
		if err = MakeRoot(filepath.Dir(root)); err == nil {
			err = os.Mkdir(root, 0o700)
		}
	}
	if err != nil {
		if errors.Is(err, fs.ErrExist) {
			return nil
		}
		return err
	}
	parent, err := os.Open(filepath.Dir(root))
	if err != nil {
		return err
	}
	return cannot(filepath.Dir(root), syncFolders, syncFolder(parent))
}

// IsGone reports whether a missing file caused err.
func IsGone(err error) bool { return errors.Is(err, fs.ErrNotExist) }
