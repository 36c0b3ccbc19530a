package crawler

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/maphash"

	"callhouse/internal/api"
	"callhouse/internal/schema"
)

// Limits for lists that never end.
const (
	maxNothingNew = 50 // consecutive pages without a new item
	// moreCalls is how many calls a list may have in excess of twice the service's count.
	moreCalls = 100_000
)

// orderProof is how many pages must come in descending order before the order is relied on again,
// after one that did not.
const orderProof = 3

// earliest is the first plausible start_at, in ms: the year 2000. An earlier one is not the time of
// a call (-1, or seconds for milliseconds). Such a call is stored as it was sent, and ignored when
// the order is checked.
const earliest = 946_684_800_000

// listing lists one stretch: the calls with from <= start_at < to, newest first, page by page.
//
// It relies only on the pages it receives. While start_at never rises from page to page, everything
// above the lowest one seen has been listed; this is recorded page by page. The lowest millisecond
// itself, or the second or minute that it shows, is complete only when a page has gone below it,
// since the next page may begin with more calls of the same time.
type listing struct {
	c        *Crawler
	from, to int64       // to may be forever
	maxPages int         // 0: no limit
	top      *pageResult // the first page, if it was requested before
	again    bool        // lists known calls again: coverage is not recorded
	stream   *api.Stream
	poll     *following // stores only changes; nil: everything

	pages   int    // so far
	done    bool   // it has been listed completely
	lowest  int64  // lowest start_at seen; forever: none
	covered int64  // lowest start_at recorded as covered
	ordered int    // pages since the last one that was out of order, less orderProof
	gap     string // why a call may have been skipped; empty: none was
	counted int64  // total of the first page; -1: none
	fresh   int64  // items not on an earlier page
	idle    int    // consecutive pages without new items or lower times
	lostAt  int64  // the lowest start_at when a cursor was refused; 0: none was

	seen    *recent // ids on the last pages, with a hash of the content sent for them
	cursors map[string]bool
	ending
}

func (c *Crawler) newListing(from, to int64) *listing {
	l := &listing{c: c, from: from, to: to, covered: to, lowest: forever, seen: newRecent(), cursors: map[string]bool{}}
	if to == forever {
		l.covered = c.nowMS()
	}
	return l
}

// walk lists the stretch to its end. A problem that ends it early is reported and is not an error:
// the part not listed is not recorded as covered, and the next run lists it, as after an interrupt. An
// error ends the run.
func (l *listing) walk(ctx context.Context) (err error) {
	q, a := l.upTo(after(l.to-1)), l.top
	for q != nil && ctx.Err() == nil {
		if a == nil {
			q.priority = l.priority()
			if a, err = l.c.ask(ctx, *q); err != nil {
				return err
			}
		}
		switch {
		case a.failure != nil && a.failure.Canceled():
			return nil
		case a.failure != nil || a.query.Before != q.Before:
			q, err = l.instead(ctx, q, a)
		default:
			q, err = l.take(ctx, &a.query, &a.page)
		}
		if err == nil {
			err = l.c.offerCheckpoint(ctx)
		}
		if a = nil; err != nil {
			return err
		}
	}
	return nil
}

// instead returns the query to make after a failure, or after the service has refused the upper bound;
// nil if the stretch ends there.
func (l *listing) instead(ctx context.Context, q *query, a *pageResult) (*query, error) {
	f := a.failure
	switch {
	case f == nil:
		return l.refused(ctx)
	case q.cursor != "" && (f.CursorLost || tooDeep(f)) && l.canAskByTime() && l.lowest != l.lostAt:
		l.c.log.Info("cursor no longer accepted", "failure", f)
		l.lostAt = l.lowest
		return l.byTimeBelow(after(l.lowest)), nil
	case l.uncheckable(a):
		return l.refused(ctx)
	}
	l.failed(f)
	return nil, nil
}

// tooDeep reports whether a page that failed may be beyond what cursors reach, as search engines limit
// it. Then the rest is requested by time.
func tooDeep(f *api.RequestError) bool {
	return f.Then == api.EndList && (f.Status == 500 || f.Status == 422)
}

// upTo returns the query for the calls of the stretch that started before a time. A stretch without an
// upper bound is requested without any bounds: calls without a start come with the newest pages, and a
// bound may hide them.
func (l *listing) upTo(before int64) *query {
	q := &query{bounds: bounds{Sorted: true, Before: before}, stream: l.stream}
	if l.to != forever {
		q.After = max(0, l.from-1)
	}
	return q
}

// take stores a page and returns the next query; nil if the stretch is listed, or cannot be.
func (l *listing) take(ctx context.Context, q *query, p *listPage) (*query, error) {
	above := l.lowest
	recs, fresh, highest := l.records(p)
	if l.fresh += int64(fresh); l.pages == 1 {
		l.counted = p.Total
	}
	if fresh > 0 && !l.checking {
		l.rows += int64(len(p.Items))
		l.doubled = max(0, l.rows-l.fresh-l.aside-max(0, p.Total-l.counted))
	}
	if l.reread && q.Before == l.upper {
		if q.cursor == "" {
			l.counts = p.Total
		}
		l.shows += int64(len(p.Items))
	}
	if l.idle++; fresh > 0 || l.lowest < above {
		l.idle = 0
	}
	below := l.inOrder() && l.lowest != forever && after(l.lowest) <= l.from // all of the stretch has been listed
	check, end, err := l.ends(ctx, q, p, fresh, highest, below)
	if err != nil {
		return nil, err
	}
	stored := int64(len(recs))
	recs = l.record(recs, p.At, end)
	if err := l.c.put(ctx, recs...); err != nil {
		return nil, err
	}
	l.c.meter.update(func(pr *Report) {
		pr.ItemsStored += stored
		if p.Total >= 0 && l.pages == 1 && (l.to != forever || l.from <= l.c.since) { // the service's total is for the stretch
			if pr.PagesTotal < 0 {
				pr.PagesTotal = pr.Pages - 1
			}
			pr.PagesTotal += pagesOf(p.Total)
		}
	})
	l.c.begun.Fire()
	if l.to != forever && l.pages == 1 && l.lowest != forever && ignored(q, l.lowest) {
		l.c.filters.dropBefore() // no call on the page is below the bound
		return l.refused(ctx)
	}
	if l.to == forever && l.inOrder() && l.lowest < l.c.windowFrom() && !end && !below {
		l.c.newest.Fire()
	}
	switch {
	case end && l.gap != "":
		l.problem(l.gap)
		return nil, nil
	case end, below, l.pages == l.maxPages:
		l.done = end || below
		return nil, nil
	case l.counted >= 0 && l.fresh > 2*l.counted+moreCalls:
		l.problem(fmt.Sprintf("the list does not end: more than %d calls, but the service reports %d", l.fresh-1, l.counted))
		return nil, nil
	case check != nil:
		return check, nil
	case l.idle >= maxNothingNew:
		l.problem(fmt.Sprintf("%d consecutive pages without new calls", l.idle))
		return nil, nil
	}
	l.cursors[p.Next] = true
	next := *q
	next.cursor = p.Next
	return &next, nil
}

// ends reports whether the list is over with a page, or returns the query that checks this. A list
// that is short enough to end with the page that goes below the stretch is listed completely, too.
func (l *listing) ends(ctx context.Context, q *query, p *listPage, fresh int, highest int64, below bool) (*query, bool, error) {
	if ignored(q, highest) {
		l.untimed = true
		if l.checking {
			p.Next = ""
		}
	}
	switch {
	case below && p.Next == "" && l.to == forever && !l.checking && l.whole():
		over, err := l.oldest(ctx)
		return nil, over, err
	case below, !l.seemsOver(q, p, fresh):
		return nil, false, nil
	}
	check, err := l.checkEnd(ctx)
	return check, check == nil && err == nil, err
}

// canAskByTime reports whether the next page can be requested by the lowest start_at.
func (l *listing) canAskByTime() bool { return l.timely() && l.lowest != forever && l.lowest > 0 }

// timely reports whether pages can be requested by start_at.
func (l *listing) timely() bool {
	return l.inOrder() && !l.c.filters.now().Before && !l.untimed
}

// byTimeBelow returns the query for the calls that started before a time, the first of a new series
// of pages. The lowest start seen is requested again, in case it has more calls.
func (l *listing) byTimeBelow(before int64) *query {
	l.cursors = map[string]bool{}
	return l.upTo(before)
}

// inOrder reports whether the list counts as descending.
func (l *listing) inOrder() bool { return l.ordered >= 0 }

// records makes records of the page's items, and checks their order. fresh counts the items that
// are not on earlier pages. highest is the page's highest start_at.
func (l *listing) records(p *listPage) (recs []schema.Record, fresh int, highest int64) {
	recs = make([]schema.Record, 0, len(p.Items)+1)
	last := l.lowest
	var again, before, aside int64
	changed := true
	r := l.c.reader()
	defer l.c.readers.Put(r)
	for i, item := range p.Items {
		sum := maphash.Bytes(l.seen.Seed, item)
		if err := l.c.decode(r, item, schema.KindItem); err != nil {
			if _, known := l.seen.Put(fmt.Sprintf("\x00%x", sum), sum); known { // no id begins like this
				again++
				continue
			}
			aside++
			l.c.meter.setAside(idOf(item), fmt.Sprintf("%v (%s)", err, l.place(i)))
			continue
		}
		l.c.noteDetails(item)
		id, start := string(r.call.ID()), r.call.StartAt()
		if l.poll != nil {
			changed = l.poll.see(&r.call, p.At)
		}
		was, known := l.seen.Put(id, sum)
		if !known {
			fresh++
		}
		if start.OK && start.V >= earliest {
			l.lowest, highest = min(l.lowest, start.V), max(highest, start.V)
			if !known {
				if start.V > last && start.V >= after(last) { // last may be shown coarsely
					l.ordered = -orderProof - 1 // this page is counted below
				}
				last = start.V
			}
		}
		switch {
		case known && was == sum, !changed:
			again++
		case start.OK && start.V < l.c.since && l.c.since > 0:
			before++
		default:
			recs = append(recs, schema.Record{Kind: schema.KindItem, CallID: id, FetchedAt: p.At, Body: item, Start: start,
				Started: r.call.CarriesStart()})
		}
	}
	l.pages++
	l.ordered++
	l.aside += aside
	l.c.meter.update(func(pr *Report) {
		pr.CallsListed += int64(len(p.Items))
		pr.ItemsRepeated, pr.ItemsBefore, pr.ItemsAside = pr.ItemsRepeated+again, pr.ItemsBefore+before, pr.ItemsAside+aside
	})
	return recs, fresh, highest
}

// record adds to recs the time range that the pages so far have listed completely.
func (l *listing) record(recs []schema.Record, at int64, end bool) []schema.Record {
	from := l.covered
	switch {
	case l.gap != "", l.again, l.poll != nil && !l.poll.records(at):
	case end && l.to == forever: // requested without a lower bound too
		from = l.c.since
	case end:
		from = l.from
	case l.inOrder() && l.lowest != forever:
		from = max(after(l.lowest), l.from)
	}
	if from >= l.covered {
		return recs
	}
	body, _ := json.Marshal(schema.Span{From: from, To: l.covered, ListedAt: at}) // integers always encode
	l.covered = from
	return append(recs, schema.Record{Kind: schema.KindCovered, FetchedAt: at, Body: body})
}

// failed ends the listing because of a failed page.
func (l *listing) failed(f *api.RequestError) {
	below := ""
	if l.lowest != forever {
		below = " below " + showMS(l.lowest)
	}
	l.problem("a page" + below + " could not be fetched: " + f.Error())
}

// place describes the place of an item on the list: the i-th of the next page, from 0.
func (l *listing) place(i int) string {
	text := fmt.Sprintf("item %d of page %d", i+1, l.pages+1)
	if l.lowest != forever {
		text += ", below " + showMS(l.lowest)
	}
	return text
}

func (l *listing) problem(why string) {
	l.c.log.Warn("part of the list is left to the next run", "reason", why)
	l.c.meter.problem(why)
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
