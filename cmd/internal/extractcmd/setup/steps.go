package setup

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"callhouse/internal/scratch"
	"callhouse/internal/words"
)

// step is one change of the machine.
type step struct {
	what string // in the list that is confirmed
	do   func(ctx context.Context) error
	back func()   // reverts it; nil: nothing to revert
	undo []string // commands that revert it later

	path     string // the file that it writes; may be empty
	replaces bool   // whether that file exists with other content
}

// perform performs all steps. If one fails, it reverts the completed ones.
func perform(ctx context.Context, steps []*step) error {
	for i, s := range steps {
		err := cmp.Or(ctx.Err(), s.do(ctx))
		if err == nil {
			continue
		}
		for _, done := range slices.Backward(steps[:i+1]) {
			if done.back != nil {
				done.back()
			}
		}
		if ctx.Err() != nil {
			return interrupted()
		}
		return err
	}
	return nil
}

// file is a file to write.
type file struct {
	path     string
	text     string
	mode     fs.FileMode
	folder   fs.FileMode // of new folders
	uid, gid int         // owner; 0: the current user
	secret   bool        // keep no copy of the replaced file
	what     string      // description, with the path
}

// differs reports whether the file exists with another text, or another mode.
func (f *file) differs() (exists, differs bool, old []byte) {
	old, err := os.ReadFile(f.path)
	st, serr := os.Stat(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, true, nil
	}
	return true, err != nil || serr != nil || !bytes.Equal(old, []byte(f.text)) || f.secret && st.Mode().Perm() != f.mode, old
}

// step returns the step that writes the file; nil if the file already exists unchanged.
func (f *file) step() *step {
	if real, err := filepath.EvalSymlinks(f.path); err == nil {
		f.path = real
	}
	exists, differs, old := f.differs()
	if !differs {
		return nil
	}
	s := &step{what: f.what, path: f.path, replaces: exists, undo: []string{"rm " + words.Shell(f.path)}}
	if dir := filepath.Dir(f.path); f.secret && !present(dir) {
		s.undo = append(s.undo, "rmdir "+words.Shell(dir))
	}
	kept := f.path + ".old"
	if exists && !f.secret {
		s.what += " (the old file is kept as " + kept + ")"
		s.undo = []string{"mv " + words.Shell(kept) + " " + words.Shell(f.path)}
	}
	var made []string // new folders
	wrote, copied := false, false
	s.do = func(context.Context) (err error) {
		if made, err = f.makeFolders(); err != nil {
			return err
		}
		if exists && !f.secret {
			if err = f.write(kept, old); err != nil {
				return err
			}
			copied = true
		}
		err = f.write(f.path, []byte(f.text))
		wrote = err == nil
		return err
	}
	s.back = func() {
		switch {
		case wrote && exists:
			_ = f.write(f.path, old)
		case wrote:
			_ = os.Remove(f.path)
		}
		if copied {
			_ = os.Remove(kept)
		}
		for _, dir := range slices.Backward(made) {
			_ = os.Remove(dir)
		}
	}
	return s
}

// makeFolders creates the missing folders above the file, and returns them.
func (f *file) makeFolders() (made []string, err error) {
	var missing []string
	for dir := filepath.Dir(f.path); !present(dir) && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		missing = append(missing, dir)
	}
	for _, dir := range slices.Backward(missing) {
		if err := os.Mkdir(dir, f.folder); err != nil {
			return made, err
		}
		made = append(made, dir)
		if f.gid != 0 {
			if err := os.Chown(dir, 0, f.gid); err != nil {
				return made, err
			}
		}
	}
	return made, nil
}

// write replaces a file atomically, by a rename.
func (f *file) write(path string, text []byte) error {
	out, tmp, err := scratch.File(path)
	if err != nil {
		return err
	}
	_, err = out.Write(text)
	if err == nil {
		err = out.Chmod(f.mode)
	}
	if err == nil && f.uid+f.gid != 0 {
		err = out.Chown(f.uid, f.gid)
	}
	if err == nil {
		err = out.Sync()
	}
	if err = errors.Join(err, out.Close()); err == nil {
		err = os.Rename(tmp.Path, path)
	}
	return errors.Join(err, tmp.Remove())
}

func present(path string) bool { _, err := os.Lstat(path); return err == nil }
