package crawler

import (
	"context"
	"sync/atomic"

	"callhouse/internal/api"
	"callhouse/internal/crawler/envelope"
	"callhouse/internal/crawler/params"
)

// partLeast is the minimum number of pages for which a part of the list is worth its own reader,
// unless a test changes it.
const partLeast = 20

// parts lets a listing split the rest of its stretch. The listing tries to let another one request
// the lower half, by start_at. It ends above that half only if the first page of the half proves
// that this works, so a service that ignores or refuses the bounds costs one request.
type parts struct {
	upper *listing // the listing that offered this part; nil: none
	left  int64    // estimated number of remaining items

	highest int64        // highest start_at seen
	asking  bool         // another listing is trying the lower half
	floor   atomic.Int64 // its answer: the upper end of the lower half, or noPart; 0: not yet
	below   atomic.Int64 // number of items in the lower half
}

const noPart = -1

// answer reports to a listing whether another lists everything below floor. It returns false if the
// listing has already ended.
func (s *parts) answer(floor int64) bool { return s.floor.CompareAndSwap(0, floor) }

// trial reports whether the next page is the first of a lower half.
func (l *listing) trial() bool { return l.upper != nil && l.pages == 0 }

// prove checks the first page of a lower half: it may only have calls from that half. If the upper
// half would read to the end of the list, every call must also have a start, since calls without
// one might come last. If the check fails, the upper half continues reading.
func (l *listing) prove(ctx context.Context, q *query, a *asked) (bool, error) {
	proved := a.failure == nil && a.query.Before == q.Before
	for _, item := range a.page.Items {
		start, ok := l.c.startOf(item)
		proved = proved && (!ok || params.After(start) >= l.from && start <= l.to)
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

// allDated reports whether every call in the service's count has a start. The halves are counted
// before the whole: a call that arrives meanwhile increases the whole, and the list is not split.
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
// enough. It reports whether nothing is left for this listing.
func (l *listing) share(p *envelope.Page) (done bool) {
	if l.pages == 1 && p.Total >= 0 && (l.to != forever || l.from <= l.c.since) {
		l.left = p.Total
	}
	l.left -= int64(len(p.Items))
	if floor := l.floor.Load(); l.asking && floor > 0 {
		l.asking = false
		l.floor.Store(0)
		l.from, l.bottom, l.left, l.want = floor, floor, l.left-l.below.Load(), -1
		return l.under(floor)
	}
	if l.asking || l.readers == nil || l.left < 2*l.c.partLeast*pageSize || !l.canAskByTime() || l.byTime || l.step != reading {
		return false
	}
	// Half of the calls at the density seen so far, or half of the time.
	half := int64(float64(l.highest-l.lowest) * float64(l.left) / float64(2*max(1, l.fresh)))
	mid := l.lowest - half
	if mid <= l.from {
		mid = l.from + (l.lowest-l.from)/2
	}
	if mid -= mid % params.Coarsest; mid <= l.from || mid >= l.lowest { // a time and how it is shown are in the same part
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
