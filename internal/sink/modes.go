package sink

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"callhouse/internal/layout"
)

// settleModes gives what earlier runs wrote the modes that this one is told to
// write with, where they differ. The group never reads the journal, the lock and
// the key of the masks.
func (w *Warehouse) settleModes() error {
	d, ok := w.opts.FS.(*Disk)
	if !ok {
		return nil
	}
	file, folder := d.modes()
	snapshots := filepath.Join(w.opts.Root, layout.SnapshotsName)
	st, err := d.Lstat(snapshots)
	if err == nil {
		err = w.private(filepath.Join(w.opts.Root, layout.JournalName))
	}
	if err != nil {
		return fmt.Errorf("set the warehouse's modes: %w", err)
	}
	// Who made the root may have given it another mode: it changes with the rest.
	if st.Mode().Perm() == folder {
		return w.admit(d.group)
	}
	if err := d.chmodDir(w.opts.Root, folder); err != nil {
		return fmt.Errorf("set the warehouse's modes: %w", err)
	}
	// The folder that tells comes last: a walk that was cut short is begun again.
	err = fs.WalkDir(d.dir.Root.FS(), layout.SnapshotsName, func(name string, e fs.DirEntry, err error) error {
		path := filepath.Join(w.opts.Root, name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case e.IsDir() && path != snapshots:
			return d.chmodDir(path, folder)
		case e.Type().IsRegular():
			return d.dir.Root.Chmod(name, file)
		}
		return nil
	})
	if err == nil {
		err = d.chmodDir(snapshots, folder)
	}
	if err != nil {
		return fmt.Errorf("set the warehouse's modes: %w", err)
	}
	return nil
}

// admit lets the group into a root that was there before and shuts it out.
func (w *Warehouse) admit(group bool) error {
	st, err := os.Stat(w.opts.Root)
	if err == nil && group && st.Mode()&0o050 != 0o050 {
		err = os.Chmod(w.opts.Root, st.Mode()|0o050)
	}
	if err != nil {
		return fmt.Errorf("set the warehouse's modes: %w", err)
	}
	return nil
}
