package sink

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// FS is the file layer under a warehouse: what the sink needs of a POSIX file
// system, and nothing else. Tests put one under it that fails or stops at the
// n-th operation, or that forgets what was not synced.
type FS interface {
	// Create makes a new file for writing; it fails if the name exists.
	Create(name string) (File, error)
	// Open opens a file for reading.
	Open(name string) (File, error)
	Mkdir(name string) error
	Rename(from, to string) error
	Link(from, to string) error
	Symlink(target, name string) error
	Readlink(name string) (string, error)
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

// Disk is the real file system. Files are made 0600 and folders 0700, whatever
// the umask: calls are nobody else's business.
type Disk struct {
	// Group lets the group read: 0640 and 0750.
	Group bool
}

func (d Disk) modes() (file, folder fs.FileMode) {
	if d.Group {
		return 0o640, 0o750
	}
	return 0o600, 0o700
}

// Create implements FS.
func (d Disk) Create(name string) (File, error) {
	mode, _ := d.modes()
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := f.Chmod(mode); err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(name))
	}
	return f, nil
}

// Open implements FS.
func (Disk) Open(name string) (File, error) { return os.Open(name) }

// Mkdir implements FS.
func (d Disk) Mkdir(name string) error {
	if err := os.Mkdir(name, 0o700); err != nil {
		return err
	}
	_, mode := d.modes()
	return chmodDir(name, mode)
}

// chmodDir sets a folder's mode, but for the bit by which what is made in it
// gets its group.
func chmodDir(name string, mode fs.FileMode) error {
	st, err := os.Stat(name)
	if err != nil {
		return err
	}
	return os.Chmod(name, mode|st.Mode()&fs.ModeSetgid)
}

// Rename implements FS.
func (Disk) Rename(from, to string) error { return os.Rename(from, to) }

// Link implements FS.
func (Disk) Link(from, to string) error { return os.Link(from, to) }

// Symlink implements FS.
func (Disk) Symlink(target, name string) error { return os.Symlink(target, name) }

// Readlink implements FS.
func (Disk) Readlink(name string) (string, error) { return os.Readlink(name) }

// Remove implements FS.
func (Disk) Remove(name string) error { return os.Remove(name) }

// ReadDir implements FS.
func (Disk) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(name) }

// SyncDir implements FS.
func (Disk) SyncDir(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// ensureDir makes a folder unless it is there, and its name durable.
func ensureDir(fsys FS, name string) error {
	err := fsys.Mkdir(name)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return fsys.SyncDir(filepath.Dir(name))
}

// removeTree removes a folder of ours with all that is in it. The manifest goes
// first: what has none is no snapshot any more.
func removeTree(fsys FS, name string, first string) error {
	if first != "" {
		if err := fsys.Remove(filepath.Join(name, first)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
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
			err = removeTree(fsys, path, "")
		} else {
			err = fsys.Remove(path)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return fsys.Remove(name)
}

// readFile returns what a file holds.
func readFile(fsys FS, name string) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.NewSectionReader(f, 0, st.Size()))
}

// writeFile makes a new file with the given content, durable but for its name.
func writeFile(fsys FS, name string, content []byte) error {
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
		// What could not be made durable is no file: never leave it behind.
		_ = fsys.Remove(name)
	}
	return err
}
