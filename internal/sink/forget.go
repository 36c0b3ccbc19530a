package sink

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
)

// Selection says which calls are to be forgotten: those that any of it names.
type Selection struct {
	CallIDs []string
	Numbers []string  // calls from or to one of these numbers, as the service spells them
	Before  time.Time // calls that started before; of those without a start, first seen before
}

// Receipt says what was forgotten. It names no call and no number: the hashes
// are made with a key that stays in the warehouse.
type Receipt struct {
	FormatVersion int               `json:"format_version"`
	ForgottenAt   time.Time         `json:"forgotten_at"`
	RunID         string            `json:"run_id"`
	Snapshot      int64             `json:"snapshot"`   // the current one since then
	Calls         []string          `json:"calls"`      // their hashes
	Erased        []Erased          `json:"erased"`     // by snapshot, oldest first
	Tombstones    *layout.Forgotten `json:"tombstones"` // nil: nothing was ever forgotten
}

// Erased is what one snapshot lost, and what stands in its place.
type Erased struct {
	Was   int64         `json:"was"` // its number before
	Now   int64         `json:"now"` // and since
	Calls int64         `json:"calls"`
	Turns int64         `json:"transcript_turns"`
	Items int64         `json:"analysis_items"`
	Files []layout.File `json:"files"` // those that were written anew
}

// Forget erases calls from every snapshot and leaves tombstones, so that Put
// drops what comes in for them from now on. What dry leaves out is the change:
// then the receipt says what would be erased.
//
// All snapshots are made anew, under new numbers, in their order; one rename of
// current commits them, and the tombstones with them. The old ones are removed
// at once: a reader that is in the middle of one of them may fail, and finds
// the new one when it tries again. When the removal is cut short, the next
// opening of the warehouse ends it.
//
// It fails when the journal holds anything: that must be committed before.
func (w *Warehouse) Forget(ctx context.Context, sel Selection, dry bool, progress func(Progress)) (*Receipt, error) {
	w.committing.Lock()
	defer w.committing.Unlock()
	if records, _ := w.Uncommitted(); records > 0 || len(w.sealed) > 0 {
		return nil, errors.New("forget calls: the journal holds records that are not committed yet")
	}
	current := w.Snapshot()
	if current == nil {
		return nil, fmt.Errorf("forget calls: %w", layout.ErrNoWarehouse)
	}
	all, damage, err := retained(w.opts.FS, w.opts.Root, current)
	if err = cmp.Or(err, damage); err != nil { // nobody can tell what a damaged one holds
		return nil, fmt.Errorf("forget calls: %w", err)
	}
	f := &forgetting{w: w, all: all, ids: map[string]bool{}, where: map[string]map[string]bool{}}
	if err := f.find(ctx, sel); err != nil {
		return nil, fmt.Errorf("forget calls: %w", err)
	}
	if err := f.tally(ctx); err != nil {
		return nil, fmt.Errorf("forget calls: %w", err)
	}
	f.entomb()
	if !dry && !f.done() {
		if err := f.run(ctx, progress); err != nil {
			if isNoSpace(err) {
				err = &NoSpaceError{Root: w.opts.Root, Wants: f.wants(), Err: err}
			}
			return nil, fmt.Errorf("forget calls: %w", err)
		}
	}
	return f.receipt(), nil
}

// forgetting is one Forget in the making.
type forgetting struct {
	w     *Warehouse
	all   []*layout.Snapshot
	ids   map[string]bool            // calls to forget, those not in the warehouse included
	where map[string]map[string]bool // by path of a file of calls, those that it holds
	tombs *tombstones                // after it
	added int                        // how many of them are new
	gone  []tombstone                // of ids

	erased []Erased
	made   []*layout.Snapshot // the snapshots made anew
}

// entomb makes the tombstones.
func (f *forgetting) entomb() {
	was := f.w.forgotten
	if was == nil {
		was = newTombstones()
	}
	for id := range f.ids {
		t := was.of([]byte(id))
		f.gone = append(f.gone, t)
		if !was.has(t) {
			f.added++
		}
	}
	f.tombs = was.with(f.gone)
}

// done says that there is nothing to erase, and nothing to remember.
func (f *forgetting) done() bool {
	for _, e := range f.erased {
		if e.Calls > 0 {
			return false
		}
	}
	return f.added == 0
}

// run makes the snapshots anew, commits them and removes the old ones.
func (f *forgetting) run(ctx context.Context, progress func(Progress)) error {
	w := f.w
	first, err := nextNumber(w.opts.FS, w.opts.Root)
	if err != nil {
		return err
	}
	content, line, err := f.tombs.encode()
	if err != nil {
		return err
	}
	var total int64
	for _, e := range f.erased {
		total += e.Calls
	}
	tell := teller(progress, "forgotten", total)
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
	if err := swap(w.opts.FS, w.opts.Root, last); err != nil {
		return err
	}
	w.mu.Lock()
	w.current, w.forgotten = last, f.tombs
	w.mu.Unlock()
	if err := sweep(w.opts.FS, w.opts.Root, last); err != nil {
		return fmt.Errorf("the calls are forgotten, but the snapshots that held them are still on the disk (the next command that writes removes them): %w", err)
	}
	return nil
}

// remake makes the i-th snapshot anew, without the calls.
func (f *forgetting) remake(ctx context.Context, i int, first int64, content []byte, line *layout.Forgotten) (err error) {
	w, s := f.w, f.all[i]
	number := first + int64(i)
	c := w.newCommit()
	c.old, c.asIs, c.in = s, true, &intake{}
	if c.b, err = newBuilder(w.opts.FS, w.opts.Root, number); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			c.b.discard()
		}
	}()
	var units []*unit
	gone := map[string]bool{}
	for _, file := range s.Manifest.FilesOf(schema.Calls.Name) {
		moved := f.where[file.Path]
		if len(moved) == 0 {
			continue
		}
		gone[file.Period] = true
		if done, err := f.again(c, i, file); err != nil {
			return err
		} else if !done {
			units = append(units, &unit{period: file.Period, from: []string{file.Period}, moved: moved, always: true})
		}
	}
	if _, err := c.rewriteAll(ctx, units); err != nil {
		return err
	}
	f.erased[i].Now, f.erased[i].Files = number, slices.Clone(c.files)
	c.keeper = &layout.Snapshot{Manifest: &layout.Manifest{}}
	if err := c.linkRest(func(file *layout.File) bool { return gone[file.Period] }); err != nil {
		return err
	}
	if i > 0 {
		err = c.b.link(f.made[0], line.Path, line.Bytes)
	} else {
		err = c.b.write(line.Path, content)
	}
	if err != nil {
		return err
	}
	m := *s.Manifest
	m.FormatVersion, m.Snapshot, m.Oldest, m.Forgotten, m.Files = layout.FormatVersion, number, first, line, c.files
	finish(&m)
	made, err := c.b.name(&m)
	if err != nil {
		return err
	}
	f.made = append(f.made, made)
	return nil
}

// again links the files of a period that were made for an earlier snapshot, if
// they were.
func (f *forgetting) again(c *commit, i int, calls *layout.File) (bool, error) {
	for j := range i {
		was := &commit{old: f.all[j]}
		before := was.fileOf(schema.Calls.Name, calls.Period)
		if before == nil || before.Path != calls.Path {
			continue
		}
		now := &commit{old: f.made[j]}
		for _, t := range schema.PeriodTables {
			if file := now.fileOf(t.Name, calls.Period); file != nil {
				if err := c.b.link(f.made[j], file.Path, file.Bytes); err != nil {
					return false, err
				}
				c.files = append(c.files, *file)
			}
		}
		return true, nil
	}
	return false, nil
}

// discard removes what was made, before any of it was committed.
func (f *forgetting) discard() {
	for _, s := range f.made {
		_ = removeSnapshot(f.w.opts.FS, s.Dir) // or the next opening does
	}
}

// wants guesses how many bytes it takes: what the files to be rewritten have.
func (f *forgetting) wants() (n int64) {
	seen := map[string]bool{}
	for _, s := range f.all {
		for _, file := range s.Manifest.FilesOf(schema.Calls.Name) {
			if len(f.where[file.Path]) > 0 && !seen[file.Path] {
				seen[file.Path] = true
				n += file.Bytes
				c := &commit{old: s}
				for _, t := range schema.CallTables[1:] {
					if other := c.fileOf(t.Name, file.Period); other != nil {
						n += other.Bytes
					}
				}
			}
		}
	}
	return n
}

func (f *forgetting) receipt() *Receipt {
	now := f.w.Snapshot().Manifest
	r := &Receipt{FormatVersion: layout.FormatVersion, ForgottenAt: f.w.opts.Now().UTC(), RunID: f.w.opts.RunID,
		Snapshot: now.Snapshot, Calls: []string{}, Erased: f.erased, Tombstones: now.Forgotten}
	for _, t := range f.gone {
		r.Calls = append(r.Calls, t.String())
	}
	slices.Sort(r.Calls)
	return r
}

// write makes a small file of the snapshot.
func (b *builder) write(rel string, content []byte) error {
	path, err := b.place(rel)
	if err != nil {
		return err
	}
	if err := writeFile(b.fsys, path, content); err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(path), err)
	}
	return nil
}
