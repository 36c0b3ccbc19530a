package api

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

// ticket is the right to send one request. It is given back exactly once, by
// answered, ended or unused.
type ticket struct {
	slot int32
	at   instant
	sent time.Time // by the clock on the wall, for the ledger
	// So many other requests held slots of the second and of the minute.
	second, minute int
}

// newBudget makes a budget of perSecond and perMinute. recall is what was spent
// before; note, which may be nil, is told of every spend.
func newBudget(perSecond, perMinute int, recall []Spend, note func(int, Spend)) *budget {
	b := &budget{base: time.Now(), note: note}
	if b.note == nil {
		b.note = func(int, Spend) {}
	}
	slots := slots(perSecond, perMinute, len(recall))
	b.second = newWindow(time.Second, perSecond)
	b.minute = newWindow(time.Minute, perMinute)
	b.pace = newPace(perSecond, perMinute)
	b.free = make([]int32, slots)
	for i := range b.free {
		b.free[i] = int32(slots - 1 - i) // the lowest is taken first
	}
	b.recall(recall)
	b.timer = time.AfterFunc(time.Hour, b.wake)
	b.timer.Stop()
	return b
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
		t := b.grant(now)
		b.mu.Unlock()
		return b.noted(t), nil
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
		b.unused(b.collect(w))
		return ticket{}, ctx.Err()
	}
	return b.noted(b.collect(w)), nil
}

// collect takes the ticket that a waiter was granted.
func (b *budget) collect(w *waiter) ticket {
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-w.ch: // if nobody has read it
	default:
	}
	t := w.ticket
	b.recycle(w)
	return t
}

// noted puts a ticket into the ledger, before its request goes out.
func (b *budget) noted(t ticket) ticket {
	t.sent = time.Now()
	b.note(int(t.slot), Spend{Sent: t.sent})
	return t
}

// answered says that the answer to t's request has begun, or that the attempt
// ended without one: from now on the service cannot count it any more. The slots
// are free one window from now.
func (b *budget) answered(t ticket) {
	b.note(int(t.slot), Spend{Sent: t.sent, Answered: time.Now()})
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Since(b.base)
	b.second.give(now, t.slot)
	b.minute.give(now, t.slot)
	b.pace.accepted++ // until limited says otherwise
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
	return b.minute.held, b.pace.minute.told(now)
}

// limited says that t's request was refused with 429, and for how long the
// service asks to wait (zero: it does not say).
func (b *budget) limited(t ticket, wait time.Duration) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Since(b.base)
	b.pace.accepted--
	b.pace.refused(t.at, now, wait, t.second, t.minute)
	b.dispatch(now)
	return b.pace.closed - now
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

// grant lets a request in.
func (b *budget) grant(now instant) ticket {
	t := ticket{at: now, second: b.second.held, minute: b.minute.held}
	t.slot = b.take()
	b.pace.spread(now, b.minute.held)
	return t
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
	for b.second.n > 0 && b.second.at(0).at <= now {
		b.second.pop()
	}
	for b.minute.n > 0 && b.minute.at(0).at <= now {
		b.free = append(b.free, b.minute.pop())
	}
}

// admits says whether a request may be sent now.
func (b *budget) admits(now instant) bool {
	b.expire(now)
	return now >= b.pace.closed && now >= b.pace.next &&
		b.second.held < b.pace.second.at(now) &&
		b.minute.held < b.pace.minute.at(now)
}

// dispatch lets in whoever may be let in, and sets the timer for the next one.
func (b *budget) dispatch(now instant) {
	for b.head != nil && b.admits(now) {
		w := b.head
		b.unlink(w)
		w.ticket, w.granted = b.grant(now), true
		w.ch <- struct{}{}
	}
	if b.head == nil {
		b.timer.Stop()
		return
	}
	b.timer.Reset(b.opens(now) - now)
}

// opens says when to look again whether a request may be sent: when slots are
// free, as far as is known, or sooner, since the ceiling may rise.
func (b *budget) opens(now instant) instant {
	at := now + recheck
	second, known := b.second.opens(b.pace.second.at(now))
	minute, too := b.minute.opens(b.pace.minute.at(now))
	if known && too {
		at = min(at, max(second, minute))
	}
	return max(at, b.pace.closed, b.pace.next)
}

// slots is enough for all requests in flight beside those recalled.
func slots(perSecond, perMinute, recalled int) int { return max(perMinute, recalled) + perSecond }

// closedFor says how long nothing may be sent because the service asked for it.
func (b *budget) closedFor() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return max(0, b.pace.closed-time.Since(b.base))
}
