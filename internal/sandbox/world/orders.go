package world

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"sync"

	"callhouse/internal/sandbox/dice"
)

// Order is a call that somebody asked for: who should call whom, and what was noted
// about it. How it goes, and what is said, is drawn from its id.
type Order struct {
	ID           UUID
	At           int64 // when it was asked for
	Agent        UUID
	Version      string
	From, To     string
	Presentation string // empty for none
	Variant      string // of an agent whose traffic is split; empty for none
	Metadata     string // a JSON object, as Variables
	Variables    string
	Campaign     string // the id of the campaign that makes it; empty for none
}

// Orders are the calls that were asked for. They stand among the computed ones by
// their start, behind those of the same millisecond, and have negative indexes.
// The zero value is ready; worlds may share it.
type Orders struct {
	mu      sync.RWMutex
	calls   []*Call // by number
	byStart []*Call
	byID    map[UUID]*Call
	made    int // how often there were more or fewer of them
}

// firstOrder is the index of the first order. That of a position before all calls, -1,
// is above it.
const firstOrder = -2

// call returns the call of an index; nil for none.
func (o *Orders) call(index int64) *Call {
	o.mu.RLock()
	defer o.mu.RUnlock()
	if n := firstOrder - index; n >= 0 && n < int64(len(o.calls)) {
		return o.calls[n]
	}
	return nil
}

func (o *Orders) find(id UUID) *Call {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return o.byID[id]
}

// Order takes an order and returns how it will go.
func (w *World) Order(order Order) *Call {
	o := w.cfg.Orders
	o.mu.Lock()
	defer o.mu.Unlock()
	if c := o.byID[order.ID]; c != nil && c.Order.At == order.At {
		return c
	}
	c := &Call{
		Index: firstOrder - int64(len(o.calls)), ID: order.ID, Order: &order, Key: dice.Hash(w.Key+11, order.ID.body()),
		Version: order.Version, Variant: order.Variant, Type: "outbound", StartAt: order.At, times: w.cfg.Wordiness,
	}
	d := dice.New(c.Key)
	model := w.agents[dice.Pick(order.Agent.body(), len(w.agents))] // of an agent who was made by a client
	for _, a := range w.agents {
		if a.ID == order.Agent {
			model = a
		}
	}
	a := *model
	a.ID, a.Direction, a.Flow = order.Agent, "outbound", a.Flow && a.ID == order.Agent
	c.Agent, c.scenario, c.customer = &a, a.scenario, d.Below(customers)
	w.settle(c, &d)
	wait := order.At - c.QueuedAt // what was drawn began with the start
	for _, at := range []*int64{&c.QueuedAt, &c.StartAt, &c.EndAt, &c.AnalysisAt, &c.CostAt} {
		if *at > 0 {
			*at += wait
		}
	}
	c.VisibleAt = c.QueuedAt
	if o.byID == nil {
		o.byID = map[UUID]*Call{}
	}
	o.calls, o.byID[c.ID] = append(o.calls, c), c
	o.made++
	i, _ := slices.BinarySearchFunc(o.byStart, c, func(a, b *Call) int { return cmp.Or(cmp.Compare(a.StartAt, b.StartAt), -1) })
	o.byStart = slices.Insert(o.byStart, i, c)
	return c
}

// Withdraw takes back a campaign's orders from an instant on, which is not in the past:
// they never showed.
func (w *World) Withdraw(campaign string, from int64) {
	o := w.cfg.Orders
	o.mu.Lock()
	defer o.mu.Unlock()
	o.made++
	gone := func(c *Call) bool { return c.Order.Campaign == campaign && c.Order.At >= from }
	maps.DeleteFunc(o.byID, func(_ UUID, c *Call) bool { return gone(c) })
	o.byStart = slices.DeleteFunc(slices.Clone(o.byStart), gone)
}

// Ordering is a number that differs before and after a call is ordered, or taken back.
func (w *World) Ordering() int {
	w.cfg.Orders.mu.RLock()
	defer w.cfg.Orders.mu.RUnlock()
	return w.cfg.Orders.made
}

// Ordered yields the orders that show at t, newest first or oldest first. The view is
// overwritten by the next one.
func (w *World) Ordered(t int64, ascending bool) iter.Seq[*View] {
	o := w.cfg.Orders
	o.mu.RLock()
	all := o.byStart[:len(o.byStart):len(o.byStart)]
	if len(all) > 0 { // an insertion may move them
		all = slices.Clone(all)
	}
	o.mu.RUnlock()
	if !ascending {
		slices.Reverse(all)
	}
	return func(yield func(*View) bool) {
		for _, c := range all {
			if v := (View{Call: *c}); c.shows(t) {
				if v.show(t); !yield(&v) {
					return
				}
			}
		}
	}
}

// Compare orders two calls by their indexes as a list does that begins with the oldest.
func (w *World) Compare(a, b int64) int {
	if a > firstOrder && b > firstOrder {
		return cmp.Compare(a, b)
	}
	return cmp.Or(cmp.Compare(w.Start(a), w.Start(b)), cmp.Compare(rank(a), rank(b)))
}

// UpTo returns how many computed calls come before a position, in a list that begins
// with the oldest; Behind how many come before or stand at it.
func (w *World) UpTo(position int64) int64 {
	if position <= firstOrder {
		return w.started(w.Start(position))
	}
	return max(position, 0)
}

// Behind is UpTo with the call at the position itself.
func (w *World) Behind(position int64) int64 {
	if position <= firstOrder {
		return w.UpTo(position)
	}
	return position + 1
}

// rank is a call's place among those of its millisecond.
func rank(index int64) int64 {
	if index <= firstOrder {
		return 1<<62 - index
	}
	return index
}

// Merge puts computed calls and orders into one order, that of both.
func (w *World) Merge(computed, ordered iter.Seq[*View], ascending bool) iter.Seq[*View] {
	return func(yield func(*View) bool) {
		next, stop := iter.Pull(ordered)
		defer stop()
		o, more := next()
		for v := range computed {
			for ; more && w.Compare(o.Index, v.Index) < 0 == ascending; o, more = next() {
				if !yield(o) {
					return
				}
			}
			if !yield(v) {
				return
			}
		}
		for ; more; o, more = next() {
			if !yield(o) {
				return
			}
		}
	}
}

// orders counts orders that show.
func (w *World) orders(t int64) (n int64) {
	for range w.Ordered(t, true) {
		n++
	}
	return n
}
