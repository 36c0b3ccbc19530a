package sink

import (
	"errors"
	"sync/atomic"

	"callhouse/internal/schema"
)

// A batch is handed over when it has so many calls, or so many bytes of them.
const (
	batchCalls = 32
	batchBytes = 1 << 20
	batches    = 3
	// What a slot was once made larger for is not kept.
	slotBytes = 1 << 20
	rowBytes  = 768 // of a row of a list, about
)

// feed lets two goroutines share the work on a period: one reads and merges its
// calls, and hands them in batches to the other, which encodes and writes them.
type feed struct {
	w     *periodWriter
	cur   *handful
	free  chan *handful
	full  chan *handful
	done  chan struct{}
	err   error // of the writing side; set when failed is, or done is closed
	fails atomic.Bool
}

// errFed says that the writing side failed, whose own error says why.
var errFed = errors.New("the calls could not be written")

// handful is some calls in their order, and the memory in which they lie.
type handful struct {
	calls []fedCall
	slots []*decodeSlot
	used  int // of slots
	bytes int
}

// fedCall is a call to be written.
type fedCall struct {
	call *schema.Call
	copy bool // its rows are as they were
}

func newFeed(w *periodWriter) *feed {
	f := &feed{w: w, free: make(chan *handful, batches), full: make(chan *handful, batches), done: make(chan struct{})}
	for range batches - 1 {
		f.free <- new(handful)
	}
	f.cur = new(handful)
	go f.drain()
	return f
}

// drain writes what is handed over; after a failure it only takes it.
func (f *feed) drain() {
	defer close(f.done)
	for b := range f.full {
		if f.err == nil {
			if f.err = f.apply(b); f.err != nil {
				f.fails.Store(true)
			}
		}
		b.reset()
		f.free <- b
	}
}

func (f *feed) apply(b *handful) error {
	for _, c := range b.calls {
		if !c.copy {
			c.call.Complete()
		}
		if err := f.w.write(c.call); err != nil {
			return err
		}
	}
	return f.w.failed()
}

// slot returns memory for a record, which stands until the call that was made of
// it is written.
func (f *feed) slot() *decodeSlot {
	b := f.cur
	if b.used == len(b.slots) {
		b.slots = append(b.slots, new(decodeSlot))
	}
	b.used++
	return b.slots[b.used-1]
}

// write hands a call on.
func (f *feed) write(call *schema.Call) error {
	f.cur.calls = append(f.cur.calls, fedCall{call: call})
	return f.next()
}

// copy hands a call on whose rows are as they were.
func (f *feed) copy(p *periodReader, call *schema.Call) error {
	if err := p.take(call); err != nil {
		return err
	}
	f.cur.calls = append(f.cur.calls, fedCall{call: call, copy: true})
	for i := range call.Lists {
		f.cur.bytes += rowBytes * call.Lists[i].Len()
	}
	return f.next()
}

// next hands the batch over when it is full.
func (f *feed) next() error {
	if len(f.cur.calls) < batchCalls && f.cur.bytes < batchBytes {
		return nil
	}
	f.full <- f.cur
	f.cur = <-f.free
	if f.fails.Load() {
		return errFed
	}
	return nil
}

// close returns when all is written, with the writing side's error.
func (f *feed) close() error {
	f.full <- f.cur
	close(f.full)
	<-f.done
	return f.err
}

// reset makes a batch empty. What it holds on to would keep journal frames and
// pages of files in memory.
func (b *handful) reset() {
	for i, s := range b.slots[:b.used] {
		s.call.Release()
		if cap(s.body) > slotBytes {
			b.slots[i] = new(decodeSlot)
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
