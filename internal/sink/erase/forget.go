// Package erase removes calls permanently from every snapshot, and proves it.
package erase

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
	"callhouse/internal/sink/disk"
	"callhouse/internal/sink/snapshot"
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
	// Everywhere also blanks the ids and numbers in other rows.
	Everywhere bool
}

// Receipt describes what was forgotten. It names no call, customer or number: the key of the hashes
// stays in the warehouse.
type Receipt struct {
	FormatVersion int               `json:"format_version"`
	ForgottenAt   time.Time         `json:"forgotten_at"`
	RunID         string            `json:"run_id"`
	Snapshot      int64             `json:"snapshot"`   // the current one afterwards
	Calls         []string          `json:"calls"`      // their hashes, and those of customers
	Numbers       []Found           `json:"numbers"`    // in the given order
	Erased        []Erased          `json:"erased"`     // by snapshot, oldest first
	Removed       int64             `json:"removed"`    // snapshots without a replacement: see [snapshot.Milestones]
	Everywhere    bool              `json:"everywhere"` // the places of erased were blanked
	Recordings    *Recordings       `json:"recordings"` // nil: nothing was changed
	Scan          *Scan             `json:"scan"`       // remaining traces; nil: nothing was changed
	Tombstones    *layout.Forgotten `json:"tombstones"` // nil if nothing was ever forgotten
	Lakes         []Lake            `json:"lakes"`      // places to which the warehouse was published
}

// Found is the number of calls and customers with a number.
type Found struct {
	Calls     int64 `json:"calls"`
	Customers int64 `json:"customers"`
}

// Erased describes the losses of one snapshot, and its replacement.
type Erased struct {
	Was   int64 `json:"was"` // its old number
	Now   int64 `json:"now"` // its new number
	Calls int64 `json:"calls"`
	Turns int64 `json:"transcript_turns"`
	Items int64 `json:"analysis_items"`
	// Recordings counts those that are stored in the archive.
	Recordings int64         `json:"recordings"`
	Customers  int64         `json:"customers"`
	Rows       int64         `json:"other_rows"` // about the calls, in other tables
	Places     []Place       `json:"places"`     // ids and numbers in other rows
	Files      []layout.File `json:"files"`      // the rewritten files
}

// Recordings are the recordings that were deleted from their archive.
type Recordings struct {
	Files int64 `json:"deleted"`
	Bytes int64 `json:"bytes"`
	// Left counts those that could not be deleted, including those of earlier commands. The next
	// run tries again.
	Left int64 `json:"left"`
	// Why is the reason. It is not in the receipt, because it may name calls.
	Why error `json:"-"`
}

// Held is a warehouse whose lock is held.
type Held struct {
	FS      disk.FS
	Root    string
	RunID   string
	Now     func() time.Time
	Workers int
	Proofs  *snapshot.Proofs

	Current    *layout.Snapshot     // the new one after Forget
	Tombstones *snapshot.Tombstones // of the current one
	// Notes changes the texts outside of snapshots.
	Notes func(blank func(text string) string) error
	// Delete deletes the recordings that are listed as deletions.
	Delete func(context.Context) (*Recordings, error)
}

// Forget erases calls from every snapshot and leaves tombstones. With dry it changes nothing, and
// the receipt describes what would be erased.
//
// The milestones among the snapshots are rewritten under new numbers, in the same order. One rename
// of current commits them together with the tombstones. All old ones are removed at once: a reader
// that is using one may fail, and finds the new one when it retries. If the removal is interrupted,
// the next opening of the warehouse completes it.
func (w *Held) Forget(ctx context.Context, sel Selection, dry bool, progress func(snapshot.Progress)) (*Receipt, error) {
	all, damage, err := snapshot.ListRetained(w.FS, w.Root, w.Current)
	if err = cmp.Or(err, damage); err != nil { // the content of a damaged one is unknown
		return nil, err
	}
	f := &erasure{w: w, all: all, kept: snapshot.Milestones(all), everywhere: sel.Everywhere,
		ids: map[string]bool{}, held: map[string]map[string]bool{}, places: map[string]*places{}}
	if err := f.find(ctx, sel); err != nil {
		return nil, err
	}
	f.traces = newTraces(f.ids, slices.Concat(sel.Masked...), sel.numbers())
	f.traces.were = w.Tombstones
	if err := f.findPlaces(ctx); err != nil {
		return nil, err
	}
	if err := f.tally(ctx); err != nil {
		return nil, err
	}
	f.addTombstones()
	if dry {
		return f.receipt(nil, nil), nil
	}
	if err := f.findRecordings(ctx); err != nil {
		return nil, err
	}
	if !f.nothingToDo() {
		if err := f.run(ctx, progress); err != nil {
			if disk.IsNoSpace(err) {
				err = disk.NoSpace(w.Root, f.wants(), err)
			}
			return nil, err
		}
	}
	recordings, err := w.Delete(ctx)
	if err != nil {
		return nil, fmt.Errorf("the calls are forgotten, but their recordings are not deleted (repeat the command): %w", err)
	}
	err = w.Notes(func(text string) string { return string(f.traces.blank([]byte(text), false)) })
	var left *Scan
	if err == nil {
		left, err = scan(ctx, w.FS, w.Root, f.traces)
	}
	if err != nil {
		return nil, fmt.Errorf("the calls are forgotten, but the search for traces failed (repeat the command): %w", err)
	}
	return f.receipt(recordings, left), nil
}

// erasure is one Forget.
type erasure struct {
	w          *Held
	all        []*layout.Snapshot // calls selected in any of them are forgotten
	kept       []*layout.Snapshot // the rewritten ones
	everywhere bool
	numbers    []number
	traces     *traces
	places     map[string]*places         // by placeKey of a file
	ids        map[string]bool            // calls and customers to forget, including those not in the warehouse
	held       map[string]map[string]bool // calls that a file holds, by path
	tombstones *snapshot.Tombstones       // after the erasure
	news       int                        // number of new ones
	added      []snapshot.Tombstone       // of ids

	recordings []layout.Deletion

	erased []Erased
	made   []*layout.Snapshot // the rewritten snapshots
}

// addTombstones makes the tombstones.
func (f *erasure) addTombstones() {
	was := f.w.Tombstones
	if was == nil {
		was = snapshot.NewTombstones()
	}
	for id := range f.ids {
		t := was.Of([]byte(id))
		f.added = append(f.added, t)
		if !was.Has(t) {
			f.news++
		}
	}
	f.tombstones = was.With(f.added)
}

// nothingToDo reports whether there is no call to erase, no text to blank and no id to record.
func (f *erasure) nothingToDo() bool {
	for i, e := range f.erased {
		if e.Calls > 0 || e.Customers > 0 || e.Rows > 0 || f.manifestOf(i).Bulk != f.kept[i].Manifest.Bulk {
			return false
		}
		if slices.ContainsFunc(e.Places, func(p Place) bool { return f.blanks(p.Table) && !p.Key }) {
			return false
		}
	}
	return f.news == 0
}

// blanks reports whether a table's texts are blanked. The texts of the table runs always are: this
// program wrote them, and they must not hold ids.
func (f *erasure) blanks(table string) bool { return f.everywhere || table == schema.Runs.Name }

// manifestOf returns the manifest of the i-th snapshot without the ids that earlier versions put
// there.
func (f *erasure) manifestOf(i int) *layout.Manifest {
	m := *f.kept[i].Manifest
	if m.Bulk = m.Bulk.Nameless(); m.Bulk != nil && f.traces.in([]byte(m.Bulk.Why), false) {
		clean := *m.Bulk
		clean.Why = string(f.traces.blank([]byte(clean.Why), false))
		m.Bulk = &clean
	}
	return &m
}

// run rewrites the snapshots, commits them and removes the old ones.
func (f *erasure) run(ctx context.Context, progress func(snapshot.Progress)) error {
	w := f.w
	first, err := snapshot.NextNumber(w.FS, w.Root)
	if err != nil {
		return err
	}
	content, line, err := f.tombstones.Encode()
	if err != nil {
		return err
	}
	var total int64
	for _, e := range f.erased {
		total += e.Calls
	}
	tell := snapshot.Counter(progress, "forgotten", total)
	for i, s := range f.kept {
		if err := f.remake(ctx, i, first, content, line); err != nil {
			f.discard()
			return fmt.Errorf("rewrite snapshot %d: %w", s.Manifest.Snapshot, err)
		}
		if tell != nil {
			tell(f.erased[i].Calls)
		}
	}
	last := f.made[len(f.made)-1]
	if err := f.doom(last.Manifest.Snapshot); err != nil {
		f.discard()
		return err
	}
	// If this fails, it is unknown which snapshot is the current one, so all stay. Opening the
	// warehouse reads current and removes the others.
	if err := snapshot.MakeCurrent(w.FS, w.Root, last); err != nil {
		return err
	}
	w.Current, w.Tombstones = last, f.tombstones
	if err := snapshot.Sweep(w.FS, w.Root, last); err != nil {
		return fmt.Errorf("the calls are forgotten, but the snapshots that held them are still on the disk (the next command "+
			"that writes removes them): %w", err)
	}
	return nil
}

// discard removes the new snapshots before they are committed.
func (f *erasure) discard() {
	for _, s := range f.made {
		_ = snapshot.Remove(f.w.FS, s.Dir) // otherwise the next opening does
	}
}

// wants estimates the bytes needed: the size of the files to rewrite.
func (f *erasure) wants() (n int64) {
	seen := map[string]bool{}
	for _, s := range f.kept {
		for _, file := range s.Manifest.FilesOf(schema.Calls.Name) {
			if (len(f.held[file.Path]) > 0 || len(f.stained(s.Manifest, file.Period)) > 0) && !seen[file.Path] {
				seen[file.Path] = true
				n += s.Manifest.BytesOf(file.Period)
			}
		}
	}
	return n
}

func (f *erasure) receipt(recordings *Recordings, left *Scan) *Receipt {
	now := f.w.Current.Manifest
	r := &Receipt{FormatVersion: layout.FormatVersion, ForgottenAt: f.w.Now().UTC(), RunID: f.w.RunID,
		Snapshot: now.Snapshot, Calls: []string{}, Numbers: []Found{}, Erased: f.erased, Removed: int64(len(f.all) - len(f.kept)),
		Everywhere: f.everywhere, Recordings: recordings, Scan: left, Tombstones: now.Forgotten, Lakes: []Lake{}}
	for _, n := range f.numbers {
		r.Numbers = append(r.Numbers, Found{Calls: int64(len(n.calls)), Customers: int64(len(n.customers))})
	}
	for _, t := range f.added {
		r.Calls = append(r.Calls, t.String())
	}
	slices.Sort(r.Calls)
	return r
}
