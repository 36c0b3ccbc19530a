// Package scratch makes temporary files and folders that do not stay for long, however a program
// ends: the next program removes the leftovers of a killed one.
//
// A folder is accessible only to its user (0700), has an unpredictable name, and is locked while
// its process lives. An unlocked one is a leftover. On a file system without locks, a process
// removes only its own. The package also reads files with secrets, which depends on the same owners.
package scratch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/gofrs/flock"
)

// Kind is the purpose of a temporary folder, and the beginning of its name.
type Kind string

// Kinds of folders. A program that makes a folder removes the leftovers of all kinds.
const (
	Query  Kind = "callhouse-query-"  // DuckDB's data that does not fit in memory
	Safe   Kind = "callhouse-safe-"   // the same for a statement in a process of its own
	Serve  Kind = "callhouse-serve-"  // of a server and its processes
	Sheet  Kind = "callhouse-xlsx-"   // rows of a sheet
	Demo   Kind = "callhouse-demo-"   // the key of a demonstration
	Output Kind = "callhouse-output-" // a note about a file or folder elsewhere: see Beside
)

var kinds = []Kind{Query, Safe, Serve, Sheet, Demo, Output}

// Dir is a temporary folder.
type Dir struct {
	Path string
	hold *flock.Flock
}

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

// Make makes a folder, and removes the leftovers of killed programs.
func Make(kind Kind) (*Dir, error) {
	sweep(kind)
	made.Lock()
	defer made.Unlock()
	if made.over {
		return nil, errOver
	}
	for {
		path, err := os.MkdirTemp("", string(kind))
		if err != nil {
			return nil, &NoPlaceError{err}
		}
		d := &Dir{Path: path, hold: lock(path)}
		ok, err := d.hold.TryLock()
		_, gone := os.Lstat(path)
		switch {
		case gone == nil && (ok || err != nil):
			made.paths[path] = true
			return d, nil
		case gone != nil && !errors.Is(gone, fs.ErrNotExist):
			return nil, gone
		}
		_ = d.hold.Unlock() // another process took it for a leftover before it was locked
	}
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

// lock returns the lock of a folder, not yet acquired. The lock is on the folder itself, so it is
// removed with it.
func lock(path string) *flock.Flock { return flock.New(path, flock.SetFlag(os.O_RDONLY)) }

// sweep removes this user's folders of kind and of all other kinds, together with the files that
// they record. It skips folders that a process holds, and those that it cannot read or remove.
func sweep(kind Kind) {
	entries, err := os.ReadDir(os.TempDir())
	if err != nil {
		return
	}
	for _, e := range entries {
		is, ok := kindOf(e, append(kinds[:len(kinds):len(kinds)], kind))
		if !ok {
			continue
		}
		path := filepath.Join(os.TempDir(), e.Name())
		hold := lock(path)
		if ok, err := hold.TryLock(); err == nil && ok {
			if is != Output || settleNote(path) {
				_ = os.RemoveAll(path)
			}
			_ = hold.Unlock()
		}
	}
}

// kindOf returns the kind of a folder from the name that Make gave it for this user.
func kindOf(e fs.DirEntry, among []Kind) (Kind, bool) {
	for _, kind := range among {
		random, ok := strings.CutPrefix(e.Name(), string(kind))
		if !ok || random == "" || strings.Trim(random, "0123456789") != "" || !e.IsDir() {
			continue
		}
		info, err := e.Info()
		return kind, err == nil && isUsers(info)
	}
	return "", false
}

// isUsers reports whether a file belongs to this process' user.
func isUsers(info fs.FileInfo) bool {
	return UserOf(info) == os.Geteuid()
}
