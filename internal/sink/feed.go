package sink

import (
	"errors"
	"iter"
	"sync/atomic"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/schema"
)

// A batch is handed over when it has so many calls, or so many bytes of them.
const (
	batchCalls = 32
	batchBytes = 1 << 20
	batches    = 3
	// What a slot was once made larger for is not kept.
	slotBytes = 1 << 20
	flatRoom  = 1 << 16
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
	rows  []callSize      // of calls that are copied, in their order
	flat  []parquet.Value // the values of these rows, end to end
	slots []*decodeSlot
	used  int // of slots
	bytes int
}

// fedCall is a call to be written.
type fedCall struct {
	call *schema.Call
	copy bool // as its rows are
}

// callSize is how many values the rows of a call have.
type callSize struct{ call, turns, items int }

// callRows are the rows of a call as its files have them, end to end.
type callRows struct{ call, turns, items parquet.Row }

// cut takes a call's rows from the values of several.
func (n callSize) cut(flat []parquet.Value) (rows callRows, rest []parquet.Value) {
	rows.call, flat = flat[:n.call], flat[n.call:]
	rows.turns, flat = flat[:n.turns], flat[n.turns:]
	rows.items, flat = flat[:n.items], flat[n.items:]
	return rows, flat
}

// of takes the rows of a table apart.
func (*callRows) of(rows parquet.Row, table *schema.Table) iter.Seq[parquet.Row] {
	return func(yield func(parquet.Row) bool) {
		for n := len(table.Columns); len(rows) > 0; rows = rows[n:] {
			if !yield(rows[:n]) {
				return
			}
		}
	}
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
	sizes, flat := b.rows, b.flat
	for _, c := range b.calls {
		var err error
		if c.copy {
			var rows callRows
			rows, flat = sizes[0].cut(flat)
			sizes = sizes[1:]
			err = f.w.copy(c.call, &rows)
		} else {
			err = f.w.write(c.call)
		}
		if err != nil {
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
func (f *feed) copy(p *periodReader, call *schema.Call, row parquet.Row) error {
	b := f.cur
	n := callSize{call: len(row)}
	b.flat = append(b.flat, row...)
	err := p.each(call, func(row parquet.Row) error {
		b.flat = append(b.flat, row...)
		n.turns += len(row)
		return nil
	}, func(row parquet.Row) error {
		b.flat = append(b.flat, row...)
		n.items += len(row)
		return nil
	})
	if err != nil {
		return err
	}
	b.calls, b.rows = append(b.calls, fedCall{call: call, copy: true}), append(b.rows, n)
	b.bytes += 64 * (n.turns + n.items)
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
		clear(s.call.Turns)
		clear(s.call.Items)
		if cap(s.body) > slotBytes {
			b.slots[i] = new(decodeSlot)
		}
	}
	if clear(b.flat); cap(b.flat) > flatRoom {
		b.flat = nil
	}
	clear(b.calls)
	b.calls, b.rows, b.flat, b.used, b.bytes = b.calls[:0], b.rows[:0], b.flat[:0], 0, 0
}
