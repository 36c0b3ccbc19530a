// Package lend lends the open snapshots of a warehouse: to requests of browsers, to sessions of
// the Postgres protocol, which hold them between their statements, and to the shell. It changes
// nothing of a warehouse but the pin.
package lend

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"callhouse/internal/analytics"
	"callhouse/internal/analytics/rights"
	"callhouse/internal/layout"
)

// Houses are the snapshots of a warehouse that are open: the current one, in each zone and for
// the rights of each reader that asks, and older ones for as long as somebody reads them.
type Houses struct {
	Root string
	// Open opens the current snapshot in a zone, as a reader with these rights has it.
	Open func(ctx context.Context, zone *time.Location, r rights.Rights) (*analytics.Warehouse, error)
	// Hold is told which snapshots are open whenever that changes; nil: nobody need know.
	Hold func(snapshots []int64) error
	// Log is told what goes wrong where nobody waits for an answer.
	Log func(string)

	mu      sync.Mutex
	link    string          // the name of the current snapshot
	current map[view]*House // at that snapshot
	open    map[*House]bool
	returns int // how often a house was given back
	closing sync.WaitGroup
}

// view is what a snapshot is opened for.
type view struct{ zone, rights string }

// MostViews is for how many zones, and rights of readers, the current snapshot is kept open
// while nobody asks for them.
const MostViews = 4

// House is an open snapshot.
type House struct {
	*analytics.Warehouse
	from *Houses
	view view
	lent map[*loan]bool
	last int // when it was given back, counted in returns

	once   sync.Once
	memory any
}

// loan is one use of a house. leave asks who holds it to give it back; nil: it is short.
type loan struct{ leave func() }

// Memory returns what is remembered of the house's answers. The first call makes it.
func (of *House) Memory(made func() any) any {
	of.once.Do(func() { of.memory = made() })
	return of.memory
}

// Borrow lends the current snapshot for one request, in a zone and as a reader with these rights
// has it. It is opened anew if there was a commit. Whoever calls it calls giveBack when the last
// answer was read. Errors are those of Open.
func (h *Houses) Borrow(ctx context.Context, zone *time.Location, r rights.Rights) (w *analytics.Warehouse, giveBack func(), err error) {
	of, giveBack, err := h.Keep(ctx, zone, r, nil)
	if err != nil {
		return nil, nil, err
	}
	return of.Warehouse, giveBack, nil
}

// Keep is Borrow for who holds the house longer than for a request. leave is called when it is no
// longer the current one, and gives it back once nothing runs.
func (h *Houses) Keep(ctx context.Context, zone *time.Location, r rights.Rights, leave func()) (of *House, giveBack func(), err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if of, err = h.take(ctx, zone, r); err != nil {
		return nil, nil, err
	}
	l := &loan{leave}
	of.lent[l] = true
	return of, func() { h.free(of, l) }, nil
}

// Current returns the name of the current snapshot, as 000042; "" if it is not known.
func (h *Houses) Current() string {
	d, err := layout.OpenDir(h.Root)
	if err != nil {
		return ""
	}
	defer d.Close()
	target, err := d.Readlink(filepath.Join(h.Root, layout.CurrentName))
	if err != nil {
		return ""
	}
	return filepath.Base(target)
}

// take returns the current snapshot.
func (h *Houses) take(ctx context.Context, zone *time.Location, r rights.Rights) (*House, error) {
	to := view{zone.String(), r.Key()}
	link := h.Current()
	// A link that cannot be read now was a moment ago.
	if at := h.current[to]; at != nil && (link == "" || link == h.link) {
		return at, nil
	}
	// Opening takes a moment, for which those who come later wait: what they ask is to see
	// the commit, too.
	w, err := h.Open(context.WithoutCancel(ctx), zone, r)
	if err != nil {
		return nil, err
	}
	link = filepath.Base(w.Snapshot().Dir)
	isNew := link != h.link
	if isNew {
		h.drop()
	}
	for len(h.current) >= MostViews {
		var oldest *House
		for _, old := range h.current {
			if len(old.lent) == 0 && (oldest == nil || old.last < oldest.last) {
				oldest = old
			}
		}
		if oldest == nil {
			break
		}
		delete(h.current, oldest.view)
		h.shutIdle(oldest)
	}
	if h.open == nil {
		h.open, h.current = map[*House]bool{}, map[view]*House{}
	}
	next := &House{Warehouse: w, from: h, view: to, lent: map[*loan]bool{}}
	h.link, h.current[to], h.open[next] = link, next, true
	if isNew {
		h.hold()
	}
	return next, nil
}

// Look lets go of a snapshot that is no longer the current one, also where nobody asks for the
// next. Call it every now and then, or whoever says nothing keeps a snapshot for ever.
func (h *Houses) Look() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if link := h.Current(); link == "" || link == h.link || len(h.current) == 0 {
		return
	}
	h.drop()
	h.link = "" // the next one that is opened is new
	h.hold()
}

// drop has nobody take the houses of the current snapshot any more, and asks who holds one to
// let go of it.
func (h *Houses) drop() {
	for of, old := range h.current {
		delete(h.current, of)
		for l := range old.lent {
			if l.leave != nil {
				go l.leave()
			}
		}
		h.shutIdle(old)
	}
}

// free gives a house back. A second time it does nothing.
func (h *Houses) free(of *House, l *loan) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !of.lent[l] {
		return
	}
	delete(of.lent, l)
	h.returns++
	of.last = h.returns
	if h.shutIdle(of) {
		h.hold()
	}
}

// Spoil has nobody take the house any more; the next one opens another.
func (of *House) Spoil() {
	of.from.mu.Lock()
	defer of.from.mu.Unlock()
	if of.from.current[of.view] == of {
		delete(of.from.current, of.view)
		of.from.log("DuckDB failed with an internal error; the snapshot is reopened")
	}
}

// IsCurrent says whether the house is lent to who comes now.
func (of *House) IsCurrent() bool {
	of.from.mu.Lock()
	defer of.from.mu.Unlock()
	return of.from.current[of.view] == of
}

// shutIdle closes a house that nobody reads, unless somebody is to find it. DuckDB may take a
// while to give back what it holds, for which nobody waits but Close.
func (h *Houses) shutIdle(of *House) bool {
	if len(of.lent) > 0 || h.current[of.view] == of {
		return false
	}
	delete(h.open, of)
	h.closing.Go(func() {
		if err := of.Close(); err != nil {
			h.log("close a snapshot: " + err.Error())
		}
	})
	return true
}

// hold tells which snapshots are open.
func (h *Houses) hold() {
	if h.Hold == nil {
		return
	}
	if err := h.Hold(h.numbers()); err != nil {
		h.log(err.Error())
	}
}

func (h *Houses) log(text string) {
	if h.Log != nil {
		h.Log(text)
	}
}

// Snapshots returns the numbers of the snapshots that are open.
func (h *Houses) Snapshots() []int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.numbers()
}

func (h *Houses) numbers() (numbers []int64) {
	for of := range h.open {
		if n := of.Snapshot().Manifest.Snapshot; !slices.Contains(numbers, n) {
			numbers = append(numbers, n)
		}
	}
	return numbers
}

// Close closes what is open. Nobody may read any more.
func (h *Houses) Close() error {
	defer h.closing.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	var errs []error
	for of := range h.open {
		errs = append(errs, of.Close())
		delete(h.open, of)
	}
	clear(h.current)
	if h.Hold != nil {
		errs = append(errs, h.Hold(nil))
	}
	return errors.Join(errs...)
}
