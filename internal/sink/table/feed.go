package table

import (
	"errors"
	"sync"
	"sync/atomic"

	"callhouse/internal/calls"
)

// Limits of a batch, in calls and in bytes: small enough that the rows of all batches are still in
// the processor's cache when they are written.
const (
	batchCalls = 12
	batchBytes = 1 << 20
	batches    = 3
	// A slot's memory beyond this size is not kept.
	slotBytes = 1 << 20
	rowBytes  = 768 // estimated size of a row of a list
)

// Feed divides the work on a period between two goroutines: one reads and merges its calls, and
// passes them in batches to the other, which encodes and writes them.
type Feed struct {
	w       *PeriodWriter
	filling *batch
	free    chan *batch
	full    chan *batch
	done    chan struct{}
	err     error // the writing side's error; set when failed is set or done is closed
	failed  atomic.Bool
}

// Slot is memory into which a record is decoded.
type Slot struct {
	Call calls.Call
	Dec  calls.Decoder
	Body []byte // of a dump's record
}

// errWriter means that the writing side failed. Its own error has the reason.
var errWriter = errors.New("the calls could not be written")

// batch is a sequence of calls, and their memory.
type batch struct {
	calls []queued
	slots []*Slot
	used  int // of slots
	bytes int
}

// batchPool holds batches for the next period.
var batchPool = sync.Pool{New: func() any { return new(batch) }}

func takeBatch() *batch {
	b, _ := batchPool.Get().(*batch)
	return b
}

// queued is a call waiting to be written.
type queued struct {
	call *calls.Call
	copy bool // its rows are unchanged
}

// NewFeed returns a feed that writes to w.
func NewFeed(w *PeriodWriter) *Feed {
	f := &Feed{w: w, free: make(chan *batch, batches), full: make(chan *batch, batches), done: make(chan struct{})}
	for range batches - 1 {
		f.free <- takeBatch()
	}
	f.filling = takeBatch()
	go f.drain()
	return f
}

// drain writes the batches. After a failure it only discards them.
func (f *Feed) drain() {
	defer close(f.done)
	for b := range f.full {
		if f.err == nil {
			if f.err = f.apply(b); f.err != nil {
				f.failed.Store(true)
			}
		}
		b.reset()
		f.free <- b
	}
}

func (f *Feed) apply(b *batch) error {
	for _, c := range b.calls {
		tools := f.w.tools.Of(c.call)
		if !c.copy {
			if c.call.Complete(tools); f.w.Tell != nil {
				f.w.Tell(c.call)
			}
		}
		if err := f.w.write(c.call); err != nil {
			return err
		}
	}
	return nil
}

// Slot returns memory for a record, which stays valid until the record's call is written.
func (f *Feed) Slot() *Slot {
	b := f.filling
	if b.used == len(b.slots) {
		b.slots = append(b.slots, new(Slot))
	}
	b.used++
	return b.slots[b.used-1]
}

// Grow adds the size of the next call.
func (f *Feed) Grow(bytes int) { f.filling.bytes += bytes }

// Write passes a call on.
func (f *Feed) Write(call *calls.Call) error {
	f.filling.calls = append(f.filling.calls, queued{call: call})
	return f.next()
}

// Copy passes on a call with unchanged rows.
func (f *Feed) Copy(p *Period, call *calls.Call) error {
	if err := p.Take(call); err != nil {
		return err
	}
	f.filling.calls = append(f.filling.calls, queued{call: call, copy: true})
	for i := range call.Lists {
		f.filling.bytes += rowBytes * call.Lists[i].Len()
	}
	return f.next()
}

// next passes the batch on when it is full.
func (f *Feed) next() error {
	if len(f.filling.calls) < batchCalls && f.filling.bytes < batchBytes {
		return nil
	}
	f.full <- f.filling
	f.filling = <-f.free
	if f.failed.Load() {
		return errWriter
	}
	return nil
}

// Close waits until everything is written, and returns the writing side's error.
func (f *Feed) Close() error {
	f.full <- f.filling
	close(f.full)
	<-f.done
	for range batches {
		batchPool.Put(<-f.free)
	}
	return f.err
}

// reset empties a batch, because its references would keep journal frames and pages of files in
// memory.
func (b *batch) reset() {
	for i, s := range b.slots[:b.used] {
		s.Call.Release()
		if cap(s.Body) > slotBytes {
			b.slots[i] = new(Slot)
		}
	}
	for _, c := range b.calls {
		if c.copy {
			c.call.Release()
			callPool.Put(c.call)
		}
	}
	clear(b.calls)
	b.calls, b.used, b.bytes = b.calls[:0], 0, 0
}
