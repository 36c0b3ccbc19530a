// Package lend lends the open snapshots of a warehouse: to browser requests, to sessions of the
// Postgres protocol, which keep them between statements. It changes nothing in a warehouse.
package lend

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"time"

	"callhouse/internal/analytics"
	"callhouse/internal/analytics/rights"
	"callhouse/internal/layout"
)

// Houses holds the open snapshots of a warehouse: the current one, once per zone and rights of its
// readers, and older ones while they are in use.
type Houses struct {
	Root string
	// Open opens the current snapshot in a zone, with a reader's rights.
	Open func(ctx context.Context, zone *time.Location, r rights.Rights) (*analytics.Warehouse, error)
	// Log is called with errors that no caller receives.
	Log func(string)

	mu      sync.Mutex
	link    string          // name of the current snapshot
	current map[view]*House // houses at that snapshot
	open    map[*House]bool
	returns int // number of houses given back so far
	closed  bool
	lent    sync.WaitGroup // loans
	closing sync.WaitGroup
}

// errClosed is returned to borrowers after Close. They see it only while the program ends.
var errClosed = errors.New("the program is ending")

// view identifies how a snapshot is opened.
type view struct{ zone, rights string }

// MostViews is the maximum number of views in which the current snapshot stays open while unused.
const MostViews = 4

// House is an open snapshot.
type House struct {
	*analytics.Warehouse
	from *Houses
	view view
	lent map[*loan]bool
	last int // value of returns when it was last given back
}

// loan is one use of a house. leave asks the borrower to give it back; nil: the use is short.
type loan struct{ leave func() }

// Borrow lends the current snapshot for one request, in a zone and with a reader's rights. It opens
// a new snapshot after a commit. The caller must call giveBack after reading the last answer.
// Errors are those of Open; after Close it fails.
func (h *Houses) Borrow(ctx context.Context, zone *time.Location, r rights.Rights) (w *analytics.Warehouse, giveBack func(), err error) {
	of, giveBack, err := h.Keep(ctx, zone, r, nil)
	if err != nil {
		return nil, nil, err
	}
	return of.Warehouse, giveBack, nil
}

// Keep is Borrow for longer than a request. leave is called when the house is no longer current;
// the borrower then gives it back as soon as nothing is running.
func (h *Houses) Keep(ctx context.Context, zone *time.Location, r rights.Rights, leave func()) (of *House, giveBack func(), err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, nil, errClosed
	}
	if of, err = h.take(ctx, zone, r); err != nil {
		return nil, nil, err
	}
	l := &loan{leave}
	of.lent[l] = true
	h.lent.Add(1)
	return of, func() { h.free(of, l) }, nil
}

// Current returns the name of the current snapshot, such as 000042; "" if it is unknown.
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

// take returns the current snapshot in a view.
func (h *Houses) take(ctx context.Context, zone *time.Location, r rights.Rights) (*House, error) {
	to := view{zone.String(), r.Key()}
	link := h.Current()
	// A link that is unreadable now was readable a moment ago.
	if at := h.current[to]; at != nil && (link == "" || link == h.link) {
		return at, nil
	}
	// Opening takes a moment. Later callers wait for it, because they must see the commit, too.
	w, err := h.Open(context.WithoutCancel(ctx), zone, r)
	if err != nil {
		return nil, err
	}
	link = filepath.Base(w.Snapshot().Dir)
	if link != h.link {
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
	return next, nil
}

// Look releases the snapshot if it is no longer current, even if nobody opens the next one. Call it
// regularly: otherwise an idle client keeps an old snapshot open.
func (h *Houses) Look() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if link := h.Current(); link == "" || link == h.link || len(h.current) == 0 {
		return
	}
	h.drop()
	h.link = "" // the next snapshot to be opened is a new one
}

// drop stops lending the houses of the current snapshot, and asks their borrowers to give them
// back.
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

// free gives a house back. Repeated calls have no effect.
func (h *Houses) free(of *House, l *loan) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !of.lent[l] {
		return
	}
	delete(of.lent, l)
	h.lent.Done()
	h.returns++
	of.last = h.returns
	h.shutIdle(of)
}

// Spoil stops lending the house; the next borrower gets a new one.
func (of *House) Spoil() {
	of.from.mu.Lock()
	defer of.from.mu.Unlock()
	if of.from.current[of.view] == of {
		delete(of.from.current, of.view)
		of.from.log("DuckDB failed with an internal error; the snapshot is reopened")
	}
}

// IsCurrent reports whether new borrowers get this house.
func (of *House) IsCurrent() bool {
	of.from.mu.Lock()
	defer of.from.mu.Unlock()
	return of.from.current[of.view] == of
}

// shutIdle closes a house that is not in use and no longer lent. It closes in the background, since
// DuckDB may take a while to release its resources; only Close waits for that.
func (h *Houses) shutIdle(of *House) {
	if len(of.lent) > 0 || h.current[of.view] == of {
		return
	}
	delete(h.open, of)
	h.closing.Go(func() {
		if err := of.Close(); err != nil {
			h.log("close a snapshot: " + err.Error())
		}
	})
}

func (h *Houses) log(text string) {
	if h.Log != nil {
		h.Log(text)
	}
}

// Close lends no more snapshots, waits until all are given back, and closes them: DuckDB crashes the
// program if its database is closed under a statement.
func (h *Houses) Close() error {
	defer h.closing.Wait()
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.lent.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	var errs []error
	for of := range h.open {
		errs = append(errs, of.Close())
		delete(h.open, of)
	}
	clear(h.current)
	return errors.Join(errs...)
}
