package api

// waiter is a request that waits for its turn. Waiters are used again, so that
// waiting allocates nothing.
type waiter struct {
	prev, next *waiter
	granted    bool
	ticket     ticket
	ch         chan struct{}
}

// enqueue puts a waiter at the end of the queue.
func (b *budget) enqueue() *waiter {
	w := b.spare
	if w == nil {
		w = &waiter{ch: make(chan struct{}, 1)}
	} else {
		b.spare = w.next
	}
	w.prev, w.next, w.granted = b.tail, nil, false
	if b.tail == nil {
		b.head = w
	} else {
		b.tail.next = w
	}
	b.tail = w
	return w
}

func (b *budget) unlink(w *waiter) {
	if w.prev == nil {
		b.head = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		b.tail = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.prev, w.next = nil, nil
}

func (b *budget) recycle(w *waiter) { w.next, b.spare = b.spare, w }
