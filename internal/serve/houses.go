// Package serve has the warehouse answer many people at once over the network: it holds
// the snapshots that they read open and pinned, and runs their statements in the way of
// Postgres. Protocols stand before it ([callhouse/internal/postgres]); it listens on no
// address itself, and changes nothing of a warehouse but the pin.
package serve

import (
	"context"
	"errors"
	"os"
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
	link    string          // what current points at
	current map[view]*house // at that snapshot
	open    map[*house]bool
	readers map[reader]bool
	returns int // how often a house was given back
	closing sync.WaitGroup
}

// view is what a snapshot is opened for.
type view struct{ zone, rights string }

// MostViews is for how many zones, and rights of readers, the current snapshot is kept open
// while nobody asks for them.
const MostViews = 4

// house is an open snapshot, and how many read it.
type house struct {
	*analytics.Warehouse
	memory
	view view
	uses int
	last int // when it was given back, counted in returns
}

// reader holds a house between its statements, and can be asked to let go of it.
type reader interface {
	// leave lets go of a house that is no longer the current one, if nothing runs.
	leave()
}

// Borrow lends the current snapshot for one request, in a zone and as a reader with these
// rights has it. Whoever calls it calls giveBack when the last answer was read. Errors are
// those of Open.
func (h *Houses) Borrow(ctx context.Context, zone *time.Location, r rights.Rights) (w *analytics.Warehouse, giveBack func(), err error) {
	at, err := h.take(ctx, zone, r)
	if err != nil {
		return nil, nil, err
	}
	return at.Warehouse, sync.OnceFunc(func() { h.free(at) }), nil
}

// take returns the current snapshot, opened anew if there was a commit. Give it back by free.
func (h *Houses) take(ctx context.Context, zone *time.Location, r rights.Rights) (*house, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	to := view{zone.String(), r.Key()}
	link, err := os.Readlink(filepath.Join(h.Root, layout.CurrentName))
	// A link that cannot be read now was a moment ago.
	if at := h.current[to]; at != nil && (err != nil || link == h.link) {
		at.uses++
		return at, nil
	}
	// Opening takes a moment, for which those who come later wait: what they ask is to see
	// the commit, too.
	w, err := h.Open(context.WithoutCancel(ctx), zone, r)
	if err != nil {
		return nil, err
	}
	link = layout.SnapshotsName + "/" + filepath.Base(w.Snapshot().Dir)
	isNew := link != h.link
	if isNew {
		h.drop()
	}
	for len(h.current) >= MostViews {
		var oldest *house
		for _, old := range h.current {
			if old.uses == 0 && (oldest == nil || old.last < oldest.last) {
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
		h.open, h.current = map[*house]bool{}, map[view]*house{}
	}
	next := &house{Warehouse: w, view: to, uses: 1}
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
	link, err := os.Readlink(filepath.Join(h.Root, layout.CurrentName))
	if err != nil || link == h.link || len(h.current) == 0 {
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
		h.shutIdle(old)
	}
	for r := range h.readers {
		go r.leave()
	}
}

// free gives a house back.
func (h *Houses) free(of *house) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.returns++
	of.uses, of.last = of.uses-1, h.returns
	if h.shutIdle(of) {
		h.hold()
	}
}

// spoil has nobody take a house any more; the next one opens another.
func (h *Houses) spoil(of *house) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.current[of.view] == of {
		delete(h.current, of.view)
		h.log("DuckDB has broken off with an error of its own; the snapshot is opened anew")
	}
}

func (h *Houses) isCurrent(of *house) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.current[of.view] == of
}

// shutIdle closes a house that nobody reads, unless somebody is to find it. DuckDB may take a
// while to give back what it holds, for which nobody waits but Close.
func (h *Houses) shutIdle(of *house) bool {
	if of.uses > 0 || h.current[of.view] == of {
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

func (h *Houses) join(r reader) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.readers == nil {
		h.readers = map[reader]bool{}
	}
	h.readers[r] = true
}

func (h *Houses) part(r reader) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.readers, r)
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
