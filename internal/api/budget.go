package api

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Spend is one request, as the budget remembers it across runs.
type Spend struct {
	Sent     time.Time
	Answered time.Time // when its answer began; zero: not yet, or never
}

// instant is a time of the budget's clock, which is monotonic and starts at zero when the budget is
// made.
type instant = time.Duration

// budget admits requests. It keeps both of the service's limits at once, however the service
// counts, and at any latency:
//
// The service counts a request at an unknown moment between sending it and the start of its answer.
// So each request holds one of a window's slots from before it is sent until a whole window after
// its answer began. The next request in the same slot is therefore counted more than a window
// later. Since there are only limit slots, no span of time as long as the window holds more than
// limit counts. A fixed window is such a span; a token bucket of that size and rate never runs dry
// either.
//
// Requests are admitted in the order in which they were made.
type budget struct {
	turn    chan struct{} // full while a request is next in line; the others wait here
	changed chan struct{} // wakes the request that is next in line
	note    func(slot int, s Spend)
	base    time.Time

	mu             sync.Mutex
	second, minute time.Duration // the windows, with their margins
	inFlight       int
	answered       []answered // less than a minute ago, in order
	past           int        // number of these answered more than a second ago
	free           []int32    // free slots of the ledger
	pace           pace
}

// answered is a request whose answer has begun, with the slot that it still holds.
type answered struct {
	at   instant
	slot int32
}

// ticket is the right to send one request. It is returned once, with answer.
type ticket struct {
	slot int32
	at   instant
	sent time.Time // by the wall clock, for the ledger
	// number of other requests that held slots of the second and of the minute
	second, minute int
}

// margin returns the addition to a window of the given length that covers clocks which run at a
// different rate: two milliseconds for a service that counts in whole ones, and 500 millionths, the
// fastest rate at which a system slews its clock.
func margin(window time.Duration) time.Duration { return 2*time.Millisecond + window/2000 }

// slots returns enough slots for all requests in flight and those recalled.
func slots(perSecond, perMinute, recalled int) int { return max(perMinute, recalled) + perSecond }

// newBudget makes a budget of perSecond and perMinute. recall holds the earlier spends; note, which
// may be nil, is called for every spend.
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
		b.free[i] = int32(len(b.free) - 1 - i) // the lowest is used first
	}
	b.recall(recall)
	return b
}

// recall holds slots for the requests sent before this run. A request that was never answered may
// have been counted until its run ended or it timed out. A time in the future means that a clock
// was set back; it counts as now.
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
		b.give(h.last.Sub(now), slot) // before the budget's start: below zero
	}
}

// acquire waits until a request may be sent. The caller must return the ticket. If ctx is done
// first, acquire returns its error.
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

// admit is acquire for the request that is next in line.
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

// answer reports that the answer to t's request has begun, or that the attempt ended without one:
// from now on the service cannot count it any more. The slots are free one window from now.
func (b *budget) answer(t ticket) {
	b.note(int(t.slot), Spend{Sent: t.sent, Answered: time.Now()})
	b.update(func(now instant) {
		b.give(now, t.slot)
		b.pace.accepted++ // until limited corrects this
	})
}

// limited reports that t's request was refused with 429, and how long the service asks to wait
// (zero: unspecified). It returns for how long nothing will be sent.
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

// use returns how many of a minute's requests are held now, how many are allowed, and for how long
// nothing may be sent because the service asked for it.
func (b *budget) use() (held, allowed int, closed time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	b.expire(now)
	_, held = b.held()
	return held, b.pace.minute.shown(now), max(0, b.pace.closed-now)
}

// update changes the budget and wakes the request that is next in line.
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

// held returns the number of held slots of the second and of the minute.
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

// expire frees the slots whose window is over. The minute outlasts the second, so the end of the
// minute frees the ledger's slots.
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

// opens returns when a request may be sent: now, when slots become free, or sooner, since the
// ceiling may have risen by then.
func (b *budget) opens(now instant) instant {
	b.expire(now)
	_, held := b.held()
	at := now
	for _, w := range []struct {
		span  time.Duration
		first int // the first answered request that the window holds
		last  int // this one and those before it must become free
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
