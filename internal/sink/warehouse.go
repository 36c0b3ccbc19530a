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
	FS    FS               // nil: Disk
	Now   func() time.Time // nil: time.Now
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
	lost      []schema.Run // rows of runs before this one that could not write them
	recorded  bool         // the run's last row is committed

	committing sync.Mutex // one commit at a time
	noting     sync.Mutex
}

// Open takes the warehouse for writing. It returns a *LockedError when another
// run has it, a *layout.VersionError when a newer callhouse wrote it, and a
// *DamageError when what is there cannot be trusted. It sweeps what a crash
// left; what the journal still holds is committed by the next Commit.
func Open(opts Options) (_ *Warehouse, err error) {
	if opts.FS == nil {
		opts.FS = Disk{}
	}
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
	if err := ensureDir(opts.FS, opts.Root); err != nil {
		return nil, fmt.Errorf("open the warehouse: %w", err)
	}
	w := &Warehouse{opts: opts, codec: newCodec()}
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

// recover brings the warehouse to what its last commit and its journal say.
func (w *Warehouse) recover() error {
	fsys, root := w.opts.FS, w.opts.Root
	for _, name := range []string{layout.SnapshotsName, layout.JournalName} {
		if err := ensureDir(fsys, filepath.Join(root, name)); err != nil {
			return fmt.Errorf("open the warehouse: %w", err)
		}
	}
	var err error
	if w.current, err = readCurrent(fsys, root); err != nil {
		return err
	}
	if err := w.settleModes(); err != nil {
		return err
	}
	if w.forgotten, err = readTombstones(fsys, w.current); err != nil {
		return err
	}
	if err := sweep(fsys, root, w.current); err != nil {
		return err
	}
	refs, err := listJournal(fsys, root)
	if err != nil {
		return err
	}
	if w.current != nil {
		// The commit that took these in was cut short before it removed them.
		var done []segmentRef
		refs = slices.DeleteFunc(refs, func(ref segmentRef) bool {
			in := slices.Contains(w.current.Manifest.Journal, layout.Segment{Run: ref.run, Number: ref.n})
			if in {
				done = append(done, ref)
			}
			return in
		})
		if err := dropSegments(fsys, root, done, ""); err != nil {
			return err
		}
	}
	w.sealed = refs
	w.leftover = slices.Clone(refs)
	return w.dropEmptyRuns()
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
	w.found(c.wrote)
	// The commit stands. What follows only tidies, and is done again at the next
	// opening if it fails now.
	if err := dropSegments(w.opts.FS, w.opts.Root, refs, w.opts.RunID); err != nil {
		return err
	}
	return retire(w.opts.FS, w.opts.Root, w.opts.Now())
}

func (w *Warehouse) newCommit() *commit {
	c := &commit{fsys: w.opts.FS, root: w.opts.Root, old: w.Snapshot(), now: w.opts.Now(), codec: w.codec,
		workers: w.opts.Workers, forgotten: w.forgotten, lost: w.lost, masker: w.masker, mask: w.mask}
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
	return retire(w.opts.FS, w.opts.Root, w.opts.Now())
}

// Close lets the warehouse go. What was put and not committed stays in the
// journal for the next run.
func (w *Warehouse) Close() error {
	_, _, err := w.journal.seal()
	return errors.Join(err, w.dropEmptyRuns(), w.lose(nil), w.lock.release())
}
