package sink

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"callhouse/internal/calls"
	"callhouse/internal/layout"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
	"callhouse/internal/sink/disk"
	"callhouse/internal/wire/mask"
)

// Options configures a warehouse opened for writing.
type Options struct {
	Root  string           // the warehouse's folder; created if missing, and removed again if nothing is committed
	RunID string           // the run that writes: layout.RunID
	FS    disk.FS          // nil: the disk
	Now   func() time.Time // nil: time.Now
	// ReadOnly is for a command that only reads: it holds the lock, and any other write fails.
	ReadOnly bool
	// Adopt continues from the newest complete snapshot if the link current is lost or the manifest
	// of the current one is damaged. Only Rollback and Repair use it.
	Adopt bool
	// Workers is the number of periods written at the same time, by two goroutines each. 0 is half
	// the number of processors, but at most maxWorkers.
	Workers int
	// KeepFrom is an instant: a commit drops calls that started before it. Zero keeps all.
	KeepFrom time.Time
	// Country is the region in which telephone numbers without a country code are read, such as KR;
	// empty: that of the warehouse's last commit.
	Country string
	// Delete deletes recordings from the archive at an address. It returns those that may still
	// have a file, and the reason. nil: none can be deleted.
	Delete func(ctx context.Context, archive string, list []layout.Deletion) (files, bytes int64, left []layout.Deletion, err error)
	// Records means that this is a run with a row in the table runs. If it cannot write the row,
	// the next run does.
	Records bool
	// Follow is set if this is not a run, but follows the service.
	Follow *disk.Follow
	// ProblemOf returns the one word for an error, for the row of a run that could not even open
	// the warehouse; nil: no word is stored.
	ProblemOf func(error) string
}

// maxWorkers bounds the memory of a commit: each worker holds open row groups.
const maxWorkers = 4

// Warehouse is a warehouse open for writing, by one run at a time.
type Warehouse struct {
	opts    Options
	lock    *disk.Lock
	spent   []disk.Spend
	journal *journal

	mu        sync.Mutex
	current   *layout.Snapshot // nil: nothing committed yet
	forgotten *tombstones      // of current
	sealed    []layout.Segment // durable, but not yet committed
	leftover  []layout.Segment // those of sealed that earlier runs left behind
	total     Stats            // of all commits of this run
	commits   int64
	masker    *mask.Mask // nil: nothing is masked
	stamp     stamp      // for commits

	unrecorded []schema.Run // rows that earlier runs could not write
	recorded   bool         // the run's last row is committed

	verified   *verifiedFiles  // files already compared with their checksums
	notices    []string        // faults found and repaired, for the run's report
	incomplete map[string]bool // runs whose journals lost a part, so that their recorded coverage may be wrong

	retirer  retirer
	gate     gate
	schedule schedule

	committing sync.Mutex // one commit at a time
	noting     sync.Mutex
}

// notice records a fault that was found and repaired.
func (w *Warehouse) notice(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if what := fmt.Sprintf(format, args...); !slices.Contains(w.notices, what) {
		w.notices = append(w.notices, what)
	}
}

// lostJournal records that part of a run's journal is unreadable.
func (w *Warehouse) lostJournal(l journalLoss) {
	w.notice("%s; its calls are listed and fetched again", l.What)
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

// Notices returns the faults that were found and repaired since the warehouse was opened, as
// sentences for the run's report and log.
func (w *Warehouse) Notices() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.notices)
}

// Keep sets Options.KeepFrom for the following commits, and returns the earlier value.
func (w *Warehouse) Keep(from time.Time) (was time.Time) {
	w.committing.Lock()
	defer w.committing.Unlock()
	was, w.opts.KeepFrom = w.opts.KeepFrom, from
	return was
}

// RunID returns the id with which the warehouse was opened.
func (w *Warehouse) RunID() string { return w.opts.RunID }

// Forgot reports whether a call was forgotten.
func (w *Warehouse) Forgot(id string) bool { return w.forgotten.Forgot(id) }

// Leftover returns the earlier runs with uncommitted records. They were killed.
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
	// One at a time: every goroutine waiting for the disk would occupy a thread, which is never
	// freed.
	w.noting.Lock()
	defer w.noting.Unlock()
	return w.lock.Note(slot, s)
}

// SetFollow publishes how this process follows the service: see [Options].
func (w *Warehouse) SetFollow(f disk.Follow) error {
	w.noting.Lock()
	defer w.noting.Unlock()
	return w.lock.SetFollow(f)
}

// Put makes records durable, without what must not be stored. It is safe for concurrent use; records
// that arrive while the disk is busy are synced together. Records of forgotten calls are dropped.
// With From, it fails for calls of another organisation.
func (w *Warehouse) Put(ctx context.Context, recs ...schema.Record) error {
	recs, err := w.cleaned(recs)
	if err == nil {
		err = w.admit(recs)
	}
	if err != nil || len(recs) == 0 {
		return err
	}
	if records, _ := w.Uncommitted(); records > maxRecords {
		if err := w.Settle(); err != nil {
			return err
		}
	}
	w.mu.Lock()
	forgotten := w.forgotten
	w.mu.Unlock()
	if forgotten != nil {
		recs = slices.DeleteFunc(recs, func(r schema.Record) bool {
			if of := resource.ByName(r.Resource); of != nil {
				return r.Kind != schema.KindListed && of.Forgot(r.CallID, forgotten.Forgot)
			}
			return r.Kind != schema.KindCovered && forgotten.Forgot(r.CallID)
		})
	}
	if len(recs) == 0 {
		return nil
	}
	if err := place(recs); err != nil {
		return err
	}
	return w.journal.Put(ctx, recs)
}

// place sets the starts of the calls that records describe, unless they have them.
func place(recs []schema.Record) error {
	var dec calls.Decoder
	var call calls.Call
	for i := range recs {
		r := &recs[i]
		if r.Resource != "" || r.Imported || r.Started || !r.Kind.Describes() {
			continue
		}
		if err := dec.Decode(r.Body, r.Kind, &call); err != nil {
			return fmt.Errorf("store call %q: %w", r.CallID, err)
		}
		r.Start, r.Started = call.StartAt(), call.CarriesStart()
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

// manifest returns the manifest of the committed snapshot; an empty one if there is none yet.
func (w *Warehouse) manifest() *layout.Manifest {
	if s := w.Snapshot(); s != nil {
		return s.Manifest
	}
	return new(layout.Manifest)
}

// reader reads the committed snapshot; nil if there is none yet.
func (w *Warehouse) reader() *Reader { return w.read(w.Snapshot()) }

// read reads a snapshot.
func (w *Warehouse) read(s *layout.Snapshot) *Reader { return NewReader(w.opts.FS, s, w.verified) }

// Totals returns the counts of all commits of this run, and their number.
func (w *Warehouse) Totals() (Stats, int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.total
	all.Redacted = w.Redacted()
	return all, w.commits
}

// switchTo continues from a snapshot that was just published, and removes the journal segments that it
// includes. The commit is valid even if the removal fails; the next opening repeats it.
func (w *Warehouse) switchTo(made *layout.Snapshot, refs []layout.Segment) error {
	w.mu.Lock()
	w.current = made
	w.mu.Unlock()
	if err := removeSegments(w.opts.FS, w.opts.Root, refs); err != nil {
		return err
	}
	return w.retirer.Retire(w.opts.FS, w.opts.Root, made, w.opts.Now())
}

// maintain commits a change of files that changes no call. It does not touch the journal, and adds
// no row to the table runs.
func (w *Warehouse) maintain(change func(*maker) (*commitResult, error)) (*commitResult, error) {
	w.committing.Lock()
	defer w.committing.Unlock()
	made, err := change(w.maker(w.reader()))
	if err != nil {
		return nil, err
	}
	return made, w.switchTo(made.Snapshot, nil)
}
