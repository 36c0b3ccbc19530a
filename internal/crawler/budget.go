package crawler

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Spend is one request as the budget remembers it across runs.
type Spend struct {
	Sent     time.Time
	Answered time.Time // when its answer began; zero: not yet, or never
}

// The budget's clock starts at zero when it is made, and is monotonic.
type instant = time.Duration

// margin is added to a window of the given length, against clocks that tick
// unlike ours: two milliseconds for a service that counts in whole ones, and
// 500 millionths, the fastest that a system slews its clock.
func margin(window time.Duration) time.Duration { return 2*time.Millisecond + window/2000 }

// budget admits requests. It keeps both of the service's limits at once, for
// any way in which the service may count, and at any latency:
//
// A request is counted by the service at a moment that we do not know, between
// sending it and the start of its answer. So each request holds one of a
// window's slots from before it is sent until a whole window after its answer
// began. The next request that uses the slot is therefore counted more than a
// window later, and since there are only limit slots, no stretch of time as
// long as the window holds more than limit counts. A fixed window is such a
// stretch; a token bucket of that size and rate never runs dry either.
//
// Requests are admitted in the order in which they asked. Every operation takes
// constant time, and none allocates once the budget is warm.
type budget struct {
	mu     sync.Mutex
	base   time.Time
	second window
	minute window
	free   []int32 // slots of the ledger that no held request occupies
	note   func(slot int, s Spend)
	pace   pace

	head, tail *waiter // who waits, in order
	spare      *waiter // waiters to use again
	timer      *time.Timer
}

// window is one limit: so many requests in so long a time.
type window struct {
	span  time.Duration
	limit int
	held  int       // slots held: in flight, or answered less than span ago
	ring  []release // answered ones, in the order in which they will be free
	first int
	n     int
}

type release struct {
	at   instant
	slot int32
}

type waiter struct {
	prev, next *waiter
	granted    bool
	slot       int32
	at         instant
	ch         chan struct{}
}

// ticket is the right to send one request. It is given back exactly once, by
// answered, ended or unused.
type ticket struct {
	slot int32
	at   instant
}

// newBudget makes a budget of perSecond and perMinute. recall is what was spent
// before; note, which may be nil, is told of every spend.
func newBudget(perSecond, perMinute int, recall []Spend, note func(int, Spend)) *budget {
	b := &budget{base: time.Now(), note: note}
	if b.note == nil {
		b.note = func(int, Spend) {}
	}
	slots := slots(perSecond, perMinute, len(recall))
	b.second = newWindow(time.Second, perSecond, slots)
	b.minute = newWindow(time.Minute, perMinute, slots)
	b.pace.full()
	b.free = make([]int32, slots)
	for i := range b.free {
		b.free[i] = int32(slots - 1 - i) // the lowest is taken first
	}
	b.recall(recall)
	b.timer = time.AfterFunc(time.Hour, b.wake)
	b.timer.Stop()
	return b
}

func newWindow(span time.Duration, limit, slots int) window {
	return window{span: span + margin(span), limit: limit, ring: make([]release, slots)}
}

// recall holds slots for what was spent before this run. A request that was
// never answered may have been counted until its run ended or it timed out.
// A time that has not come yet is a clock set back: it is taken for now.
func (b *budget) recall(spends []Spend) {
	now := time.Now()
	type held struct {
		Spend
		last time.Time
	}
	var live []held
	for _, s := range spends {
		if s.Sent.IsZero() {
			continue
		}
		last := s.Answered
		if last.IsZero() {
			last = s.Sent.Add(requestTimeout)
		}
		if last.After(now) {
			last = now
		}
		if now.Sub(last) < b.minute.span {
			live = append(live, held{s, last})
		}
	}
	slices.SortFunc(live, func(a, b held) int { return a.last.Compare(b.last) })
	for _, h := range live {
		slot := b.take()
		b.note(int(slot), h.Spend)
		b.second.give(h.last.Sub(now), slot) // before the budget's time: below zero
		b.minute.give(h.last.Sub(now), slot)
	}
}

// acquire waits until a request may be sent. Whoever gets a ticket must give it
// back. The wait ends early, with ctx's error, when ctx is done.
func (b *budget) acquire(ctx context.Context) (ticket, error) {
	if err := ctx.Err(); err != nil {
		return ticket{}, err
	}
	b.mu.Lock()
	now := time.Since(b.base)
	if b.head == nil && b.admits(now) {
		t := ticket{b.take(), now}
		b.mu.Unlock()
		b.note(int(t.slot), Spend{Sent: b.base.Add(t.at)})
		return t, nil
	}
	w := b.enqueue()
	b.dispatch(now)
	b.mu.Unlock()

	select {
	case <-w.ch:
	case <-ctx.Done():
		b.mu.Lock()
		if !w.granted {
			b.unlink(w)
			b.recycle(w)
			b.dispatch(time.Since(b.base)) // the wait of the next one may be another
			b.mu.Unlock()
			return ticket{}, ctx.Err()
		}
		b.mu.Unlock()
		<-w.ch
		t := ticket{w.slot, w.at}
		b.mu.Lock()
		b.recycle(w)
		b.mu.Unlock()
		b.unused(t)
		return ticket{}, ctx.Err()
	}
	b.mu.Lock()
	t := ticket{w.slot, w.at}
	b.recycle(w)
	b.mu.Unlock()
	b.note(int(t.slot), Spend{Sent: b.base.Add(t.at)})
	return t, nil
}

// answered says that the answer to t's request has begun, or that the attempt
// ended without one: from now on the service cannot count it any more. The slots
// are free one window from now.
func (b *budget) answered(t ticket) {
	now := time.Since(b.base)
	b.note(int(t.slot), Spend{Sent: b.base.Add(t.at), Answered: b.base.Add(now)})
	b.mu.Lock()
	defer b.mu.Unlock()
	now = time.Since(b.base) // in the ring, time never runs back
	b.second.give(now, t.slot)
	b.minute.give(now, t.slot)
	b.dispatch(now)
}

// unused gives back a ticket whose request was never sent.
func (b *budget) unused(t ticket) {
	b.note(int(t.slot), Spend{})
	b.mu.Lock()
	defer b.mu.Unlock()
	b.second.held--
	b.minute.held--
	b.free = append(b.free, t.slot)
	b.dispatch(time.Since(b.base))
}

// use says how many of the requests that a minute allows are held now.
func (b *budget) use() (held, allowed int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Since(b.base)
	b.expire(now)
	return b.minute.held, b.pace.of(b.minute.limit, now)
}

// limited says that t's request was refused with 429, and for how long the
// service asks to wait (zero: it does not say).
func (b *budget) limited(t ticket, wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Since(b.base)
	if wait == 0 {
		wait = b.minute.span // until nothing that we sent can be counted any more
	}
	b.pace.cut(t.at, now, wait)
	b.dispatch(now)
}

// hold closes the budget for a while without lowering the pace.
func (b *budget) hold(wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Since(b.base)
	b.pace.closed = max(b.pace.closed, now+wait)
	b.dispatch(now)
}

// close stops the budget's timer.
func (b *budget) close() { b.timer.Stop() }

func (b *budget) wake() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.dispatch(time.Since(b.base))
}

// take holds a slot in both windows.
func (b *budget) take() int32 {
	b.second.held++
	b.minute.held++
	slot := b.free[len(b.free)-1]
	b.free = b.free[:len(b.free)-1]
	return slot
}

// expire frees the slots whose window is over. The minute outlasts the second,
// so it is the minute that frees the ledger's slots.
func (b *budget) expire(now instant) {
	for b.second.n > 0 && b.second.ring[b.second.first].at <= now {
		b.second.pop()
	}
	for b.minute.n > 0 && b.minute.ring[b.minute.first].at <= now {
		b.free = append(b.free, b.minute.pop())
	}
}

// admits says whether a request may be sent now.
func (b *budget) admits(now instant) bool {
	b.expire(now)
	return now >= b.pace.closed &&
		b.second.held < b.pace.of(b.second.limit, now) &&
		b.minute.held < b.pace.of(b.minute.limit, now)
}

// dispatch lets in whoever may be let in, and sets the timer for the next one.
func (b *budget) dispatch(now instant) {
	for b.head != nil && b.admits(now) {
		w := b.head
		b.unlink(w)
		w.slot, w.at, w.granted = b.take(), now, true
		w.ch <- struct{}{}
	}
	if b.head == nil {
		b.timer.Stop()
		return
	}
	if at, ok := b.opens(now); ok {
		b.timer.Reset(at - now)
	} else {
		b.timer.Stop() // the next answer will tell
	}
}

// opens says when a request may be sent if nothing happens until then; not ok:
// not before an answer comes.
func (b *budget) opens(now instant) (at instant, ok bool) {
	at = b.pace.closed
	for _, w := range []*window{&b.second, &b.minute} {
		free, known := w.opens(b.pace.of(w.limit, now))
		if !known {
			at, ok = 0, false
			break
		}
		at, ok = max(at, free), true
	}
	if grows, more := b.pace.grows(now); more && now >= b.pace.closed && (!ok || grows < at) {
		return grows, true
	}
	return at, ok
}

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

// give says that the request which holds slot was answered at at.
func (w *window) give(at instant, slot int32) {
	w.ring[(w.first+w.n)%len(w.ring)] = release{at + w.span, slot}
	w.n++
}

func (w *window) pop() int32 {
	slot := w.ring[w.first].slot
	w.first = (w.first + 1) % len(w.ring)
	w.n--
	w.held--
	return slot
}

// opens says when fewer than allowed slots will be held.
func (w *window) opens(allowed int) (at instant, known bool) {
	k := w.held - allowed // so many, and one more, must come free
	if k < 0 {
		return 0, true
	}
	if k >= w.n {
		return 0, false
	}
	return w.ring[(w.first+k)%len(w.ring)].at, true
}

// slots is enough for all requests in flight beside those recalled.
func slots(perSecond, perMinute, recalled int) int { return max(perMinute, recalled) + perSecond }

// closedFor says how long nothing may be sent because the service asked for it.
func (b *budget) closedFor() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return max(0, b.pace.closed-time.Since(b.base))
}
