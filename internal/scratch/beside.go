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

// Beside is a temporary file or folder beside the one whose place it is to take by a
// rename. It is locked for as long as its process lives, and a folder in TMPDIR notes
// where it is. So what a killed program leaves is removed by the next one that writes into
// the same folder, or uses the same TMPDIR.
type Beside struct {
	Path string
	hold *flock.Flock
	note *Dir // nil: there is no room in TMPDIR
}

// noteName is the file of a note's folder that holds the path.
const noteName = "beside"

// besideRE matches the names that File and Folder give.
var besideRE = regexp.MustCompile(`^\..*\.callhouse-[0-9]{1,20}\.tmp$`)

// mostName is how much of the target's name is repeated, so that the whole is not too long.
const mostName = 200

// File makes a temporary file beside target, which nobody else can read. The caller
// closes the file and then calls Remove, whether it was renamed or not.
func File(target string) (*os.File, *Beside, error) {
	var f *os.File
	b, err := beside(target, func(path string) (err error) {
		if f != nil {
			_ = f.Close() // it was taken for left over
		}
		f, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	return f, b, nil
}

// Folder makes a temporary folder beside target, which nobody else can read.
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

// create makes and locks the file or folder. held is false if another process took it for
// left over before it was locked.
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

// Remove removes what is still there under the temporary name, and the note.
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

// sweepBeside removes what killed programs of this user left in a folder.
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

// removeBeside removes what a killed program left at a path, if it is of this user. dead
// says that the program is known to have ended, so that a file system without locks does
// not matter. It reports whether there is nothing left to do.
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

// settleNote removes what the note in an abandoned folder leads to, and reports whether
// the note is of no more use.
func settleNote(dir string) bool {
	path, err := os.ReadFile(filepath.Join(dir, noteName))
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	return !filepath.IsAbs(string(path)) || removeBeside(string(path), true)
}
