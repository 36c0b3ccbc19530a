// Package scratch makes temporary files and folders that do not stay for long, however a program
// ends: a later program removes what a killed one left a day ago.
//
// They are accessible only to their user, have unpredictable names, and are locked while their
// process lives. On a file system without locks, a process removes only its own. The package also
// reads files with secrets, which depends on the same owners.
package scratch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"time"

	"github.com/gofrs/flock"
)

// Kind is the purpose of a temporary folder, and the beginning of its name.
type Kind string

// Kinds of folders. A program that makes a folder removes the leftovers of all kinds.
const (
	Query    Kind = "callhouse-query-"    // DuckDB's data that does not fit in memory
	Isolated Kind = "callhouse-isolated-" // the same, of a process for other people's SQL
	Sheet    Kind = "callhouse-xlsx-"     // rows of a sheet
	Demo     Kind = "callhouse-demo-"     // the key of a demonstration
)

// folderRE matches the names of folders of all kinds.
var folderRE = regexp.MustCompile(`^callhouse-[a-z]+-[0-9]+$`)

// Dir is a temporary folder, or a temporary file.
type Dir struct {
	Path string
	hold *flock.Flock // on the file or folder itself
}

// leftAfter is the age of leftovers.
const leftAfter = 24 * time.Hour

// made are the files and folders of this process.
var made = struct {
	sync.Mutex
	paths map[string]bool
	over  bool // no more may be made
}{paths: map[string]bool{}}

// errOver is the error of Make after Clear.
var errOver = errors.New("the program is ending")

// NoPlaceError means that no folder for temporary data can be made.
type NoPlaceError struct{ Err error }

func (e *NoPlaceError) Error() string {
	return fmt.Sprintf("no folder for temporary data can be made: set TMPDIR to a folder that this user can write to (%v)", e.Err)
}

func (e *NoPlaceError) Unwrap() error { return e.Err }

// Hint returns advice for the operator.
func (e *NoPlaceError) Hint() string {
	return "set TMPDIR to a folder that this user can write to; in a container, mount a tmpfs at /tmp"
}

// Make makes a folder in TMPDIR, and removes the leftovers of killed programs.
func Make(kind Kind) (*Dir, error) {
	sweep(os.TempDir(), func(e fs.DirEntry) bool { return e.IsDir() && folderRE.MatchString(e.Name()) })
	return hold(func() (path string, err error) {
		if path, err = os.MkdirTemp("", string(kind)); err != nil {
			err = &NoPlaceError{err}
		}
		return path, err
	})
}

// hold makes a file or folder, and locks it.
func hold(create func() (path string, err error)) (*Dir, error) {
	made.Lock()
	defer made.Unlock()
	if made.over {
		return nil, errOver
	}
	path, err := create()
	if err != nil {
		return nil, err
	}
	made.paths[path] = true
	d := &Dir{path, lock(path)}
	_, _ = d.hold.TryLock() // without a lock, it is safe for a day
	return d, nil
}

// tempRE matches the names that File and Folder make.
var tempRE = regexp.MustCompile(`^\..*\.callhouse-[0-9]{1,20}\.tmp$`)

// maxName is the maximum number of bytes of the target's name in the temporary name, to limit its
// length.
const maxName = 200

// File makes a temporary file next to the one that it will replace by a rename. The caller closes
// the file and then calls Remove, whether it was renamed or not.
func File(target string) (f *os.File, d *Dir, err error) {
	dir, pattern := temporary(target)
	d, err = hold(func() (string, error) {
		if f, err = os.CreateTemp(dir, pattern); err != nil {
			return "", err
		}
		return f.Name(), nil
	})
	return f, d, err
}

// Folder is File for a folder.
func Folder(target string) (*Dir, error) {
	dir, pattern := temporary(target)
	return hold(func() (string, error) { return os.MkdirTemp(dir, pattern) })
}

// temporary returns the folder of a target and the pattern of temporary names there, and removes the
// leftovers of killed programs.
func temporary(target string) (dir, pattern string) {
	dir, name := filepath.Dir(target), filepath.Base(target)
	sweep(dir, func(e fs.DirEntry) bool { return (e.IsDir() || e.Type().IsRegular()) && tempRE.MatchString(e.Name()) })
	return dir, "." + name[:min(len(name), maxName)] + ".callhouse-*.tmp"
}

// MakeIfPossible is Make for a folder that is seldom needed. It returns nil if none can be made, as
// in a container whose file systems are read-only.
func MakeIfPossible(kind Kind) (*Dir, error) {
	d, err := Make(kind)
	if none := (*NoPlaceError)(nil); errors.As(err, &none) {
		return nil, nil
	}
	return d, err
}

// Missing returns advice if no folder can be made; empty otherwise.
func Missing() string {
	d, err := MakeIfPossible(Query)
	if err == nil && d == nil {
		return new(NoPlaceError).Hint()
	}
	_ = d.Remove()
	return ""
}

// Where returns the folder's path; empty if there is none.
func (d *Dir) Where() string {
	if d == nil {
		return ""
	}
	return d.Path
}

// Remove removes the folder, if any, and all that is in it.
func (d *Dir) Remove() error {
	if d == nil {
		return nil
	}
	err := os.RemoveAll(d.Path)
	made.Lock()
	delete(made.paths, d.Path)
	made.Unlock()
	return errors.Join(err, d.hold.Unlock())
}

// Clear removes all files and folders of this process, which is about to end without closing them.
// None can be made afterwards.
func Clear() {
	made.Lock()
	defer made.Unlock()
	made.over = true
	for path := range made.paths {
		// Files may still be added meanwhile. The next program removes the rest.
		for range clearTries {
			if os.RemoveAll(path) == nil {
				break
			}
		}
	}
}

const clearTries = 10

// lock returns the lock of a file or folder, not yet acquired. It is removed with the file.
func lock(path string) *flock.Flock { return flock.New(path, flock.SetFlag(os.O_RDONLY)) }

// sweep removes what killed programs of this user left in a folder. It skips what a process holds,
// and what it cannot read or remove.
func sweep(dir string, ours func(fs.DirEntry) bool) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if !ours(e) {
			continue
		}
		info, err := e.Info()
		if err != nil || !isUsers(info) || time.Since(info.ModTime()) < leftAfter {
			continue
		}
		path := filepath.Join(dir, e.Name())
		hold := lock(path)
		if ok, err := hold.TryLock(); err == nil && ok {
			_ = os.RemoveAll(path)
			_ = hold.Unlock()
		}
	}
}

// isUsers reports whether a file belongs to this process' user.
func isUsers(info fs.FileInfo) bool {
	return UserOf(info) == os.Geteuid()
}
