package sink

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
)

// Options says how a warehouse is opened for writing.
type Options struct {
	Root  string           // the warehouse's folder; made when it is not there
	RunID string           // the run that writes: layout.RunID
	FS    FS               // nil: the disk
	Group bool             // the group may read what is made on the disk: 0640 and 0750
	Now   func() time.Time // nil: time.Now
	// ReadOnly opens the warehouse for a command that only looks: the lock is held,
	// and nothing else is written, made or removed. What writes then fails.
	ReadOnly bool
	// Adopt takes the newest complete snapshot for the one to go on from, where the
	// link current leads to none, and where its manifest is damaged. It is for
	// Rollback alone.
	Adopt bool
	// Workers is how many periods are written side by side, by two goroutines each;
	// 0: half as many as there are processors, but at most maxWorkers. More of
	// them are a little faster, and take more memory.
	Workers int
	// KeepFrom is the instant, a UTC midnight, from which on calls are kept: every
	// commit leaves those that started before out; zero: all are kept.
	KeepFrom time.Time
	// Records says that this is a run, which is to have a row in the table runs,
	// whatever becomes of it: where it can write none, the next run does.
	Records bool
}

// maxWorkers bounds the memory of a commit: each worker holds open row groups.
const maxWorkers = 4

// Warehouse is a warehouse open for writing, by one run at a time.
type Warehouse struct {
	opts    Options
	lock    *lock
	spent   []Spend
	journal *journal
	codec   *libzstd

	mu        sync.Mutex
	current   *layout.Snapshot // nil: nothing committed yet
	forgotten *tombstones      // of current
	sealed    []segmentRef     // durable, not yet committed
	leftover  []segmentRef     // those of sealed that runs before this one left
	total     Stats            // of all commits of this run
	commits   int64
	masker    *schema.Mask // nil: nothing is masked
	mask      *layout.Mask // what commits say of masks; nil: what the last one said

	origin   *layout.Origin // what commits say of it; nil: what the last one said
	lost     []schema.Run   // rows of runs before this one that could not write them
	recorded bool           // the run's last row is committed

	proofs   *proofs         // the files that were compared with their checksums
	notices  []string        // what was found wrong and mended, for the run's report
	distrust map[string]bool // runs of whose journals a part was lost, so that what they say is covered may not be

	committing sync.Mutex // one commit at a time
	noting     sync.Mutex
}

// Open takes the warehouse for writing. It returns a *LockedError when another
// run has it, a *layout.VersionError or *layout.ColumnError when a newer callhouse wrote it, and a
// *DamageError when what is there cannot be trusted. It sweeps what a crash
// left; what the journal still holds is committed by the next Commit.
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
	if err := os.MkdirAll(filepath.Dir(opts.Root), 0o700); err != nil {
		return nil, fmt.Errorf("open the warehouse: %w", err)
	}
	if err := makeRoot(opts.Root); err != nil {
		return nil, fmt.Errorf("open the warehouse: %w", err)
	}
	if opts.FS == nil {
		if opts.FS, err = OpenDisk(opts.Root, opts.Group); err != nil {
			return nil, fmt.Errorf("open the warehouse: %w", err)
		}
	}
	if opts.ReadOnly {
		opts.FS = readOnly{opts.FS}
	}
	w := &Warehouse{opts: opts, codec: newCodec(), proofs: new(proofs)}
	host, _ := os.Hostname() // a courtesy to whoever meets the lock
	w.lock, w.spent, err = takeLock(opts.Root, Holder{PID: os.Getpid(), Host: host, RunID: opts.RunID, Since: opts.Now().UTC(),
		Records: opts.Records})
	if err != nil {
		return nil, err
	}
	w.lost = lostRuns(w.lock.holder.Lost)
	if err := w.recover(); err != nil {
		return nil, errors.Join(err, w.lose(err), w.lock.release())
	}
	w.journal = newJournal(opts.FS, opts.Root, opts.RunID)
	return w, nil
}

// makeRoot makes the warehouse's folder unless it is there.
func makeRoot(root string) error {
	err := os.Mkdir(root, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err == nil {
		err = syncDir(filepath.Dir(root))
	}
	return err
}

// recover brings the warehouse to what its last commit and its journal say.
func (w *Warehouse) recover() (err error) {
	fsys, root := w.opts.FS, w.opts.Root
	if w.current, err = w.findCurrent(); err != nil {
		return err
	}
	if w.forgotten, err = readTombstones(fsys, w.current); err != nil {
		return err
	}
	if !w.opts.ReadOnly {
		if w.current != nil {
			if err := w.current.Manifest.Writable(); err != nil {
				return err
			}
		}
		for _, name := range []string{layout.SnapshotsName, layout.JournalName} {
			if err := ensureDir(fsys, filepath.Join(root, name)); err != nil {
				return fmt.Errorf("open the warehouse: %w", err)
			}
		}
		if err := w.settleModes(); err != nil {
			return err
		}
		if err := sweep(fsys, root, w.current); err != nil {
			return err
		}
	}
	refs, odd, err := listJournal(fsys, root)
	if err != nil {
		return err
	}
	var journal []layout.Segment
	if w.current != nil {
		journal = w.current.Manifest.Journal
	}
	// The commit that took these in was cut short before it removed them.
	var done []segmentRef
	refs = slices.DeleteFunc(refs, func(ref segmentRef) bool {
		in := slices.Contains(journal, layout.Segment{Run: ref.run, Number: ref.n})
		if in {
			done = append(done, ref)
		}
		return in
	})
	w.sealed, w.leftover = refs, slices.Clone(refs)
	for _, l := range append(odd, missingSegments(refs, w.current)...) {
		w.lostJournal(l)
	}
	if w.opts.ReadOnly {
		return nil
	}
	if err := dropSegments(fsys, root, done, ""); err != nil {
		return err
	}
	return w.dropEmptyRuns()
}

// findCurrent returns the snapshot to go on from, or nil when there is none yet.
func (w *Warehouse) findCurrent() (*layout.Snapshot, error) {
	fsys, root := w.opts.FS, w.opts.Root
	s, err := readCurrent(fsys, root)
	var lost *layout.CurrentError
	var damage *DamageError
	switch {
	case errors.As(err, &lost) && w.opts.Adopt && lost.Newest > 0:
		return readSnapshot(fsys, root, layout.SnapshotName(lost.Newest))
	case errors.As(err, &damage) && w.opts.Adopt:
		return newestComplete(fsys, root)
	case !errors.As(err, &lost) || !lost.FirstCommit() || w.opts.ReadOnly:
		return s, err
	}
	// The very first commit was cut short between its last two renames.
	if s, err = readSnapshot(fsys, root, layout.SnapshotName(1)); err != nil {
		return nil, err
	}
	w.notice("the link current was missing, as after a crash in the first commit; it leads to snapshot 1, the only one, again")
	return s, swap(fsys, root, s)
}

// newestComplete returns the newest snapshot whose manifest is sound and whose
// files are there.
func newestComplete(fsys FS, root string) (*layout.Snapshot, error) {
	numbers, err := snapshotNumbers(fsys, root)
	if err != nil {
		return nil, err
	}
	for _, n := range slices.Backward(numbers) {
		s, err := readSnapshot(fsys, root, layout.SnapshotName(n))
		if err == nil && layout.Complete(files{fsys}, s) == nil {
			return s, nil
		}
	}
	return nil, &NotRetainedError{}
}

// notice remembers what was found wrong and mended.
func (w *Warehouse) notice(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if what := fmt.Sprintf(format, args...); !slices.Contains(w.notices, what) {
		w.notices = append(w.notices, what)
	}
}

// lostJournal notes that a part of a run's journal cannot be read.
func (w *Warehouse) lostJournal(l loss) {
	w.notice("%s; what it held is listed and fetched again", l.what)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.distrust == nil {
		w.distrust = map[string]bool{}
	}
	w.distrust[l.run] = true
}

// trusts says whether all of a run's journal could be read.
func (w *Warehouse) trusts(run string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.distrust[run]
}

// Notices returns what was found wrong with the warehouse since it was opened,
// and mended: sentences for the run's report and its log.
func (w *Warehouse) Notices() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.notices)
}

// dropEmptyRuns removes the journal folders of runs that left nothing.
func (w *Warehouse) dropEmptyRuns() error {
	dir := filepath.Join(w.opts.Root, layout.JournalName)
	entries, err := w.opts.FS.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("list the journal: %w", err)
	}
	for _, e := range entries {
		if _, ok := layout.ParseRunID(e.Name()); !ok || !e.IsDir() {
			continue
		}
		path := filepath.Join(dir, e.Name())
		if left, err := w.opts.FS.ReadDir(path); err == nil && len(left) == 0 {
			if err := w.opts.FS.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("remove an empty journal: %w", err)
			}
		}
	}
	return nil
}

// Keep sets Options.KeepFrom for the commits to come.
func (w *Warehouse) Keep(from time.Time) {
	w.committing.Lock()
	defer w.committing.Unlock()
	w.opts.KeepFrom = from
}

// RunID returns the id under which the warehouse was opened.
func (w *Warehouse) RunID() string { return w.opts.RunID }

// Leftover returns the runs before this one that left records uncommitted: they
// were killed.
func (w *Warehouse) Leftover() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var runs []string
	for _, ref := range w.leftover {
		if !slices.Contains(runs, ref.run) {
			runs = append(runs, ref.run)
		}
	}
	return runs
}

// Recall returns the requests that the runs before this one sent lately.
func (w *Warehouse) Recall() []Spend { return w.spent }

// Note remembers a request for the runs after this one, in place slot of a ring.
func (w *Warehouse) Note(slot int, s Spend) error {
	// One at a time: where the disk makes them wait, each would hold a thread, which
	// stays.
	w.noting.Lock()
	defer w.noting.Unlock()
	return w.lock.note(slot, s)
}

// Put makes records durable. It is safe for concurrent use, and cheap in
// company: what comes while the disk is busy is synced together. Records of
// calls that were forgotten are dropped.
func (w *Warehouse) Put(ctx context.Context, recs ...schema.Record) error {
	w.mu.Lock()
	forgotten := w.forgotten
	w.mu.Unlock()
	if forgotten != nil {
		recs = slices.DeleteFunc(slices.Clone(recs), func(r schema.Record) bool {
			return r.Kind != schema.KindCovered && forgotten.forgot(r.CallID)
		})
	}
	if len(recs) == 0 {
		return nil
	}
	if err := w.journal.put(ctx, recs); err != nil {
		if isNoSpace(err) {
			_, held := w.journal.size()
			return &NoSpaceError{Root: w.opts.Root, Wants: held, Err: err}
		}
		return err
	}
	return nil
}

// Uncommitted returns how many records were put since the last commit, and
// their size in bytes, uncompressed.
func (w *Warehouse) Uncommitted() (records, bytes int64) { return w.journal.size() }

// Snapshot returns the committed snapshot, or nil when there is none yet.
func (w *Warehouse) Snapshot() *layout.Snapshot {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.current
}

// Totals returns what all commits of this run did, and how many they were.
func (w *Warehouse) Totals() (Stats, int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.total, w.commits
}

// Commit commits everything that was put before it. row is called once, with
// the totals of the run including this commit, and returns the run's row of
// the table runs. On failure the last snapshot stands and the journal stays.
func (w *Warehouse) Commit(ctx context.Context, row func(total Stats, commits int64) schema.Run) error {
	return w.commitRun(ctx, row, func(*commit) {})
}

// Finish is Commit for the end of a run that was not interrupted: it also makes
// one file a table of months that are over and settled, as many as a night may
// be spent on. Where an interrupt or a full disk keeps it from that, it commits
// without.
func (w *Warehouse) Finish(ctx context.Context, row func(total Stats, commits int64) schema.Run) error {
	err := w.commitRun(ctx, row, func(c *commit) { c.nightly = true })
	if err != nil && (ctx.Err() != nil || isNoSpace(err)) {
		return w.Commit(context.WithoutCancel(ctx), row)
	}
	return err
}

func (w *Warehouse) commitRun(ctx context.Context, row func(Stats, int64) schema.Run, prepare func(*commit)) error {
	w.committing.Lock()
	defer w.committing.Unlock()
	ref, ok, err := w.journal.seal()
	if err != nil {
		return err
	}
	w.mu.Lock()
	if ok {
		w.sealed = append(w.sealed, ref)
	}
	refs, before, commits := slices.Clone(w.sealed), w.total, w.commits+1
	w.mu.Unlock()
	c := w.newCommit()
	prepare(c)
	if c.taken != nil {
		refs = nil // the journal waits for its own commit
	}
	snapshot, err := c.run(ctx, w.opts.RunID, refs, func(s Stats) schema.Run { return row(before.add(s), commits) })
	if err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	w.mu.Lock()
	w.current, w.total, w.commits = snapshot, before.add(c.stats), commits
	if w.sealed = w.sealed[len(refs):]; len(w.sealed) == 0 {
		w.leftover = nil
	}
	w.mu.Unlock()
	w.proofs.add(c.made) // not what it linked, which nobody compared
	w.found(c.wrote)
	// The commit stands. What follows only tidies, and is done again at the next
	// opening if it fails now.
	if err := dropSegments(w.opts.FS, w.opts.Root, refs, w.opts.RunID); err != nil {
		return err
	}
	return retire(w.opts.FS, w.opts.Root, snapshot, w.opts.Now())
}

func (w *Warehouse) newCommit() *commit {
	c := &commit{fsys: w.opts.FS, root: w.opts.Root, old: w.Snapshot(), now: w.opts.Now(), codec: w.codec,
		lostJournal: w.lostJournal, trusts: w.trusts,
		proofs: w.proofs, workers: w.opts.Workers, forgotten: w.forgotten, lost: w.lost, masker: w.masker, mask: w.mask}
	w.mu.Lock()
	c.origin = w.origin
	w.mu.Unlock()
	if !w.opts.KeepFrom.IsZero() {
		c.keepFrom = w.opts.KeepFrom.UnixMilli()
	}
	return c
}

// maintain commits a change of the files, not of what they say: it takes in
// nothing of the journal, and is no run's.
func (w *Warehouse) maintain(ctx context.Context, prepare func(*commit)) error {
	w.committing.Lock()
	defer w.committing.Unlock()
	c := w.newCommit()
	c.asIs = true
	prepare(c)
	snapshot, err := c.run(ctx, w.opts.RunID, nil, nil)
	if err != nil {
		return err
	}
	w.mu.Lock()
	w.current = snapshot
	w.mu.Unlock()
	return retire(w.opts.FS, w.opts.Root, snapshot, w.opts.Now())
}

// Close lets the warehouse go. What was put and not committed stays in the
// journal for the next run.
func (w *Warehouse) Close() error {
	if w.opts.ReadOnly {
		return w.lock.release()
	}
	_, _, err := w.journal.seal()
	return errors.Join(err, w.dropEmptyRuns(), w.lose(nil), w.lock.release())
}
