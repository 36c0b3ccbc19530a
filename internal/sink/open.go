package sink

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"callhouse/internal/layout"
	"callhouse/internal/sink/disk"
)

// Open opens the warehouse for writing. It returns a *LockedError if another run holds it, a
// *layout.VersionError if a newer callhouse wrote it, a *DamageError if its
// content cannot be trusted, and a *disk.CapabilityError if the file system cannot hold a warehouse. It
// removes the leftovers of a crash. The next Commit includes the records that are still in the
// journal.
func Open(opts Options) (_ *Warehouse, err error) {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Workers <= 0 {
		opts.Workers = min((runtime.GOMAXPROCS(0)+1)/2, maxWorkers)
	}
	if _, ok := layout.ParseRunID(opts.RunID); !ok {
		return nil, fmt.Errorf("open the warehouse: %q is not a run id", opts.RunID)
	}
	if err := layout.CheckRoot(opts.Root); err != nil {
		return nil, err
	}
	w := &Warehouse{opts: opts, verified: new(verifiedFiles)}
	if err = w.take(opts.FS); err != nil {
		return nil, err
	}
	w.unrecorded = lostRuns(w.lock.Lost())
	w.journal = newJournal(w.opts.FS, opts.Root, opts.RunID)
	if err := w.recover(); err != nil {
		problem := ""
		if opts.ProblemOf != nil {
			problem = opts.ProblemOf(err)
		}
		return nil, errors.Join(err, w.noteUnrecorded(err, problem), w.lock.Release())
	}
	return w, nil
}

// prepare makes a warehouse ready to be written, and removes what killed processes left.
func (w *Warehouse) prepare() error {
	fsys, root := w.opts.FS, w.opts.Root
	for _, name := range []string{layout.SnapshotsName, layout.JournalName} {
		if err := disk.EnsureDir(fsys, filepath.Join(root, name)); err != nil {
			return fmt.Errorf("open the warehouse: %w", err)
		}
	}
	if err := disk.Probe(fsys, root); err != nil {
		return err
	}
	if err := disk.Private(fsys, filepath.Join(root, layout.JournalName)); err != nil {
		return fmt.Errorf("open the warehouse: %w", err)
	}
	if err := sweep(fsys, root, w.current); err != nil {
		return err
	}
	return w.dropDeletions()
}

// recover finds the current snapshot and the rest of the journal.
func (w *Warehouse) recover() (err error) {
	fsys, root := w.opts.FS, w.opts.Root
	if w.current, err = w.findCurrent(); err != nil {
		return err
	}
	w.forgotten, err = readTombstones(fsys, w.current)
	if err != nil {
		return err
	}
	if !w.opts.ReadOnly {
		if err := w.prepare(); err != nil {
			return err
		}
	}
	refs, err := ListSegments(fsys, root)
	if err != nil {
		return err
	}
	var committed []layout.Segment
	if w.current != nil {
		committed = w.current.Manifest.Journal
	}
	// The commit of these segments was interrupted before it removed them.
	var done []layout.Segment
	refs = slices.DeleteFunc(refs, func(ref layout.Segment) bool {
		in := slices.Contains(committed, ref)
		if in {
			done = append(done, ref)
		}
		return in
	})
	w.sealed, w.leftover = refs, slices.Clone(refs)
	for _, l := range missingSegments(refs, w.current) {
		w.lostJournal(l)
	}
	if w.opts.ReadOnly {
		return nil
	}
	if err := removeSegments(fsys, root, done); err != nil {
		return err
	}
	return removeEmptyRuns(w.opts.FS, w.opts.Root)
}

// findCurrent returns the snapshot to continue from, or nil if there is none yet.
func (w *Warehouse) findCurrent() (*layout.Snapshot, error) {
	fsys, root := w.opts.FS, w.opts.Root
	s, err := currentSnapshot(fsys, root)
	var lost *layout.CurrentError
	var damage *layout.DamageError
	switch {
	case errors.As(err, &lost) && w.opts.Adopt && lost.Newest > 0:
		return layout.OpenSnapshot(fsys, root, lost.Newest)
	case errors.As(err, &damage) && w.opts.Adopt:
		return newestReadable(fsys, root)
	case !errors.As(err, &lost) || !lost.FirstCommit() || w.opts.ReadOnly:
		return s, err
	}
	// The very first commit was interrupted between its last two renames.
	if s, err = layout.OpenSnapshot(fsys, root, 1); err != nil {
		return nil, err
	}
	w.notice("the link current was missing, as after a crash in the first commit; it is restored to snapshot 1, the only one")
	return s, makeCurrent(fsys, root, s)
}

// take makes the warehouse's folder if it does not exist, and takes its lock. fsys is the one in
// the options.
func (w *Warehouse) take(fsys disk.FS) error {
	root := w.opts.Root
	if err := disk.MakeRoot(root); err != nil {
		return fmt.Errorf("open the warehouse: %w", err)
	}
	host, _ := os.Hostname() // a courtesy to those who find the lock
	var err error
	w.lock, w.spent, err = disk.TakeLock(root, disk.Holder{PID: os.Getpid(), Host: host, RunID: w.opts.RunID, Since: w.opts.Now().UTC(),
		Records: w.opts.Records, Follow: w.opts.Follow})
	if err != nil {
		return err
	}
	if fsys == nil {
		if fsys, err = disk.Open(root); err != nil {
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

// Close releases the warehouse. Uncommitted data stays in the journal for the next run.
func (w *Warehouse) Close() error {
	if w.opts.ReadOnly {
		return w.lock.Release()
	}
	_, _, err := w.journal.Seal()
	return errors.Join(err, removeEmptyRuns(w.opts.FS, w.opts.Root), w.noteUnrecorded(nil, ""), w.lock.Release())
}
