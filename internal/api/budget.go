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

// instant is a time of the budget's clock, which is monotonic and starts at zero when the budget is
// made.
type instant = time.Duration

// budget admits requests. It keeps both of the service's limits at once, however the service
// counts, and at any latency:
//
// The service counts a request at an unknown moment between sending it and the start of its answer.
// So each request holds a slot of each window from before it is sent until a whole window after its
// answer began; a request that is sent later is counted more than a window later. Of limit + 1
// counts within one window, the request sent last was sent while limit others held slots, and there
// are only limit slots. So no span of time as long as the window holds more than limit counts. A
// fixed window is such a span; a token bucket of that size and rate never runs dry either.
//
// A slot of the second may be given back sooner: see slots.go.
type budget struct {
	note func(slot int, s Spend)
	base time.Time

	mu             sync.Mutex
	line           []*waiter     // in the order of their admission
	second, minute time.Duration // the windows, including their margins
	flying         []*ticket     // unanswered requests, in the order of sending
	answered       []*ticket     // answered less than a minute ago, in order
	past           int           // number of these whose answer began more than a second ago
	free           []int32       // free slots of the ledger
	slots          slots
	pace           pace
}

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
	good     bool      // the answer began, and was not a failure
	// number of others that were sent in the second before it, and that held slots of the minute
	second, minute int
}

// margin returns the addition to a window of the given length that covers clocks which run at a
// different rate: two milliseconds for a service that counts in whole ones, and 500 millionths, the
// fastest rate at which a system slews its clock.
func margin(window time.Duration) time.Duration { return 2*time.Millisecond + window/2000 }

// ledgerSize returns the number of ledger slots needed for all requests in flight and those
// recalled.
func ledgerSize(perSecond, perMinute, recalled int) int {
	return max(perMinute, recalled) + perSecond + perMinute/8
}

// newBudget makes a budget of perSecond and perMinute. recall holds the earlier spends; note, which
// may be nil, is called for every spend.
func newBudget(perSecond, perMinute int, recall []Spend, note func(int, Spend)) *budget {
	b := &budget{
		note:   note,
		base:   time.Now(),
		second: time.Second + margin(time.Second),
		minute: time.Minute + margin(time.Minute),
		free:   make([]int32, ledgerSize(perSecond, perMinute, len(recall))),
		pace:   newPace(perSecond, perMinute),
		slots: slots{
			enough: time.Minute * 4 / 5 * time.Duration(perSecond) / time.Duration(perMinute),
			most:   perMinute * 59 / 60,
			used:   -time.Hour,
		},
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
		t := b.take(0)
		b.note(int(t.slot), h.Spend)
		b.give(t, h.last.Sub(now)) // before the budget's start: below zero
	}
}

// acquire waits until a request may be sent: those of a higher priority first, others in the order
// in which they were made. The caller must return the ticket. If ctx is done first, acquire returns
// its error.
func (b *budget) acquire(ctx context.Context, p Priority) (*ticket, error) {
	t, err := b.wait(ctx, p)
	if err == nil {
		t.sent = time.Now()
		b.note(int(t.slot), Spend{Sent: t.sent}) // into the ledger, before the request goes out
	}
	return t, err
}

func (b *budget) wait(ctx context.Context, p Priority) (*ticket, error) {
	w := &waiter{p, make(chan struct{}, 1)}
	b.mu.Lock()
	defer b.mu.Unlock()
	at := len(b.line)
	for at > 0 && b.line[at-1].priority > p {
		at--
	}
	b.line = slices.Insert(b.line, at, w)
	defer func() {
		b.line = slices.DeleteFunc(b.line, func(o *waiter) bool { return o == w })
		b.wakeNext()
	}()
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var opens <-chan time.Time
		if b.line[0] == w {
			now := b.now()
			at := b.opens(now)
			if at <= now {
				return b.admit(now), nil
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
}

// admit takes the slots for a request.
func (b *budget) admit(now instant) *ticket {
	second, minute := b.held()
	if second >= b.pace.second.at(now) || minute >= b.pace.minute.at(now) {
		b.slots.used = now
	}
	t := b.take(now)
	t.second, t.minute = b.sentSince(now-b.second)-1, minute
	b.pace.spread(now, minute+1)
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

// ended reports the end of t's request. failed means a fault of the service other than a refusal.
func (b *budget) ended(t *ticket, good, failed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if t.good = good; failed {
		b.slots.others++
	}
}

// limited reports that t's request was refused with 429, and how long the service asks to wait
// (zero: unspecified). It returns for how long nothing will be sent.
func (b *budget) limited(t *ticket, asked time.Duration) (wait time.Duration) {
	b.update(func(now instant) {
		b.slots.refused(now)
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

// held returns the number of held slots of the second, by the rule without an assumption, and of
// the minute.
func (b *budget) held() (second, minute int) {
	minute = len(b.flying) + len(b.answered)
	return minute - b.past, minute
}

// sentSince returns the number of requests sent after an instant.
func (b *budget) sentSince(at instant) (n int) {
	for _, list := range [][]*ticket{b.flying, b.answered} {
		for _, t := range list {
			if t.at > at {
				n++
			}
		}
	}
	return n
}

func (b *budget) take(now instant) *ticket {
	t := &ticket{at: now, slot: b.free[len(b.free)-1]}
	b.free = b.free[:len(b.free)-1]
	b.flying = append(b.flying, t)
	return t
}

func (b *budget) give(t *ticket, at instant) {
	b.flying = slices.DeleteFunc(b.flying, func(f *ticket) bool { return f == t })
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
	b.learn(now)
	second, minute := b.held()
	at := max(now, b.pace.closed, b.pace.next)
	if c := b.pace.minute.at(now); minute >= c {
		sooner := b.opensAt(0, min(c, b.slots.most), now, b.minute-b.slots.fast)
		if len(b.free) == 0 {
			sooner = now + recheck
		}
		at = max(at, min(sooner, b.opensAt(0, c, now, b.minute)))
	}
	if c := b.pace.second.at(now); second >= c {
		at = max(at, min(b.opensAt(b.past, c, now, b.second), b.sooner(now)))
	}
	return at
}

// opensAt returns when fewer than ceiling requests hold slots, or when to check again: all in
// flight, and those of answered[from:] whose answer began within the window.
func (b *budget) opensAt(from, ceiling int, now instant, window time.Duration) instant {
	if i := from + len(b.flying) + len(b.answered[from:]) - ceiling; i < len(b.answered) {
		return min(now+recheck, b.answered[i].answered+window)
	}
	return now + recheck
}
