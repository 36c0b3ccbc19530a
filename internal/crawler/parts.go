package crawler

import (
	"context"
	"sync/atomic"

	"callhouse/internal/api"
	"callhouse/internal/crawler/envelope"
	"callhouse/internal/crawler/params"
)

// partLeast is the number of pages from which a part of the list is worth its own reader, unless a
// test changes it.
const partLeast = 20

// parts is how a listing shares what is left of its stretch. It tries whether another can request
// the lower half, by start_at. Only if the first page of that half proves it does the listing end
// above, so that a service that ignores or refuses the bounds costs one request.
type parts struct {
	upper *listing // proves itself to it; nil: it was not shared by another
	left  int64    // items that are still to come, estimated

	highest int64        // start_at seen
	asking  bool         // another listing tries the lower half
	floor   atomic.Int64 // its answer: where the lower half ends; noPart; 0: not yet
	below   atomic.Int64 // items of the lower half
}

const noPart = -1

// answer tells a listing whether another lists everything below a time. It returns false if the
// listing has ended.
func (s *parts) answer(floor int64) bool { return s.floor.CompareAndSwap(0, floor) }

// trial reports whether the next page is the first of a lower half.
func (l *listing) trial() bool { return l.upper != nil && l.pages == 0 }

// prove checks the first page of a lower half: it may only have calls from there, and if the upper
// half would read to the end of the list, no call may be without a start, which might come last. If
// it fails, the upper half reads on.
func (l *listing) prove(ctx context.Context, q *query, a *asked) (bool, error) {
	proved := a.failure == nil && a.query.Before == q.Before
	for _, item := range a.page.Items {
		start, ok := l.c.startOf(item)
		proved = proved && (!ok || start >= l.from-1 && start <= l.to)
	}
	var err error
	if proved && l.upper.to == forever && l.upper.from <= l.c.since {
		proved, err = l.allDated(ctx, a.page.Total)
	}
	if !proved || err != nil {
		l.upper.answer(noPart)
		return false, err
	}
	l.upper.below.Store(max(0, a.page.Total))
	return l.upper.answer(l.to), nil
}

// allDated reports whether every call that the service counts has a start. The halves are counted
// before the whole: a call that arrives meanwhile makes it larger, and the list is read as one.
func (l *listing) allDated(ctx context.Context, below int64) (bool, error) {
	q := query{Query: params.Query{Sorted: true, After: l.to - 1, Before: forever}, limit: 1, priority: api.Older}
	above, err := l.c.ask(ctx, q)
	if err != nil || above.failure != nil || above.query != q || above.page.Total < 0 || below < 0 {
		return false, err
	}
	q.After = 0
	all, err := l.c.ask(ctx, q)
	return err == nil && all.failure == nil && all.page.Total >= 0 && all.page.Total <= above.page.Total+below, err
}

// share counts a page, and lets another listing read the lower half of the stretch if that is long
// enough. It reports whether nothing is left to this one.
func (l *listing) share(p *envelope.Page) (done bool) {
	if l.pages == 1 && p.Total >= 0 && (l.to != forever || l.from <= l.c.since) {
		l.left = p.Total
	}
	l.left -= int64(len(p.Items))
	if floor := l.floor.Load(); l.asking && floor > 0 {
		l.asking = false
		l.floor.Store(0)
		l.from, l.bottom, l.left = floor, floor, l.left-l.below.Load()
		return l.lowest < floor
	}
	if l.asking || l.readers == nil || l.left < 2*l.c.partLeast*pageSize || !l.canAskByTime() || l.byTime {
		return false
	}
	// Half of the calls at the density seen so far, or half of the time.
	half := int64(float64(l.highest-l.lowest) * float64(l.left) / float64(2*max(1, l.fresh)))
	mid := l.lowest - half
	if mid <= l.from {
		mid = l.from + (l.lowest-l.from)/2
	}
	if mid <= l.from || mid >= l.lowest {
		return false
	}
	lower := l.c.newListing(l.from, mid, l.from)
	lower.readers, lower.upper = l.readers, l
	l.asking = l.readers.TryGo(func() error { return l.readers.read(lower) })
	return false
}

// priority returns the priority of the next page.
func (l *listing) priority() api.Priority {
	switch {
	case l.stream != nil:
		return api.Spare
	case l.to == forever && l.lowest >= l.c.windowFrom():
		return api.Newest
	}
	return api.Older
}
