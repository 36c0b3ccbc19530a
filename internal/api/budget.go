package api

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Spend is one request in the form that the budget stores across runs.
type Spend struct {
	Sent     time.Time
	Answered time.Time // when its answer began; zero: not yet, or never
}

// instant is a time of the budget's clock, which is monotonic and starts at zero when the budget is made.
type instant = time.Duration

// budget admits requests. It keeps both of the service's limits at once, at any latency:
//
//   - The service counts a request when it arrives. Requests are sent at least a gap apart, so that
//     those on their way for unequal times stay within the limit of the second.
//   - Each request holds one of the minute's slots from before it is sent until a minute after its
//     answer began, wherever between the two the service counts it. Of limit + 1 counts within a
//     minute, the request sent last was sent while limit others held slots, and there are only limit
//     slots. So no minute holds more than limit counts, by any way of counting.
//   - Refusals that the gap alone may explain show that the service counts at another moment. From
//     then on each request also holds a slot of the second, by the same rule (strict).
type budget struct {
	note func(slot int, s Spend)
	base time.Time

	mu             sync.Mutex
	line           []*waiter // in the order of their admission
	perSecond      int
	gap            time.Duration // between two requests
	second, minute time.Duration // the windows, including their margins
	inFlight       []*ticket     // unanswered requests, in the order of sending
	answered       []*ticket     // answered less than a minute ago, in order
	past           int           // number of these whose answer began more than a second ago
	free           []int32       // free slots of the ledger
	loose          instant       // when a request was last sent that the strict rule would have delayed
	doubts         int           // refusals that the gap may explain, less those that came although the strict rule held
	pace           pace
}

// onTheWay is by how much the times that requests are on their way to the service may differ.
const onTheWay = 400 * time.Millisecond

// waiter is a request waiting for admission.
type waiter struct {
	priority Priority
	wake     chan struct{} // it is next, or the budget has changed
}

// ticket is the right to send one request. It is returned once, with answer.
type ticket struct {
	slot     int32
	at       instant
	sent     time.Time // by the wall clock, for the ledger
	answered instant   // when its answer began; undefined before that
	loose    bool      // the strict rule would have delayed it
	minute   int       // number of others that held slots of the minute
}

// margin returns the addition to a window of the given length that covers clocks which run at a
// different rate: two milliseconds for a service that counts in whole ones, and 500 millionths, the
// fastest rate at which a system slews its clock.
func margin(window time.Duration) time.Duration { return 2*time.Millisecond + window/2000 }

// newBudget makes a budget of perSecond and perMinute. recall holds the earlier spends; note, which
// may be nil, is called for every spend.
func newBudget(perSecond, perMinute int, recall []Spend, note func(int, Spend)) *budget {
	b := &budget{
		note:      note,
		base:      time.Now(),
		perSecond: perSecond,
		second:    time.Second + margin(time.Second),
		minute:    time.Minute + margin(time.Minute),
		free:      make([]int32, max(perMinute, len(recall))),
		loose:     -1,
		pace:      newPace(perMinute),
	}
	// limit + 1 requests take a second and onTheWay, and a little for clocks.
	b.gap = (time.Second + onTheWay + 50*time.Millisecond) / time.Duration(perSecond)
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
		t := b.take(0)
		b.note(int(t.slot), h.Spend)
		b.give(t, h.last.Sub(now)) // before the budget's start: below zero
		b.pace.next = max(b.pace.next, min(0, h.Sent.Sub(now))+b.gap)
	}
}

// acquire waits until a request may be sent: those of a higher priority first, others in the order in which
// they were made. The caller must return the ticket. If ctx is done first, acquire returns its error.
func (b *budget) acquire(ctx context.Context, p Priority) (t *ticket, err error) {
	w := &waiter{p, make(chan struct{}, 1)}
	b.mu.Lock()
	at := len(b.line)
	for at > 0 && b.line[at-1].priority > p {
		at--
	}
	b.line = slices.Insert(b.line, at, w)
	for {
		if err = ctx.Err(); err != nil {
			break
		}
		var opens <-chan time.Time
		if b.line[0] == w {
			now := b.now()
			at := b.opens(now)
			if at <= now {
				t = b.admit(now)
				break
			}
			opens = time.After(at - now)
		}
		b.mu.Unlock()
		select {
		case <-w.wake:
		case <-opens:
		case <-ctx.Done():
		}
		b.mu.Lock()
	}
	b.line = slices.DeleteFunc(b.line, func(o *waiter) bool { return o == w })
	b.wakeNext()
	b.mu.Unlock()
	if err == nil {
		t.sent = time.Now()
		b.note(int(t.slot), Spend{Sent: t.sent}) // into the ledger, before the request goes out
	}
	return t, err
}

// admit takes the slots for a request.
func (b *budget) admit(now instant) *ticket {
	second, minute := b.held()
	t := b.take(now)
	t.minute = minute
	if second >= b.perSecond {
		t.loose, b.loose = true, now
	}
	b.pace.next = now + max(b.gap, b.pace.share(now, minute+1))
	return t
}

// answer reports that the answer to t's request has begun, or that the attempt ended without one:
// from now on the service cannot count it any more. The slots are free one window from now.
func (b *budget) answer(t *ticket) {
	b.note(int(t.slot), Spend{Sent: t.sent, Answered: time.Now()})
	b.update(func(now instant) {
		b.give(t, now)
		b.pace.accepted++ // until limited corrects this
	})
}

// strict reports whether requests also hold slots of the second. A single doubt may be a fault.
func (b *budget) strict() bool { return b.doubts > 1 }

// limited reports that t's request was refused with 429, and how long the service asks to wait
// (zero: unspecified). It returns for how long nothing will be sent.
func (b *budget) limited(t *ticket, retryAfter time.Duration) (wait time.Duration) {
	b.update(func(now instant) {
		switch {
		case t.loose || b.loose > t.at:
			if retryAfter <= b.second { // otherwise the minute is full: a second is over sooner
				b.doubts++
			}
		case b.strict():
			b.doubts--
		}
		b.pace.accepted--
		b.pace.refused(t.at, now, retryAfter, t.minute)
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
	return held, b.pace.shown(now), max(0, b.pace.closed-now)
}

// update changes the budget and wakes the request that is next in line.
func (b *budget) update(change func(now instant)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change(b.now())
	b.wakeNext()
}

// wakeNext wakes the request that is next in line.
func (b *budget) wakeNext() {
	if len(b.line) > 0 {
		select {
		case b.line[0].wake <- struct{}{}:
		default:
		}
	}
}

func (b *budget) now() instant { return time.Since(b.base) }

// held returns the number of requests that hold slots of the second, by the strict rule, and of the minute.
func (b *budget) held() (second, minute int) {
	minute = len(b.inFlight) + len(b.answered)
	return minute - b.past, minute
}

func (b *budget) take(now instant) *ticket {
	t := &ticket{at: now, slot: b.free[len(b.free)-1]}
	b.free = b.free[:len(b.free)-1]
	b.inFlight = append(b.inFlight, t)
	return t
}

func (b *budget) give(t *ticket, at instant) {
	b.inFlight = slices.DeleteFunc(b.inFlight, func(f *ticket) bool { return f == t })
	t.answered = at
	b.answered = append(b.answered, t)
}

// expire frees the slots whose window is over. The minute outlasts the second, so the end of the
// minute frees the ledger's slots.
func (b *budget) expire(now instant) {
	for b.past < len(b.answered) && b.answered[b.past].answered+b.second <= now {
		b.past++
	}
	for len(b.answered) > 0 && b.answered[0].answered+b.minute <= now {
		b.free = append(b.free, b.answered[0].slot)
		b.answered = b.answered[1:]
		b.past--
	}
}

// opens returns when a request may be sent: now, when slots become free, or sooner, since the
// ceiling may have risen by then.
func (b *budget) opens(now instant) instant {
	b.expire(now)
	second, minute := b.held()
	at := max(now, b.pace.closed, b.pace.next)
	if c := b.pace.at(now); minute >= c {
		at = max(at, b.opensAt(0, c, now, b.minute))
	}
	if b.strict() && second >= b.perSecond {
		at = max(at, b.opensAt(b.past, b.perSecond, now, b.second))
	}
	return at
}

// opensAt returns when fewer than ceiling requests hold slots, or when to check again: all in
// flight, and those of answered[from:] whose answer began within the window.
func (b *budget) opensAt(from, ceiling int, now instant, window time.Duration) instant {
	if i := from + len(b.inFlight) + len(b.answered[from:]) - ceiling; i < len(b.answered) {
		return min(now+recheck, b.answered[i].answered+window)
	}
	return now + recheck
}
