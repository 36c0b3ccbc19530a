package crawler

import (
	"context"
	"fmt"

	"callhouse/internal/api"
	"callhouse/internal/crawler/envelope"
	"callhouse/internal/crawler/params"
)

// maxSkips is the maximum number of items that one listing skips by time.
const maxSkips = 3

// narrow continues after a page that fails because of its content. It requests the items before the
// fault if the body shows where that is, otherwise half of the page, and finally the one item
// alone. An item that fails even then is set aside, and the listing continues behind it: at the
// cursor in its answer, or else at the next item down in time.
//
// It takes two more requests if the body shows where the fault is, otherwise at most twice the
// logarithm of the page's size.
func (l *listing) narrow(ctx context.Context, a *asked) (*query, error) {
	size, sound := a.query.size(), len(a.page.Items)
	if size > 1 {
		n := a.query
		n.suspect, n.limit = size, size/2
		if a.page.List && sound < size {
			n.suspect, n.limit = sound+1, max(1, sound)
		}
		l.c.log.Info("requesting part of a page", "items", n.limit, "failure", a.failure)
		return &n, nil
	}
	l.aside++
	l.c.meter.update(func(p *Progress) { p.CallsListed++; p.ItemsAside++ })
	l.c.meter.setAside("", fmt.Sprintf("cannot be fetched, %s: %s", l.place(0), a.failure))
	if a.page.NextKnown && !l.c.filters.Now().Oversized {
		return l.take(ctx, &a.query, &envelope.Page{Next: a.page.Next, Total: -1, At: l.c.nowMS()})
	}
	return l.skip(ctx, a.failure)
}

// place describes the place of an item on the list: the i-th of the next page, from 0.
func (l *listing) place(i int) string {
	text := fmt.Sprintf("item %d of page %d", i+1, l.pages+1)
	if l.lowest != forever {
		text += ", below " + showMS(l.lowest)
	}
	return text
}

// skip continues behind an item that failed: it looks for the next item down in time. At least the
// millisecond of the lost item is not recorded as covered: the next run tries it again, which takes
// two requests.
func (l *listing) skip(ctx context.Context, f *api.RequestError) (*query, error) {
	if l.skips++; l.skips > maxSkips || !l.canAskByTime() {
		l.failed(f)
		return nil, nil
	}
	// The list below bad begins with the item; the list below good does not.
	bad, good := l.lowest+1, l.from
	step := int64(1)
	for bad-good > 1 {
		t := good + (bad-good)/2
		if down := l.lowest + 1 - step; good == l.from && down > good {
			t, step = down, step*32 // none is known to be good yet
		}
		p, err := l.firstOf(ctx, query{Query: params.Query{Before: t}})
		switch {
		case err != nil || p == nil:
			return nil, err
		case p.List:
			good = t
		default:
			bad = t
		}
	}
	// The item started at good. Others between it and the previous one may have been skipped,
	// unless there are none.
	if good < l.lowest && l.c.filters.Now().After != params.Refused && l.gap == "" {
		p, err := l.firstOf(ctx, query{Query: params.Query{Before: l.lowest, After: good}})
		if err != nil || p == nil {
			return nil, err
		}
		if p.List && len(p.Items) == 0 && p.Next == "" {
			if err := l.c.put(ctx, l.cover(nil, max(good+1, l.from), p.At)...); err != nil {
				return nil, err
			}
		}
	}
	l.covered, l.total = min(l.covered, good), -1
	return l.upTo(good), nil
}

// firstOf requests the first item of q. If it fails too, the page is not a list. If the service
// does not answer the query, there is no page, and the listing ends.
func (l *listing) firstOf(ctx context.Context, q query) (*envelope.Page, error) {
	q.Sorted, q.limit, q.stream = true, 1, l.stream
	a, err := l.c.ask(ctx, q)
	if err != nil {
		return nil, err
	}
	switch f := a.failure; {
	case f != nil && f.Canceled():
		return nil, nil
	case f != nil && f.Then == api.Narrow:
		return new(envelope.Page), nil
	case f != nil:
		l.failed(f)
		return nil, nil
	case a.query.Before != q.Before || a.query.After != q.After:
		l.failed(new(api.RequestError)) // 400: the service does not accept the filter
		return nil, nil
	}
	return &a.page, nil
}
