package layout

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"callhouse/internal/words"
)

// Dir is a warehouse's folder on the real file system. The folder itself may be a link. Below it, a
// link out of the folder counts as damage, and only regular files are opened. Names are paths that
// begin with the folder's own path.
type Dir struct {
	Root *os.Root
	path string
}

// IsWarehouse reports whether a folder is laid out as a warehouse. The warehouse may be damaged or
// have no commit yet.
func IsWarehouse(root string) bool {
	is := func(name string, mode fs.FileMode) bool {
		st, err := os.Lstat(filepath.Join(root, name))
		return err == nil && st.Mode().Type() == mode
	}
	return is(SnapshotsName, fs.ModeDir) &&
		(is(CurrentName, fs.ModeSymlink) || is(JournalName, fs.ModeDir) && is(LockName, 0))
}

// RootError is returned for a path that must not become a warehouse: an empty one, or a folder
// inside a snapshot, such as WAREHOUSE/current, which would vanish with the snapshot.
type RootError struct {
	Path   string
	Inside string // the warehouse of the snapshot
}

func (e *RootError) Error() string {
	if e.Inside == "" {
		return "the path of the warehouse is empty"
	}
	return e.Path + " is inside a snapshot of a warehouse"
}

// Hint tells which folder is meant.
func (e *RootError) Hint() string {
	if e.Inside == "" {
		return "--warehouse (CALLHOUSE_WAREHOUSE) must name a folder"
	}
	return "use the warehouse itself: --warehouse " + words.Shell(e.Inside)
}

// CheckRoot returns a *RootError if a path must not become a warehouse. It need not exist.
func CheckRoot(path string) error {
	if strings.TrimSpace(path) == "" {
		return &RootError{}
	}
	at, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	real, err := filepath.EvalSymlinks(at)
	for ; err != nil && at != filepath.Dir(at); real, err = filepath.EvalSymlinks(at) {
		at = filepath.Dir(at)
	}
	for at = real; at != filepath.Dir(at); at = filepath.Dir(at) {
		if root := filepath.Dir(at); filepath.Base(at) == SnapshotsName && IsWarehouse(root) {
			return &RootError{Path: path, Inside: root}
		}
	}
	return nil
}

// OpenDir opens a folder.
func OpenDir(path string) (*Dir, error) {
	r, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	return &Dir{r, filepath.Clean(path)}, nil
}

// Close closes the folder.
func (d *Dir) Close() error { return d.Root.Close() }

// In returns a name relative to the folder, as the folder's Root expects it.
func (d *Dir) In(name string) string {
	rel, err := filepath.Rel(d.path, name)
	if err != nil {
		return name // refused by the Root
	}
	return rel
}

// WithPath returns an error of the Root with the full path filled in.
func (d *Dir) WithPath(name string, err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		if strings.Contains(path.Err.Error(), "escapes from parent") {
			return &DamageError{Path: name, What: "a link on the way to it leads out of the warehouse"}
		}
		return &fs.PathError{Op: strings.TrimSuffix(path.Op, "at"), Path: name, Err: path.Err}
	}
	return err
}

// Readlink implements Files.
func (d *Dir) Readlink(name string) (string, error) {
	target, err := d.Root.Readlink(d.In(name))
	return target, d.WithPath(name, err)
}

// Lstat implements Files.
func (d *Dir) Lstat(name string) (fs.FileInfo, error) {
	info, err := d.Root.Lstat(d.In(name))
	return info, d.WithPath(name, err)
}

// Open opens a regular file for reading.
func (d *Dir) Open(name string) (*os.File, error) { return d.OpenFile(name, os.O_RDONLY) }

// OpenFile opens an existing regular file.
func (d *Dir) OpenFile(name string, flag int) (*os.File, error) {
	info, err := d.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &DamageError{Path: name, What: "it is not a regular file"}
	}
	f, err := d.Root.OpenFile(d.In(name), flag, 0)
	return f, d.WithPath(name, err)
}

// ReadFile implements Files.
func (d *Dir) ReadFile(name string) ([]byte, error) {
	f, err := d.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// ReadDir implements Files. The entries are sorted by name.
func (d *Dir) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(d.Root.FS(), filepath.ToSlash(d.In(name)))
	return entries, d.WithPath(name, err)
}
