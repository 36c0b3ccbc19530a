package sink

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"callhouse/internal/layout"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
	"callhouse/internal/sink/commit"
	"callhouse/internal/sink/disk"
	"callhouse/internal/sink/journal"
	"callhouse/internal/sink/snapshot"
	"callhouse/internal/wire/mask"
)

// Options configures a warehouse opened for writing.
type Options struct {
	Root  string           // the warehouse's folder; created if missing, and removed again if nothing is committed
	RunID string           // the run that writes: layout.RunID
	FS    disk.FS          // nil: the disk
	Group bool             // the group may read new files and folders: 0640 and 0750
	Now   func() time.Time // nil: time.Now
	// ReadOnly is for a command that only reads: it holds the lock, and any other write fails.
	ReadOnly bool
	// Adopt continues from the newest complete snapshot if the link current is lost or the manifest
	// of the current one is damaged. Only Rollback and Repair use it.
	Adopt bool
	// Amnesia opens the warehouse although the tombstones are damaged, so that Repair can give them
	// up: forgotten calls may then be fetched again.
	Amnesia bool
	// Workers is the number of periods written at the same time, by two goroutines each. 0 is half
	// the number of processors, but at most maxWorkers.
	Workers int
	// KeepFrom is a UTC midnight: a commit drops calls that started before it. Zero keeps all.
	KeepFrom time.Time
	// Country is the region in which telephone numbers without a country code are read, such as KR;
	// empty: that of the warehouse's last commit.
	Country string
	// Spent is a file outside of the warehouse. It keeps the requests of runs that failed before
	// there was anything to commit, for the next run's budget. Empty: they are not kept.
	Spent string
	// Records means that this is a run with a row in the table runs. If it cannot write the row,
	// the next run does.
	Records bool
	// ProblemOf returns the one word for an error, for the row of a run that could not even open
	// the warehouse; nil: none is stored.
	ProblemOf func(error) string
}

// Stats counts the results of commits.
type Stats = commit.Stats

// maxWorkers bounds the memory of a commit: each worker holds open row groups.
const maxWorkers = 4

// Warehouse is a warehouse open for writing, by one run at a time.
type Warehouse struct {
	opts    Options
	lock    *disk.Lock
	spent   []disk.Spend
	journal *journal.Journal

	mu        sync.Mutex
	current   *layout.Snapshot     // nil: nothing committed yet
	forgotten *snapshot.Tombstones // of current
	amnesia   bool                 // they are damaged, and given up
	sealed    []layout.Segment     // durable, not yet committed
	leftover  []layout.Segment     // those of sealed that earlier runs left
	total     Stats                // of all commits of this run
	commits   int64
	masker    *mask.Mask   // nil: nothing is masked
	mask      *layout.Mask // entry of commits about masks; nil: that of the last one

	origin     *layout.Origin // entry of commits about it; nil: that of the last one
	unrecorded []schema.Run   // rows that earlier runs could not write
	recorded   bool           // the run's last row is committed

	kinds      snapshotKinds    // of the snapshot for which they were counted
	proofs     *snapshot.Proofs // the files that were compared with their checksums
	strange    []string         // paths of foreign objects in the journal
	notices    []string         // faults found and repaired, for the run's report
	incomplete map[string]bool  // runs whose journals lost a part, so that their recorded coverage may be wrong

	madeKey bool // the key of the masks was made, but not used yet

	committing sync.Mutex // one commit at a time
	noting     sync.Mutex
}

// Open opens the warehouse for writing. It returns a *LockedError if another run holds it, a
// *layout.VersionError or *layout.ColumnError if a newer callhouse wrote it, and a *DamageError if
// its content cannot be trusted. It removes the leftovers of a crash; the next Commit commits what
// the journal still holds.
func Open(opts Options) (_ *Warehouse, err error) {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Workers <= 0 {
		opts.Workers = min((runtime.GOMAXPROCS(0)+1)/2, maxWorkers)
	}
	if _, ok := layout.ParseRunID(opts.RunID); !ok {
		return nil, fmt.Errorf("open the warehouse: %q is no run id", opts.RunID)
	}
	w := &Warehouse{opts: opts, proofs: new(snapshot.Proofs)}
	for try := 0; ; try++ {
		if err = w.take(opts.FS); err == nil {
			break
		}
		if try == takeTries || !disk.IsGone(err) { // otherwise another run has removed it
			return nil, err
		}
	}
	w.unrecorded = commit.LostRuns(w.lock.Lost())
	w.journal = journal.New(w.opts.FS, opts.Root, opts.RunID)
	if err := w.recover(); err != nil {
		problem := ""
		if opts.ProblemOf != nil {
			problem = opts.ProblemOf(err)
		}
		return nil, errors.Join(err, w.noteUnrecorded(err, problem), w.giveBack())
	}
	return w, nil
}

// recover finds the current snapshot and the rest of the journal.
func (w *Warehouse) recover() (err error) {
	fsys, root := w.opts.FS, w.opts.Root
	if w.current, err = w.findCurrent(); err != nil {
		return err
	}
	w.forgotten, err = snapshot.ReadTombstones(fsys, w.current)
	if newer := new(layout.VersionError); err != nil && w.opts.Amnesia && !errors.As(err, &newer) {
		w.amnesia, err = true, nil
	}
	if err != nil {
		return err
	}
	if !w.opts.ReadOnly {
		if w.current != nil {
			if err := w.current.Manifest.Writable(); err != nil {
				return err
			}
		}
		for _, name := range []string{layout.SnapshotsName, layout.JournalName} {
			if err := disk.EnsureDir(fsys, filepath.Join(root, name)); err != nil {
				return fmt.Errorf("open the warehouse: %w", err)
			}
		}
		if err := disk.SettleModes(fsys, root); err != nil {
			return err
		}
		if err := snapshot.Sweep(fsys, root, w.current); err != nil {
			return err
		}
	}
	refs, odd, err := journal.List(fsys, root)
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
	for _, l := range append(odd, journal.Missing(refs, w.current)...) {
		w.lostJournal(l)
		if l.Path != "" {
			w.strange = append(w.strange, l.Path)
		}
	}
	if w.opts.ReadOnly {
		return nil
	}
	if err := journal.Remove(fsys, root, done, ""); err != nil {
		return err
	}
	return journal.RemoveEmpty(w.opts.FS, w.opts.Root)
}

// findCurrent returns the snapshot to continue from, or nil if there is none yet.
func (w *Warehouse) findCurrent() (*layout.Snapshot, error) {
	fsys, root := w.opts.FS, w.opts.Root
	s, err := snapshot.Current(fsys, root)
	var lost *layout.CurrentError
	var damage *disk.DamageError
	switch {
	case errors.As(err, &lost) && w.opts.Adopt && lost.Newest > 0:
		return snapshot.Open(fsys, root, layout.SnapshotName(lost.Newest))
	case errors.As(err, &damage) && w.opts.Adopt:
		return snapshot.NewestComplete(fsys, root)
	case !errors.As(err, &lost) || !lost.FirstCommit() || w.opts.ReadOnly:
		return s, err
	}
	// The very first commit was interrupted between its last two renames.
	if s, err = snapshot.Open(fsys, root, layout.SnapshotName(1)); err != nil {
		return nil, err
	}
	w.notice("the link current was missing, as after a crash in the first commit; it leads to snapshot 1, the only one, again")
	return s, snapshot.MakeCurrent(fsys, root, s)
}

// notice records a fault that was found and repaired.
func (w *Warehouse) notice(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if what := fmt.Sprintf(format, args...); !slices.Contains(w.notices, what) {
		w.notices = append(w.notices, what)
	}
}

// lostJournal records that a part of a run's journal cannot be read.
func (w *Warehouse) lostJournal(l journal.Loss) {
	w.notice("%s; what it held is listed and fetched again", l.What)
	w.lostRun(l.Run)
}

// lostRun makes commits ignore the coverage in a run's journal.
func (w *Warehouse) lostRun(run string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.incomplete == nil {
		w.incomplete = map[string]bool{}
	}
	w.incomplete[run] = true
}

// hasAll reports whether all of a run's journal could be read.
func (w *Warehouse) hasAll(run string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.incomplete[run]
}

// Notices returns the faults that were found and repaired since the warehouse was opened, as
// sentences for the run's report and its log.
func (w *Warehouse) Notices() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.notices)
}

// Keep sets Options.KeepFrom for the following commits.
func (w *Warehouse) Keep(from time.Time) {
	w.committing.Lock()
	defer w.committing.Unlock()
	w.opts.KeepFrom = from
}

// RunID returns the id with which the warehouse was opened.
func (w *Warehouse) RunID() string { return w.opts.RunID }

// Leftover returns the earlier runs that left uncommitted records: they were killed.
func (w *Warehouse) Leftover() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var runs []string
	for _, ref := range w.leftover {
		if !slices.Contains(runs, ref.Run) {
			runs = append(runs, ref.Run)
		}
	}
	return runs
}

// Recall returns the recent requests of earlier runs.
func (w *Warehouse) Recall() []disk.Spend { return w.spent }

// Note stores a request for later runs, in one slot of a ring.
func (w *Warehouse) Note(slot int, s disk.Spend) error {
	// One at a time: each that waits for the disk would hold a thread permanently.
	w.noting.Lock()
	defer w.noting.Unlock()
	return w.lock.Note(slot, s)
}

// Put makes records durable. It is safe for concurrent use; records that arrive while the disk is
// busy are synced together. Records of forgotten calls are dropped.
func (w *Warehouse) Put(ctx context.Context, recs ...schema.Record) error {
	w.mu.Lock()
	forgotten := w.forgotten
	w.mu.Unlock()
	if forgotten != nil {
		recs = slices.DeleteFunc(slices.Clone(recs), func(r schema.Record) bool {
			if of := resource.ByName(r.Resource); of != nil {
				return r.Kind != schema.KindListed && of.Forgot(r.CallID, forgotten.Forgot)
			}
			return r.Kind != schema.KindCovered && forgotten.Forgot(r.CallID)
		})
	}
	if len(recs) == 0 {
		return nil
	}
	if err := w.journal.Put(ctx, recs); err != nil {
		if disk.IsNoSpace(err) {
			_, held := w.journal.Size()
			return disk.NoSpace(w.opts.Root, held, err)
		}
		return err
	}
	return nil
}

// Uncommitted returns the number of records put since the last commit, and their size in bytes,
// uncompressed.
func (w *Warehouse) Uncommitted() (records, bytes int64) { return w.journal.Size() }

// Snapshot returns the committed snapshot, or nil if there is none yet.
func (w *Warehouse) Snapshot() *layout.Snapshot {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.current
}

// reader reads the committed snapshot; nil if there is none yet.
func (w *Warehouse) reader() *snapshot.Reader {
	return snapshot.NewReader(w.opts.FS, w.Snapshot(), w.proofs)
}

// Totals returns the counts of all commits of this run, and their number.
func (w *Warehouse) Totals() (Stats, int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.total, w.commits
}

// Commit commits everything that was put before it. row is called once, with the totals of the run
// including this commit, and returns the run's row of the table runs. On failure the last snapshot
// stays current and the journal stays.
func (w *Warehouse) Commit(ctx context.Context, row func(total Stats, commits int64) schema.Run) error {
	return w.commitRun(ctx, row, nil, func(*commit.Commit) {})
}

// Finish is Commit for the end of an uninterrupted run. It also compacts months that are over and
// settled, a few per night. If an interrupt or a full disk stops it, it commits without compacting.
func (w *Warehouse) Finish(ctx context.Context, row func(total Stats, commits int64) schema.Run) error {
	err := w.commitRun(ctx, row, nil, func(c *commit.Commit) { c.Nightly = true })
	if err != nil && (ctx.Err() != nil || disk.IsNoSpace(err)) {
		return w.Commit(context.WithoutCancel(ctx), row)
	}
	return err
}

// commitRun makes a commit of this run. read returns its input; nil reads the journal. It first
// peeks at each record; if that was wrong, all are decoded.
func (w *Warehouse) commitRun(ctx context.Context, row func(Stats, int64) schema.Run,
	read func(exact bool) (*commit.Intake, error), prepare func(*commit.Commit)) error {
	w.committing.Lock()
	defer w.committing.Unlock()
	ref, ok, err := w.journal.Seal()
	if err != nil {
		return err
	}
	w.mu.Lock()
	if ok {
		w.sealed = append(w.sealed, ref)
	}
	refs, before, commits := slices.Clone(w.sealed), w.total, w.commits+1
	w.mu.Unlock()
	if read == nil {
		read = func(exact bool) (*commit.Intake, error) { return w.readJournal(refs, exact) }
	} else {
		refs = nil // the journal waits for its own commit
	}
	var c *commit.Commit
	var made *layout.Snapshot
	for _, exact := range []bool{false, true} {
		in, rerr := read(exact)
		if rerr != nil {
			return fmt.Errorf("commit: %w", rerr)
		}
		c = w.newCommit()
		prepare(c)
		made, err = c.Run(ctx, w.opts.RunID, in, refs, func(s Stats) schema.Run { return row(before.Add(s), commits) })
		if err = errors.Join(err, in.Close()); !errors.Is(err, commit.ErrMisread) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	w.mu.Lock()
	w.total, w.commits = before.Add(c.Stats), commits
	if w.sealed = w.sealed[len(refs):]; len(w.sealed) == 0 {
		w.leftover = nil
	}
	w.mu.Unlock()
	for _, name := range c.Doubted {
		w.notice("the service's list of %s is empty, and was not before: what is known of them stays, until another run finds it empty too", name)
	}
	if n := c.Stats.Withheld; n > 0 {
		w.notice("an older callhouse stored secrets in %d objects and changes of them: they are withheld now; "+
			"extract secrets lists where, and extract migrate looks through the rest", n)
	}
	w.proofs.Add(c.Made) // not those that it linked, which are unproven
	w.noteRecorded(c.Wrote)
	return w.goOn(made, refs)
}

// readJournal reads segments, and records which parts cannot be read.
func (w *Warehouse) readJournal(refs []layout.Segment, exact bool) (*commit.Intake, error) {
	in, err := commit.ReadIntake(w.opts.FS, w.opts.Root, refs, w.forgotten, exact)
	if err != nil {
		return nil, err
	}
	for _, l := range in.Broken {
		w.lostJournal(l)
	}
	// The lost part may have been on the pages that these represent.
	in.Covered = slices.DeleteFunc(in.Covered, func(s commit.Covered) bool { return !w.hasAll(s.Run) })
	return in, nil
}

// goOn continues from a snapshot that was just published, and removes the segments that it holds.
// The commit is valid: if the removal fails, the next opening repeats it.
func (w *Warehouse) goOn(made *layout.Snapshot, refs []layout.Segment) error {
	w.mu.Lock()
	w.current = made
	w.mu.Unlock()
	if err := journal.Remove(w.opts.FS, w.opts.Root, refs, w.opts.RunID); err != nil {
		return err
	}
	return snapshot.Retire(w.opts.FS, w.opts.Root, made, w.opts.Now())
}

func (w *Warehouse) newCommit() *commit.Commit {
	w.mu.Lock()
	origin := w.origin
	w.mu.Unlock()
	c := &commit.Commit{FS: w.opts.FS, Root: w.opts.Root, Old: w.reader(), Now: w.opts.Now(), Workers: w.opts.Workers,
		Forgotten: w.forgotten, Lost: w.unrecorded, Country: w.opts.Country, Masker: w.masker, Mask: w.mask, Origin: origin}
	if !w.opts.KeepFrom.IsZero() {
		c.KeepFrom = w.opts.KeepFrom.UnixMilli()
	}
	return c
}

// maintain commits a change of the files that changes no call. It leaves the journal alone, and
// adds no row to the table runs.
func (w *Warehouse) maintain(ctx context.Context, prepare func(*commit.Commit)) error {
	w.committing.Lock()
	defer w.committing.Unlock()
	c := w.newCommit()
	c.AsIs = true
	prepare(c)
	made, err := c.Run(ctx, w.opts.RunID, new(commit.Intake), nil, nil)
	if err != nil {
		return err
	}
	return w.goOn(made, nil)
}

// Close releases the warehouse. Uncommitted data stays in the journal for the next run.
func (w *Warehouse) Close() error {
	if w.opts.ReadOnly {
		return w.giveBack()
	}
	_, _, err := w.journal.Seal()
	return errors.Join(err, journal.RemoveEmpty(w.opts.FS, w.opts.Root), w.noteUnrecorded(nil, ""), w.giveBack())
}
