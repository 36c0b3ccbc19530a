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
// Requests are admitted in the order in which they asked.
type budget struct {
	turn    chan struct{} // full while somebody is the next to be admitted; the others wait here
	changed chan struct{} // tells the next one to look again
	note    func(slot int, s Spend)
	base    time.Time

	mu             sync.Mutex
	second, minute time.Duration // the windows, with their margins
	inFlight       int
	answered       []answered // less than a minute ago, in their order
	past           int        // so many of these were answered more than a second ago
	free           []int32    // slots of the ledger that no request holds
	pace           pace
}

// answered is a request whose answer has begun, and the slot that it still holds.
type answered struct {
	at   instant
	slot int32
}

// ticket is the right to send one request. It is given back once, by answered.
type ticket struct {
	slot int32
	at   instant
	sent time.Time // by the clock on the wall, for the ledger
	// So many other requests held slots of the second and of the minute.
	second, minute int
}

// margin is added to a window of the given length, against clocks that tick
// unlike ours: two milliseconds for a service that counts in whole ones, and
// 500 millionths, the fastest that a system slews its clock.
func margin(window time.Duration) time.Duration { return 2*time.Millisecond + window/2000 }

// slots is enough for all requests in flight beside those recalled.
func slots(perSecond, perMinute, recalled int) int { return max(perMinute, recalled) + perSecond }

// newBudget makes a budget of perSecond and perMinute. recall is what was spent
// before; note, which may be nil, is called for every spend.
func newBudget(perSecond, perMinute int, recall []Spend, note func(int, Spend)) *budget {
	b := &budget{
		turn:    make(chan struct{}, 1),
		changed: make(chan struct{}, 1),
		note:    note,
		base:    time.Now(),
		second:  time.Second + margin(time.Second),
		minute:  time.Minute + margin(time.Minute),
		free:    make([]int32, slots(perSecond, perMinute, len(recall))),
		pace:    newPace(perSecond, perMinute),
	}
	if b.note == nil {
		b.note = func(int, Spend) {}
	}
	for i := range b.free {
		b.free[i] = int32(len(b.free) - 1 - i) // the lowest is taken first
	}
	b.recall(recall)
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
		if now.Sub(last) < b.minute {
			live = append(live, held{s, last})
		}
	}
	slices.SortFunc(live, func(a, b held) int { return a.last.Compare(b.last) })
	for _, h := range live {
		slot := b.take()
		b.note(int(slot), h.Spend)
		b.give(h.last.Sub(now), slot) // before the budget's time: below zero
	}
}

// acquire waits until a request may be sent. Whoever gets a ticket must give it
// back. The wait ends early, with ctx's error, when ctx is done.
func (b *budget) acquire(ctx context.Context) (ticket, error) {
	select {
	case b.turn <- struct{}{}:
	case <-ctx.Done():
		return ticket{}, ctx.Err()
	}
	t, err := b.admit(ctx)
	<-b.turn
	if err == nil {
		t.sent = time.Now()
		b.note(int(t.slot), Spend{Sent: t.sent}) // into the ledger, before the request goes out
	}
	return t, err
}

// admit is acquire for the one whose turn it is.
func (b *budget) admit(ctx context.Context) (ticket, error) {
	for {
		if err := ctx.Err(); err != nil {
			return ticket{}, err
		}
		b.mu.Lock()
		now := b.now()
		wait := b.opens(now) - now
		if wait <= 0 {
			second, minute := b.held()
			t := ticket{at: now, second: second, minute: minute, slot: b.take()}
			b.pace.spread(now, minute+1)
			b.mu.Unlock()
			return t, nil
		}
		b.mu.Unlock()
		select {
		case <-b.changed:
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
}

// answer says that the answer to t's request has begun, or that the attempt
// ended without one: from now on the service cannot count it any more. The slots
// are free one window from now.
func (b *budget) answer(t ticket) {
	b.note(int(t.slot), Spend{Sent: t.sent, Answered: time.Now()})
	b.update(func(now instant) {
		b.give(now, t.slot)
		b.pace.accepted++ // until limited says otherwise
	})
}

// limited says that t's request was refused with 429, and for how long the
// service asks to wait (zero: it does not say). It returns for how long nothing
// will be sent.
func (b *budget) limited(t ticket, asked time.Duration) (wait time.Duration) {
	b.update(func(now instant) {
		b.pace.accepted--
		b.pace.refused(t.at, now, asked, t.second, t.minute)
		wait = b.pace.closed - now
	})
	return wait
}

// hold closes the budget for a while without lowering the pace.
func (b *budget) hold(wait time.Duration) {
	b.update(func(now instant) { b.pace.closed = max(b.pace.closed, now+wait) })
}

// use says how many of the requests that a minute allows are held now, and for
// how long nothing may be sent because the service asked for it.
func (b *budget) use() (held, allowed int, closed time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	b.expire(now)
	_, held = b.held()
	return held, b.pace.minute.shown(now), max(0, b.pace.closed-now)
}

// update changes the budget, and lets whoever is next look again.
func (b *budget) update(change func(now instant)) {
	b.mu.Lock()
	change(b.now())
	b.mu.Unlock()
	select {
	case b.changed <- struct{}{}:
	default:
	}
}

func (b *budget) now() instant { return time.Since(b.base) }

// held says how many slots of the second and of the minute are held.
func (b *budget) held() (second, minute int) {
	minute = b.inFlight + len(b.answered)
	return minute - b.past, minute
}

func (b *budget) take() int32 {
	b.inFlight++
	slot := b.free[len(b.free)-1]
	b.free = b.free[:len(b.free)-1]
	return slot
}

func (b *budget) give(at instant, slot int32) {
	b.inFlight--
	b.answered = append(b.answered, answered{at, slot})
}

// expire frees the slots whose window is over. The minute outlasts the second,
// so it is the minute that frees the ledger's slots.
func (b *budget) expire(now instant) {
	for b.past < len(b.answered) && b.answered[b.past].at+b.second <= now {
		b.past++
	}
	for len(b.answered) > 0 && b.answered[0].at+b.minute <= now {
		b.free = append(b.free, b.answered[0].slot)
		b.answered = b.answered[1:]
		b.past--
	}
}

// opens says when a request may be sent: now, when slots are free, as far as is
// known, or sooner, to look again, since the ceiling may rise.
func (b *budget) opens(now instant) instant {
	b.expire(now)
	_, held := b.held()
	at := now
	for _, w := range []struct {
		span  time.Duration
		first int // of the answered requests, the first that the window holds
		last  int // this one, and those before it, must come free
	}{
		{b.second, b.past, held - b.pace.second.at(now)},
		{b.minute, 0, held - b.pace.minute.at(now)},
	} {
		switch {
		case w.last < w.first: // there is room
		case w.last < len(b.answered):
			at = max(at, min(now+recheck, b.answered[w.last].at+w.span))
		default:
			at = now + recheck
		}
	}
	return max(at, b.pace.closed, b.pace.next)
}
