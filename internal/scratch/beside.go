package scratch

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/gofrs/flock"
)

// Beside is a temporary file or folder next to the one that it will replace by a rename. It is
// locked while its process lives, and a folder in TMPDIR records its path. So the leftovers of a
// killed program are removed by the next program that writes into the same folder or uses the same
// TMPDIR.
type Beside struct {
	Path string
	hold *flock.Flock
	note *Dir // nil if TMPDIR is full
}

// noteName is the file in a note's folder that holds the path.
const noteName = "beside"

// besideRE matches the names that File and Folder make.
var besideRE = regexp.MustCompile(`^\..*\.callhouse-[0-9]{1,20}\.tmp$`)

// mostName is the maximum number of bytes of the target's name in the temporary name, to limit its
// length.
const mostName = 200

// File makes a temporary file next to target, readable only by this user. The caller closes the
// file and then calls Remove, whether it was renamed or not.
func File(target string) (*os.File, *Beside, error) {
	var f *os.File
	b, err := beside(target, func(path string) (err error) {
		if f != nil {
			_ = f.Close() // another process took it for a leftover
		}
		f, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	return f, b, nil
}

// Folder makes a temporary folder next to target, readable only by this user.
func Folder(target string) (*Beside, error) {
	return beside(target, func(path string) error { return os.Mkdir(path, 0o700) })
}

func beside(target string, create func(path string) error) (*Beside, error) {
	target, err := filepath.Abs(target)
	if err != nil {
		return nil, err
	}
	dir, name := filepath.Split(target)
	sweepBeside(dir)
	note, err := Make(Output)
	if errors.Is(err, errOver) {
		return nil, err
	}
	for {
		path := filepath.Join(dir, "."+name[:min(len(name), mostName)]+".callhouse-"+strconv.FormatUint(rand.Uint64(), 10)+".tmp")
		b := &Beside{Path: path, hold: lock(path), note: note}
		if note != nil {
			if err := os.WriteFile(filepath.Join(note.Path, noteName), []byte(path), 0o600); err != nil {
				return nil, errors.Join(err, note.Remove())
			}
		}
		held, err := b.create(create)
		if errors.Is(err, fs.ErrExist) || err == nil && !held {
			continue
		}
		if err != nil && note != nil {
			err = errors.Join(err, note.Remove())
		}
		if err != nil {
			return nil, err
		}
		return b, nil
	}
}

// create makes and locks the file or folder. held is false if another process took it for a
// leftover before it was locked.
func (b *Beside) create(create func(path string) error) (held bool, err error) {
	made.Lock()
	defer made.Unlock()
	if made.over {
		return false, errOver
	}
	if err := create(b.Path); err != nil {
		return false, err
	}
	ok, err := b.hold.TryLock()
	if _, gone := os.Lstat(b.Path); gone != nil || !ok && err == nil {
		return false, b.hold.Unlock()
	}
	made.paths[b.Path] = true
	return true, nil
}

// Remove removes the file or folder, if it still has the temporary name, and the note.
func (b *Beside) Remove() error {
	err := os.RemoveAll(b.Path)
	made.Lock()
	delete(made.paths, b.Path)
	made.Unlock()
	err = errors.Join(err, b.hold.Unlock())
	if b.note != nil {
		err = errors.Join(err, b.note.Remove())
	}
	return err
}

// sweepBeside removes the leftovers of this user's killed programs in a folder.
func sweepBeside(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if besideRE.MatchString(e.Name()) {
			removeBeside(filepath.Join(dir, e.Name()), false)
		}
	}
}

// removeBeside removes the leftover of a killed program at a path if it belongs to this user. dead
// means that the program is known to have ended, which makes locks unnecessary. It reports whether
// nothing is left to do.
func removeBeside(path string, dead bool) (done bool) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || !besideRE.MatchString(filepath.Base(path)) {
		return true
	}
	if err != nil || !info.IsDir() && !info.Mode().IsRegular() || !isUsers(info) {
		return err == nil
	}
	hold := lock(path)
	ok, err := hold.TryLock()
	if !ok && (err == nil || !dead) {
		return false
	}
	return errors.Join(os.RemoveAll(path), hold.Unlock()) == nil
}

// settleNote removes the leftover that the note in an abandoned folder points to, and reports
// whether the note is no longer needed.
func settleNote(dir string) bool {
	path, err := os.ReadFile(filepath.Join(dir, noteName))
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	return !filepath.IsAbs(string(path)) || removeBeside(string(path), true)
}
