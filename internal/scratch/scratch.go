// Package scratch makes temporary folders that no ending of a program leaves
// behind for long: what a killed one could not remove, the next one does.
//
// A folder is its user's alone (0700), has a name that nobody can guess, and is
// locked for as long as its process lives. One of ours that nobody holds is left
// over. Where the file system of TMPDIR has no locks nothing is removed but one's
// own.
package scratch

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/gofrs/flock"
)

// Dir is a temporary folder.
type Dir struct {
	Path string
	hold *flock.Flock
}

// made are the folders of this process.
var made = struct {
	sync.Mutex
	paths map[string]bool
	over  bool // no more are made
}{paths: map[string]bool{}}

// errOver is what Make says after Clear.
var errOver = errors.New("the program is ending")

// Make makes a folder whose name begins with prefix, and removes what killed
// programs left under that prefix.
func Make(prefix string) (*Dir, error) {
	sweep(prefix)
	made.Lock()
	defer made.Unlock()
	if made.over {
		return nil, errOver
	}
	for {
		path, err := os.MkdirTemp("", prefix)
		if err != nil {
			return nil, err
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
		_ = d.hold.Unlock() // another one has taken it for left over before it was locked
	}
}

// Remove removes the folder and all that is in it.
func (d *Dir) Remove() error {
	err := os.RemoveAll(d.Path)
	made.Lock()
	delete(made.paths, d.Path)
	made.Unlock()
	return errors.Join(err, d.hold.Unlock())
}

// Clear removes all folders of this process, which is about to end without
// closing what uses them. No other is made after it.
func Clear() {
	made.Lock()
	defer made.Unlock()
	made.over = true
	for path := range made.paths {
		// While it goes something may still be put into it. What is left after all the
		// next program removes.
		for range clearTries {
			if os.RemoveAll(path) == nil {
				break
			}
		}
	}
}

const clearTries = 10

// lock returns the lock of a folder, not taken yet. It is on the folder itself,
// so that it goes with it.
func lock(path string) *flock.Flock { return flock.New(path, flock.SetFlag(os.O_RDONLY)) }

// sweep removes the folders of this user that begin with prefix and that no
// process holds. What it cannot look at or remove it leaves.
func sweep(prefix string) {
	entries, err := os.ReadDir(os.TempDir())
	if err != nil {
		return
	}
	for _, e := range entries {
		if !e.IsDir() || !isOurs(e, prefix) {
			continue
		}
		path := filepath.Join(os.TempDir(), e.Name())
		hold := lock(path)
		if ok, err := hold.TryLock(); err == nil && ok {
			_ = os.RemoveAll(path)
			_ = hold.Unlock()
		}
	}
}

// isOurs reports whether Make gave the folder its name, for this user.
func isOurs(e fs.DirEntry, prefix string) bool {
	random, ok := strings.CutPrefix(e.Name(), prefix)
	if !ok || random == "" || strings.Trim(random, "0123456789") != "" {
		return false
	}
	info, err := e.Info()
	if err != nil {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}
