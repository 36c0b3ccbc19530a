// Package erase takes calls out of every snapshot for good, and proves that it did.
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

// Selection says which calls and customers are to be forgotten: those that any of it
// names.
type Selection struct {
	CallIDs   []string
	Customers []string // by their keys
	// Numbers are calls from or to one of these numbers, and customers who have one of
	// them, in any spelling. Country is the region in which national spellings are read;
	// empty: see [phone.Parse]. Masked are, for each of them, the hashes that a mask makes
	// of its spellings.
	Numbers []string
	Country string
	Masked  [][]string
	Before  time.Time // calls that started before; of those without a start, first seen before
	// Everywhere blanks the ids and numbers also where they stand in rows of others.
	Everywhere bool
}

// Receipt says what was forgotten. It names no call, customer or number: the hashes
// are made with a key that stays in the warehouse.
type Receipt struct {
	FormatVersion int               `json:"format_version"`
	ForgottenAt   time.Time         `json:"forgotten_at"`
	RunID         string            `json:"run_id"`
	Snapshot      int64             `json:"snapshot"`   // the current one since then
	Calls         []string          `json:"calls"`      // their hashes, and those of customers
	Numbers       []Found           `json:"numbers"`    // in the order in which they were given
	Erased        []Erased          `json:"erased"`     // by snapshot, oldest first
	Everywhere    bool              `json:"everywhere"` // the places of erased were blanked
	Scan          *Scan             `json:"scan"`       // what is left since; nil: nothing was changed
	Tombstones    *layout.Forgotten `json:"tombstones"` // nil: nothing was ever forgotten
	Lakes         []Lake            `json:"lakes"`      // that the warehouse was published to
}

// Found says how many calls and customers have a number.
type Found struct {
	Calls     int64 `json:"calls"`
	Customers int64 `json:"customers"`
}

// Erased is what one snapshot lost, and what stands in its place.
type Erased struct {
	Was       int64         `json:"was"` // its number before
	Now       int64         `json:"now"` // and since
	Calls     int64         `json:"calls"`
	Turns     int64         `json:"transcript_turns"`
	Items     int64         `json:"analysis_items"`
	Customers int64         `json:"customers"`
	Rows      int64         `json:"other_rows"` // about the calls, in other tables
	Places    []Place       `json:"places"`     // where ids and numbers stand in other rows
	Files     []layout.File `json:"files"`      // those that were written anew
}

// Held is a warehouse whose lock is held.
type Held struct {
	FS      disk.FS
	Root    string
	RunID   string
	Now     func() time.Time
	Workers int
	Proofs  *snapshot.Proofs

	Current    *layout.Snapshot     // after Forget the new one
	Tombstones *snapshot.Tombstones // of the current one
	// Notes changes the texts that are kept outside of snapshots.
	Notes func(blank func(text string) string) error
}

// Forget erases calls from every snapshot and leaves tombstones. With dry nothing is
// changed: then the receipt says what would be erased.
//
// All snapshots are made anew, under new numbers, in their order; one rename of
// current commits them, and the tombstones with them. The old ones are removed
// at once: a reader that is in the middle of one of them may fail, and finds
// the new one when it tries again. When the removal is cut short, the next
// opening of the warehouse ends it.
func (w *Held) Forget(ctx context.Context, sel Selection, dry bool, progress func(snapshot.Progress)) (*Receipt, error) {
	all, damage, err := snapshot.ListRetained(w.FS, w.Root, w.Current)
	if err = cmp.Or(err, damage); err != nil { // nobody can tell what a damaged one holds
		return nil, err
	}
	f := &erasure{w: w, all: all, everywhere: sel.Everywhere,
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
		return f.receipt(nil), nil
	}
	if !f.nothingToDo() {
		if err := f.run(ctx, progress); err != nil {
			if disk.IsNoSpace(err) {
				err = disk.NoSpace(w.Root, f.wants(), err)
			}
			return nil, err
		}
	}
	err = w.Notes(func(text string) string { return string(f.traces.blank([]byte(text), false)) })
	var left *Scan
	if err == nil {
		left, err = scan(ctx, w.FS, w.Root, f.traces)
	}
	if err != nil {
		return nil, fmt.Errorf("the calls are forgotten, but whether they left traces is not known (give the command again): %w", err)
	}
	return f.receipt(left), nil
}

// erasure is one Forget.
type erasure struct {
	w          *Held
	all        []*layout.Snapshot
	everywhere bool
	numbers    []number
	traces     *traces
	places     map[string]*places         // by placeKey of a file
	ids        map[string]bool            // calls and customers to forget, those not in the warehouse included
	held       map[string]map[string]bool // by path of a file of calls, those that it holds
	tombstones *snapshot.Tombstones       // after it
	news       int                        // how many of them are new
	added      []snapshot.Tombstone       // of ids

	erased []Erased
	made   []*layout.Snapshot // the snapshots made anew
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

// nothingToDo says that no call is to be erased, no text to be blanked, and no id to be
// remembered.
func (f *erasure) nothingToDo() bool {
	for i, e := range f.erased {
		if e.Calls > 0 || e.Customers > 0 || e.Rows > 0 || f.manifestOf(i).Bulk != f.all[i].Manifest.Bulk {
			return false
		}
		if slices.ContainsFunc(e.Places, func(p Place) bool { return f.blanks(p.Table) && !p.Key }) {
			return false
		}
	}
	return f.news == 0
}

// blanks reports whether a table's texts are blanked. Those of the table runs always are:
// they are ours, and ids have no place in them.
func (f *erasure) blanks(table string) bool { return f.everywhere || table == schema.Runs.Name }

// manifestOf returns the manifest of the i-th snapshot without the ids that earlier
// versions put there.
func (f *erasure) manifestOf(i int) *layout.Manifest {
	m := *f.all[i].Manifest
	if m.Bulk = m.Bulk.Nameless(); m.Bulk != nil && f.traces.in([]byte(m.Bulk.Why), false) {
		clean := *m.Bulk
		clean.Why = string(f.traces.blank([]byte(clean.Why), false))
		m.Bulk = &clean
	}
	return &m
}

// run makes the snapshots anew, commits them and removes the old ones.
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
	for i, s := range f.all {
		if err := f.remake(ctx, i, first, content, line); err != nil {
			f.discard()
			return fmt.Errorf("make snapshot %d anew: %w", s.Manifest.Snapshot, err)
		}
		if tell != nil {
			tell(f.erased[i].Calls)
		}
	}
	last := f.made[len(f.made)-1]
	// When this fails nobody can tell which snapshot is the current one, so all stay:
	// opening the warehouse reads current, and removes what must not be.
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

// discard removes what was made, before any of it was committed.
func (f *erasure) discard() {
	for _, s := range f.made {
		_ = snapshot.Remove(f.w.FS, s.Dir) // or the next opening does
	}
}

// wants guesses how many bytes it takes: what the files to be rewritten have.
func (f *erasure) wants() (n int64) {
	seen := map[string]bool{}
	for _, s := range f.all {
		for _, file := range s.Manifest.FilesOf(schema.Calls.Name) {
			if (len(f.held[file.Path]) > 0 || len(f.stained(s.Manifest, file.Period)) > 0) && !seen[file.Path] {
				seen[file.Path] = true
				n += s.Manifest.BytesOf(file.Period)
			}
		}
	}
	return n
}

func (f *erasure) receipt(left *Scan) *Receipt {
	now := f.w.Current.Manifest
	r := &Receipt{FormatVersion: layout.FormatVersion, ForgottenAt: f.w.Now().UTC(), RunID: f.w.RunID,
		Snapshot: now.Snapshot, Calls: []string{}, Numbers: []Found{}, Erased: f.erased,
		Everywhere: f.everywhere, Scan: left, Tombstones: now.Forgotten, Lakes: []Lake{}}
	for _, n := range f.numbers {
		r.Numbers = append(r.Numbers, Found{Calls: int64(len(n.calls)), Customers: int64(len(n.customers))})
	}
	for _, t := range f.added {
		r.Calls = append(r.Calls, t.String())
	}
	slices.Sort(r.Calls)
	return r
}
