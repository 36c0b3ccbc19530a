package sink

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"callhouse/internal/layout"
	"callhouse/internal/sink/disk"
)

// takeTries is the number of attempts of Open if another run removes the empty warehouse at the
// same time.
const takeTries = 3

// take makes the warehouse's folder if it does not exist, and takes its lock. fsys is that of the
// options.
func (w *Warehouse) take(fsys disk.FS) error {
	root := w.opts.Root
	made, err := disk.MakeRoot(root)
	own := fsys == nil
	if err == nil && own {
		fsys, err = disk.Open(root, w.opts.Group)
	}
	if err != nil {
		disk.RemoveRoot(root, made)
		return fmt.Errorf("open the warehouse: %w", err)
	}
	if made > 0 && w.opts.Spent != "" {
		disk.Restore(root, w.opts.Spent)
	}
	host, _ := os.Hostname() // a courtesy to those who find the lock
	w.lock, w.spent, err = disk.TakeLock(root, disk.Holder{PID: os.Getpid(), Host: host, RunID: w.opts.RunID, Since: w.opts.Now().UTC(),
		Records: w.opts.Records, Made: made})
	if c, ok := fsys.(io.Closer); ok && own { // two runs that wait for each other must not exhaust the process's files
		err = errors.Join(err, c.Close())
	}
	if err != nil {
		disk.RemoveRoot(root, made)
		return err
	}
	if own { // until the lock was taken, another run could replace the folder
		if fsys, err = disk.Open(root, w.opts.Group); err != nil {
			return errors.Join(fmt.Errorf("open the warehouse: %w", err), w.lock.Release())
		}
	}
	if w.opts.FS = fsys; w.opts.ReadOnly {
		w.opts.FS = disk.ReadOnly(fsys)
	}
	return nil
}

// Empty reports whether nothing is committed and nothing waits for a commit.
func (w *Warehouse) Empty() bool {
	records, _ := w.journal.Size()
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.current == nil && len(w.sealed) == 0 && records == 0
}

// giveBack releases the warehouse. If nothing was ever committed, it removes the warehouse: a run
// with a wrong address or key, or of a mistyped folder, leaves no trace. A folder that existed
// before keeps its lock, which remembers the requests.
func (w *Warehouse) giveBack() error {
	if w.Snapshot() != nil {
		return w.lock.Release()
	}
	root, fsys := w.opts.Root, w.opts.FS
	if !w.opts.ReadOnly {
		empty := true
		for _, name := range []string{layout.SnapshotsName, layout.JournalName} {
			path := filepath.Join(root, name)
			info, err := fsys.Lstat(path)
			if err == nil && info.IsDir() { // a link in its place is damage, and leads to other data
				err = fsys.Remove(path) // fails if it is not empty
			} else if err == nil {
				return w.lock.Release()
			}
			empty = empty && (err == nil || disk.IsGone(err))
		}
		if empty && w.madeKey {
			_ = fsys.Remove(filepath.Join(root, layout.MaskKeyName))
		}
	}
	left, err := fsys.ReadDir(root)
	made := w.lock.Made()
	if made == 0 || err != nil || len(left) > 1 || len(left) == 1 && left[0].Name() != layout.LockName {
		return w.lock.Release()
	}
	// Processes that wait for the lock notice this, and make the warehouse anew.
	err = w.lock.Remove(w.opts.Spent)
	disk.RemoveRoot(root, made)
	return err
}
