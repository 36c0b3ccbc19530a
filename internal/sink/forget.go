package sink

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"callhouse/internal/layout"
	"callhouse/internal/phone"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
)

// Selection selects the calls and customers to forget: those that match any of the fields.
type Selection struct {
	CallIDs   []string
	Customers []string // by their keys
	// Numbers are telephone numbers in any spelling: they select the calls from or to one of them,
	// and the customers who have one. Country is the region in which national spellings are read;
	// empty: see [phone.Parse]. Masked are, for each number, the masked forms of its spellings.
	Numbers []string
	Country string
	Masked  [][]string
	Before  time.Time // calls that started earlier or, if they have no start, were first seen earlier
}

// numbers parses the numbers of the selection.
func (s *Selection) numbers() (out []*phone.Number) {
	for _, n := range s.Numbers {
		out = append(out, phone.Parse(n, s.Country))
	}
	return out
}

// Receipt describes what was forgotten. It names no forgotten call, customer or number: the key of the
// hashes stays in the warehouse.
type Receipt struct {
	FormatVersion int                `json:"format_version"`
	ForgottenAt   time.Time          `json:"forgotten_at"`
	RunID         string             `json:"run_id"`
	Snapshot      int64              `json:"snapshot"` // the current one afterwards
	Calls         []string           `json:"calls"`    // their hashes, and those of customers
	Numbers       []Found            `json:"numbers"`  // in the given order
	Erased        Erased             `json:"erased"`
	Removed       int64              `json:"removed"`    // other snapshots, all of them
	Mentioned     int64              `json:"mentioned"`  // texts of other rows with an id or number; they are kept
	Mentions      []Mention          `json:"mentions"`   // the first of these
	Recordings    *DeletedRecordings `json:"recordings"` // nil: nothing was changed
	Tombstones    *layout.Forgotten  `json:"tombstones"` // nil if nothing was ever forgotten
	Lakes         []string           `json:"lakes"`      // places to which the warehouse must be published again
	// Unknown are the given ids of which nothing is stored, and which are not forgotten yet. They are
	// not in the receipt.
	Unknown []string `json:"-"`
}

// Found is the number of calls and customers with a number.
type Found struct {
	Calls     int64 `json:"calls"`
	Customers int64 `json:"customers"`
}

// Erased describes the losses of the current snapshot, and its replacement.
type Erased struct {
	Was   int64 `json:"was"` // its old number
	Now   int64 `json:"now"` // its new number; 0: nothing was changed
	Calls int64 `json:"calls"`
	Turns int64 `json:"transcript_turns"`
	Items int64 `json:"analysis_items"`
	// Recordings counts those that are stored in the archive.
	Recordings int64 `json:"recordings"`
	Customers  int64 `json:"customers"`
	Rows       int64 `json:"other_rows"` // about the calls, in other tables
}

// DeletedRecordings are the recordings that were deleted from their archive.
type DeletedRecordings struct {
	Files int64 `json:"deleted"`
	Bytes int64 `json:"bytes"`
	// Left counts those that could not be deleted, including those of earlier commands. The next
	// run tries again.
	Left int64 `json:"left"`
	// Why is the reason. It is not in the receipt, because it may name calls.
	Why error `json:"-"`
}

// Forget erases calls and leaves tombstones: afterwards Put drops records of these calls. It fails if
// the journal is not empty: it must be committed first. With dry it changes nothing, and the receipt
// describes what would be erased.
//
// The current snapshot is rewritten. One rename of current commits it together with the tombstones.
// All others are removed at once, readable or not: a reader that is using one may fail, and finds
// the new one when it retries. If the removal is interrupted, the next opening of the warehouse
// completes it.
func (w *Warehouse) Forget(ctx context.Context, sel Selection, dry bool, progress func(Progress)) (*Receipt, error) {
	w.committing.Lock()
	defer w.committing.Unlock()
	if records, _ := w.Uncommitted(); records > 0 || len(w.sealed) > 0 {
		return nil, errors.New("forget calls: the journal holds records that are not committed yet")
	}
	if w.Snapshot() == nil {
		return nil, fmt.Errorf("forget calls: %w", layout.ErrNoWarehouse)
	}
	f := &erasure{w: w, current: w.Snapshot(), all: []*layout.Snapshot{w.Snapshot()},
		ids: map[string]bool{}, known: map[string]bool{}, held: map[string]map[string]bool{}}
	sel.Country = cmp.Or(sel.Country, f.current.Manifest.Country)
	r, err := f.forget(ctx, sel, dry, progress)
	if err != nil {
		return nil, fmt.Errorf("forget calls: %w", err)
	}
	return r, nil
}

func (f *erasure) forget(ctx context.Context, sel Selection, dry bool, progress func(Progress)) (*Receipt, error) {
	if err := f.examine(ctx, sel); err != nil {
		return nil, err
	}
	f.addTombstones()
	f.findUnknown(sel)
	// There is no call to erase, no text to blank and no id to record. Then other snapshots have none
	// either: those made before an id was recorded are gone.
	idle := f.erased.Calls == 0 && f.erased.Customers == 0 && f.erased.Rows == 0 && !f.noted && f.newCount == 0
	if idle {
		f.removed = 0
	}
	if dry {
		return f.receipt(nil)
	}
	if !idle {
		if err := f.run(ctx, progress); err != nil {
			return nil, err
		}
	}
	recordings, err := f.w.DeleteRecordings(ctx)
	if err != nil {
		return nil, fmt.Errorf("the calls are forgotten, but their recordings are not deleted (repeat the command): %w", err)
	}
	if err := f.blankLost(); err != nil {
		return nil, fmt.Errorf("the calls are forgotten, but the errors of lost runs may name them (repeat the command): %w", err)
	}
	return f.receipt(recordings)
}

// examine finds what is to be forgotten, and what is lost with it.
func (f *erasure) examine(ctx context.Context, sel Selection) error {
	numbers, err := layout.SnapshotNumbers(f.w.opts.FS, f.w.opts.Root)
	if err != nil {
		return err
	}
	for _, n := range numbers {
		if n == f.current.Manifest.Snapshot {
			continue
		}
		f.removed++
		if s, err := layout.OpenSnapshot(f.w.opts.FS, f.w.opts.Root, n); err == nil {
			f.all = append(f.all, s)
		}
	}
	if err := f.find(ctx, sel); err != nil {
		return err
	}
	f.traces = newTraces(f.ids, slices.Concat(sel.Masked...), sel.numbers())
	if err := f.findMentions(ctx); err != nil {
		return err
	}
	if err := f.tally(ctx); err != nil {
		return err
	}
	// The texts that callhouse itself wrote: the manifest and the table runs.
	runs, err := f.w.read(f.current).Runs()
	for i := range runs {
		f.noted = f.noted || f.traces.in([]byte(runs[i].Error)) || f.traces.in(runs[i].DriftFields)
	}
	f.noted = f.noted || f.bulk() != f.current.Manifest.Bulk
	return err
}

// blankLost blanks the errors of the runs without a row.
func (f *erasure) blankLost() error {
	lost := slices.Clone(f.w.lock.Lost())
	for i := range lost {
		lost[i].Error = f.traces.blank(lost[i].Error)
	}
	err := f.w.lock.SetLost(lost)
	f.w.mu.Lock()
	defer f.w.mu.Unlock()
	f.w.unrecorded = lostRuns(lost)
	return err
}

// erasure is one Forget.
type erasure struct {
	w          *Warehouse
	current    *layout.Snapshot   // at the beginning
	all        []*layout.Snapshot // the readable ones, the current one first; calls selected in any are forgotten
	removed    int                // number of other ones
	numbers    []soughtNumber
	traces     *traces
	mentions   []Mention
	mentioned  int64
	noted      bool                       // ids or numbers are in the manifest, or in the errors or drift of runs
	ids        map[string]bool            // calls and customers to forget, including those not in the warehouse
	known      map[string]bool            // those that are stored, or were forgotten before
	unknown    []string                   // given ones that are not
	held       map[string]map[string]bool // calls that a file holds, by path
	tombstones *tombstones                // after the erasure
	newCount   int                        // number of new ones
	added      []tombstone                // of ids

	recordings []layout.Deletion
	erased     Erased
}

// addTombstones makes the tombstones.
func (f *erasure) addTombstones() {
	was := f.w.forgotten
	if was == nil {
		was = newTombstones()
	}
	for id := range f.ids {
		t := was.Of([]byte(id))
		f.added = append(f.added, t)
		if !was.Has(t) {
			f.newCount++
		} else {
			f.known[id] = true
		}
	}
	f.tombstones = was.With(f.added)
}

// findUnknown finds the given ids that are not known: they may be mistyped.
func (f *erasure) findUnknown(sel Selection) {
	for _, held := range f.held {
		maps.Copy(f.known, held)
	}
	for i, key := range slices.Concat(sel.CallIDs, sel.Customers) {
		id := key
		if i >= len(sel.CallIDs) {
			id = resource.Plain(key)
		}
		if !f.known[key] && !slices.Contains(f.unknown, id) {
			f.unknown = append(f.unknown, id)
		}
	}
}

// bulk returns the state of the pages of v2 without the ids and numbers in its text.
func (f *erasure) bulk() *schema.Bulk {
	b := f.current.Manifest.Bulk
	if b == nil || !f.traces.in([]byte(b.Why)) {
		return b
	}
	return &schema.Bulk{State: b.State, At: b.At, Why: f.traces.blank(b.Why)}
}

// run rewrites the current snapshot, commits it and removes all others.
func (f *erasure) run(ctx context.Context, progress func(Progress)) error {
	if err := f.findRecordings(ctx); err != nil {
		return err
	}
	w, was := f.w, f.current.Manifest
	m := w.maker(w.read(f.current))
	m.country, m.stamp, m.exclusive, m.tombstones = was.Country, stamp{}, true, f.tombstones
	m.sealed = func(made *layout.Snapshot) error {
		err := f.listForDeletion(made.Manifest.Snapshot)
		if err != nil {
			_ = removeSnapshot(w.opts.FS, made.Dir) // otherwise the next opening does
		}
		return err
	}
	// If making it current fails, it is unknown which snapshot is the current one, so both stay. Opening
	// the warehouse reads current and removes the others.
	made, err := m.publish(ctx, func() ([]*unit, error) { return f.units(), errors.Join(f.eraseObjects(m), f.eraseNotes(m)) }, nil,
		func(out *layout.Manifest) {
			out.RunID, out.CommittedAt, out.Redaction, out.Bulk = was.RunID, was.CommittedAt, was.Redaction, f.bulk()
		})
	if err != nil {
		return fmt.Errorf("rewrite snapshot %d: %w", f.erased.Was, err)
	}
	f.erased.Now = made.Manifest.Snapshot
	if report := counter(progress, "forgotten", f.erased.Calls); report != nil {
		report(f.erased.Calls)
	}
	w.mu.Lock()
	w.current, w.forgotten = made.Snapshot, f.tombstones
	w.mu.Unlock()
	if err := sweep(w.opts.FS, w.opts.Root, made.Snapshot); err != nil {
		return fmt.Errorf("the calls are forgotten, but the snapshots that held them are still on the disk (the next command "+
			"that writes removes them): %w", err)
	}
	return nil
}

// units returns the periods that lose calls.
func (f *erasure) units() (out []*unit) {
	for _, file := range f.current.Manifest.FilesOf(schema.Calls.Name) {
		if held := f.held[file.Path]; len(held) > 0 {
			out = append(out, &unit{period: file.Period, from: []string{file.Period}, leaving: held, always: true})
		}
	}
	return out
}

// eraseObjects rewrites the resources and the changes.
func (f *erasure) eraseObjects(m *maker) error {
	if f.erased.Customers+f.erased.Rows == 0 {
		return nil
	}
	gone := func(of *resource.Resource, key string) bool {
		return slices.Contains(personalResources, of) && of.Forgot(key, func(id string) bool { return f.ids[id] })
	}
	for _, of := range personalResources {
		w := m.objectFiles(of)
		err := m.old.EachObject(of, func(o *schema.Object) error {
			if gone(of, of.KeyOf(o.Row)) {
				return nil
			}
			return w.Write(o)
		})
		if err := m.finish(w, []string{of.Name}, true, err); err != nil {
			return err
		}
	}
	return m.rewriteChanges(nil, func(row schema.Row) bool {
		of := changeOf(row)
		return gone(resource.ByName(of.resource), of.key)
	})
}

// eraseNotes blanks the texts of the table runs.
func (f *erasure) eraseNotes(m *maker) error {
	if !f.noted {
		return nil
	}
	runs, err := m.old.Runs()
	if err != nil {
		return err
	}
	for i := range runs {
		runs[i].Error = f.traces.blank(runs[i].Error)
		if runs[i].DriftFields != nil {
			runs[i].DriftFields = []byte(f.traces.blank(string(runs[i].DriftFields)))
		}
	}
	return m.writeRuns(runs)
}

func (f *erasure) receipt(recordings *DeletedRecordings) (*Receipt, error) {
	now := f.w.Snapshot().Manifest
	r := &Receipt{FormatVersion: layout.FormatVersion, ForgottenAt: f.w.opts.Now().UTC(), RunID: f.w.opts.RunID,
		Snapshot: now.Snapshot, Calls: []string{}, Numbers: []Found{}, Erased: f.erased, Removed: int64(f.removed),
		Mentioned: f.mentioned, Mentions: append([]Mention{}, f.mentions...), Recordings: recordings,
		Unknown: f.unknown, Tombstones: now.Forgotten}
	for _, n := range f.numbers {
		r.Numbers = append(r.Numbers, Found{Calls: int64(len(n.calls)), Customers: int64(len(n.customers))})
	}
	for _, t := range f.added {
		r.Calls = append(r.Calls, t.String())
	}
	slices.Sort(r.Calls)
	var err error
	r.Lakes, err = LakesBefore(f.w.opts.Root, now.Oldest)
	return r, err
}
