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
	"sync"

	"callhouse/internal/analytics"
	"callhouse/internal/layout"
)

// Houses are the snapshots of a warehouse that are open: the current one, and older
// ones for as long as somebody reads them.
type Houses struct {
	Root string
	// Open opens the current snapshot.
	Open func(ctx context.Context) (*analytics.Warehouse, error)
	// Hold is told which snapshots are open whenever that changes; nil: nobody need know.
	Hold func(snapshots []int64) error
	// Log is told what goes wrong where nobody waits for an answer.
	Log func(string)

	mu      sync.Mutex
	current *house
	open    map[*house]bool
	readers map[reader]bool
}

// house is an open snapshot, and how many read it.
type house struct {
	*analytics.Warehouse
	link string // what current pointed at when it was opened
	uses int
}

// reader holds a house between its statements, and can be asked to let go of it.
type reader interface {
	// leave lets go of a house that is no longer the current one, if nothing runs.
	leave()
}

// take returns the current snapshot, opened anew if there was a commit. Give it back by free.
func (h *Houses) take(ctx context.Context) (*house, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	link, err := os.Readlink(filepath.Join(h.Root, layout.CurrentName))
	if err != nil && h.current == nil {
		link = ""
	}
	if h.current != nil && (err != nil || link == h.current.link) {
		h.current.uses++ // a link that cannot be read now was a moment ago
		return h.current, nil
	}
	// Opening takes a moment, for which those who come later wait: what they ask is to see
	// the commit, too.
	w, err := h.Open(context.WithoutCancel(ctx))
	if err != nil {
		return nil, err
	}
	next := &house{Warehouse: w, link: layout.SnapshotsName + "/" + filepath.Base(w.Snapshot().Dir), uses: 1}
	if h.open == nil {
		h.open = map[*house]bool{}
	}
	h.open[next] = true
	old := h.current
	h.current = next
	if old != nil && old.uses == 0 {
		h.shut(old)
	}
	h.hold()
	if old != nil {
		for r := range h.readers {
			go r.leave()
		}
	}
	return next, nil
}

// free gives a house back.
func (h *Houses) free(of *house) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if of.uses--; of.uses == 0 && of != h.current {
		h.shut(of)
		h.hold()
	}
}

func (h *Houses) isCurrent(of *house) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return of == h.current
}

func (h *Houses) shut(of *house) {
	delete(h.open, of)
	if err := of.Close(); err != nil {
		h.log("close a snapshot: " + err.Error())
	}
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
		numbers = append(numbers, of.Snapshot().Manifest.Snapshot)
	}
	return numbers
}

// Close closes the current snapshot. Nobody may read any more.
func (h *Houses) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	var errs []error
	for of := range h.open {
		errs = append(errs, of.Close())
		delete(h.open, of)
	}
	h.current = nil
	if h.Hold != nil {
		errs = append(errs, h.Hold(nil))
	}
	return errors.Join(errs...)
}
