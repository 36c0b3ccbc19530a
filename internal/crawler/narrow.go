package crawler

import (
	"context"
	"fmt"

	"callhouse/internal/api"
)

// maxAround is how often one listing goes around an item by time.
const maxAround = 3

// narrow goes on where a page cannot be had because of what is on it. It asks for
// what comes before the trouble, so far as the body told where that is, and for
// half of it where not; and then for the one item alone. An item that cannot be
// had even so is set aside, and the listing goes on behind it: at the cursor that
// its answer told, or else at the next item down in time.
//
// This takes two requests more where the body told where the trouble is, and else
// at most twice the logarithm of the page's size.
func (l *listing) narrow(ctx context.Context, q *query, p *pageData, f *api.Failure) (*query, error) {
	n := *q
	n.room, n.limit = q.size(), q.size()/2
	if sound := len(p.items); p.list && sound < q.size() {
		n.room, n.limit = sound+1, max(1, sound)
	}
	if q.size() > 1 {
		l.c.log.Info("asking for a part of a page", "items", n.limit, "failure", f)
		return &n, nil
	}
	l.c.meter.update(func(p *Progress) { p.CallsListed++; p.ItemsAside++ })
	l.c.meter.setAside("", fmt.Sprintf("it cannot be had, %s: %s", l.place(0), f))
	if p.nextKnown && !l.c.filters.greedy {
		return l.take(ctx, q, &pageData{next: p.next, total: -1, at: l.c.nowMS()})
	}
	return l.around(ctx, f)
}

// place says where on the list an item is: the i-th of the next page, from 0.
func (l *listing) place(i int) string {
	text := fmt.Sprintf("item %d of page %d", i+1, l.count+1)
	if l.low != forever {
		text += ", below " + showMS(l.low)
	}
	return text
}

// around finds the next item down in time behind one that cannot be had. The
// millisecond of that item, at least, is not put on record: the next run tries
// it again, for two requests.
func (l *listing) around(ctx context.Context, f *api.Failure) (*query, error) {
	if l.arounds++; l.arounds > maxAround || !l.canAnchor() {
		l.failed(f)
		return nil, nil
	}
	// What starts before bad begins with the item; what starts before good does not.
	bad, good := l.low+1, l.from
	try := func(t int64) (stop bool, err error) {
		p, f, err := l.probe(ctx, &query{before: t})
		switch {
		case err != nil || f != nil:
			return true, l.stopped(f, err)
		case p != nil:
			good = t
		default:
			bad = t
		}
		return false, nil
	}
	for step := int64(1); l.low+1-step > good; step *= 32 {
		if stop, err := try(l.low + 1 - step); stop {
			return nil, err
		}
	}
	for bad-good > 1 {
		if stop, err := try(good + (bad-good)/2); stop {
			return nil, err
		}
	}
	// The item started at good. Between it and the one before it others may have
	// been passed over, unless there is nothing.
	if good < l.low && l.c.filters.after != refused && !l.doubt {
		p, f, err := l.probe(ctx, &query{before: l.low, after: good})
		if err != nil || f != nil {
			return nil, l.stopped(f, err)
		}
		if p != nil && len(p.items) == 0 && p.next == "" {
			if err := l.c.put(ctx, l.cover(nil, max(good+1, l.from), p.at)...); err != nil {
				return nil, err
			}
		}
	}
	l.covered, l.total = min(l.covered, good), -1
	return &query{sorted: true, before: good, after: l.first().after}, nil
}

// probe asks for the first item of q; nil: it cannot be had either.
func (l *listing) probe(ctx context.Context, q *query) (*pageData, *api.Failure, error) {
	q.sorted, q.limit = true, 1
	asked := *q
	p, f, err := l.c.fetchPage(ctx, q)
	switch {
	case err != nil:
		return nil, f, err
	case f != nil && f.Then == api.Narrow:
		return nil, nil, nil
	case f == nil && (q.before != asked.before || q.after != asked.after):
		return nil, new(api.Failure), nil // 400: it takes no such filter
	}
	return &p, f, nil
}

// stopped ends the listing because of what befell while going around an item.
func (l *listing) stopped(f *api.Failure, err error) error {
	if err == nil && !f.Canceled() {
		l.failed(f)
	}
	return err
}
