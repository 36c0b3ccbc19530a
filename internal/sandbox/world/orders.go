package world

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"sync"

	"callhouse/internal/sandbox/dice"
)

// Order is a call that a client ordered, with its notes. Its course and words are drawn from its
// id.
type Order struct {
	ID           UUID
	At           int64 // the time of the order
	Agent        UUID
	Version      string
	From, To     string
	Presentation string // empty: none
	Variant      string // if the agent's traffic is split; empty: none
	Metadata     string // a JSON object, like Variables
	Variables    string
	Campaign     string // id of the campaign that makes it; empty: none
}

// Orders are the ordered calls. They are listed among the computed ones by their start, after those
// of the same millisecond, and have negative indexes. The zero value is ready; worlds may share it.
type Orders struct {
	mu      sync.RWMutex
	calls   []*Call // by number
	byStart []*Call
	byID    map[UUID]*Call
	made    int // counts additions and removals
}

// firstOrder is the index of the first order, below -1, the position before all calls.
const firstOrder = -2

// call returns the call of an index; nil if none.
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

// Order takes an order and returns the call.
func (w *World) Order(order Order) *Call {
	o := w.cfg.Orders
	o.mu.Lock()
	defer o.mu.Unlock()
	if c := o.byID[order.ID]; c != nil && c.Order.At == order.At {
		return c
	}
	c := &Call{
		Index: firstOrder - int64(len(o.calls)), ID: order.ID, Order: &order, Key: dice.Hash(w.Key+11, order.ID.body()),
		Version: order.Version, Variant: order.Variant, Type: "outbound", StartAt: order.At,
	}
	d := dice.New(c.Key)
	model := w.agents[dice.Pick(order.Agent.body(), len(w.agents))] // of a client's agent
	for _, a := range w.agents {
		if a.ID == order.Agent {
			model = a
		}
	}
	a := *model
	a.ID, a.Direction, a.Flow = order.Agent, "outbound", a.Flow && a.ID == order.Agent
	c.Agent, c.scenario, c.customer = &a, a.scenario, d.Below(customers)
	w.settle(c, &d)
	wait := order.At - c.QueuedAt // the draws were relative to the start
	for _, at := range []*int64{&c.QueuedAt, &c.StartAt, &c.EndAt, &c.AnalysisAt, &c.CostAt} {
		if *at > 0 {
			*at += wait
		}
	}
	c.VisibleAt = c.QueuedAt
	w.disturb(c)
	if o.byID == nil {
		o.byID = map[UUID]*Call{}
	}
	o.calls, o.byID[c.ID] = append(o.calls, c), c
	o.made++
	i, _ := slices.BinarySearchFunc(o.byStart, c, func(a, b *Call) int { return cmp.Or(cmp.Compare(a.StartAt, b.StartAt), -1) })
	o.byStart = slices.Insert(o.byStart, i, c)
	return c
}

// Withdraw removes a campaign's orders from an instant on, which is not in the past: they never
// showed.
func (w *World) Withdraw(campaign string, from int64) {
	o := w.cfg.Orders
	o.mu.Lock()
	defer o.mu.Unlock()
	o.made++
	gone := func(c *Call) bool { return c.Order.Campaign == campaign && c.Order.At >= from }
	maps.DeleteFunc(o.byID, func(_ UUID, c *Call) bool { return gone(c) })
	o.byStart = slices.DeleteFunc(slices.Clone(o.byStart), gone)
}

// Ordering returns a number that changes when calls are ordered or withdrawn.
func (w *World) Ordering() int {
	w.cfg.Orders.mu.RLock()
	defer w.cfg.Orders.mu.RUnlock()
	return w.cfg.Orders.made
}

// Ordered yields the orders that show at t, newest or oldest first. The view is overwritten by the
// next one.
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

// Compare compares two calls by index in the order of an ascending list.
func (w *World) Compare(a, b int64) int {
	if a > firstOrder && b > firstOrder {
		return cmp.Compare(a, b)
	}
	return cmp.Or(cmp.Compare(w.Start(a), w.Start(b)), cmp.Compare(rank(a), rank(b)))
}

// UpTo returns the number of computed calls before a position in an ascending list.
func (w *World) UpTo(position int64) int64 {
	if position <= firstOrder {
		return w.started(w.Start(position))
	}
	return max(position, 0)
}

// Behind is UpTo including the call at the position.
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

// Merge merges computed calls and orders, both in list order.
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

// orders returns the number of visible orders.
func (w *World) orders(t int64) (n int64) {
	for range w.Ordered(t, true) {
		n++
	}
	return n
}
