package crawler

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"slices"

	"callhouse/internal/api"
	"callhouse/internal/crawler/envelope"
	"callhouse/internal/crawler/params"
	"callhouse/internal/schema"
)

// Limits for lists that never end.
const (
	maxNothingNew = 50 // consecutive pages without a new item
	maxRestarts   = 3  // restarts of a list from its top
	// moreCalls is how many calls a list may have in excess of twice the service's count.
	moreCalls = 100_000
)

// orderProof is how many pages must come in descending order before the order is relied on, if the
// service did not accept sort_order.
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
	from, to int64  // to may be forever
	bottom   int64  // replaces from if the service takes no upper bound
	since    int64  // earlier items are dropped
	maxPages int    // 0: no limit
	top      *asked // the first page, if it was requested before
	again    bool   // lists known calls again: coverage is not recorded
	stream   *api.Stream
	readers  *readers // readers that may take over parts of it; nil: none

	pages    int    // so far
	lowest   int64  // lowest start_at seen; forever: none
	covered  int64  // lowest start_at recorded as covered
	ordered  int    // pages since the last one whose items were out of order
	shuffled bool   // there was such a page
	rising   bool   // start_at rose from one page to the next: not the requested order
	gap      string // why a call may have been skipped; empty: none was
	byTime   bool   // pages are requested by the lowest start_at, not by a cursor
	total    int64  // total of the last page, for the same query; -1: none
	counted  int64  // total of the first page; -1: none
	fresh    int64  // items not on an earlier page
	parts
	ending

	// Against lists that go in circles.
	seen        *envelope.Recent // ids on the last pages, with a hash of the content sent for them
	cursors     map[string]bool
	nothingNew  int   // consecutive pages
	restarts    int   // after a cursor that led to no new page
	restartedAt int64 // the lowest start_at at the last restart; 0: there was none
	skips       int   // items skipped by time

	// The first call of one page. It is kept until the number of pages has doubled, so it comes
	// again in a circular list whose cursors are always new.
	mark   string
	markAt int
}

func (c *Crawler) newListing(from, to, bottom int64) *listing {
	l := &listing{c: c, from: from, to: to, bottom: bottom, since: c.since, covered: to}
	if to == forever {
		l.covered = c.nowMS()
	}
	l.forget()
	return l
}

// forget clears what was learned from the pages so far.
func (l *listing) forget() {
	l.lowest, l.total, l.ordered, l.nothingNew = forever, -1, 0, 0
	l.rising, l.shuffled = false, false
	l.seen, l.cursors = envelope.NewRecent(), map[string]bool{}
}

// walk lists the stretch to its end. A problem that ends it early is reported and is not an error:
// the part not listed is not recorded as covered, and the next run lists it. An error ends the run;
// interrupted is true if ctx was done.
func (l *listing) walk(ctx context.Context) (interrupted bool, err error) {
	defer l.answer(noPart)
	q := l.first()
	for {
		if err := ctx.Err(); err != nil {
			return true, nil
		}
		a := l.top
		if l.top = nil; a == nil {
			q.priority = l.priority()
			if a, err = l.c.ask(ctx, *q); err != nil {
				return false, err
			}
		}
		if f := a.failure; f != nil && f.Canceled() {
			return true, nil
		}
		if l.trial() {
			if proved, err := l.prove(ctx, q, a); !proved {
				return ctx.Err() != nil, err
			}
		}
		if a.failure != nil || a.query.Before != q.Before {
			if q, err = l.instead(ctx, q, a); q == nil || err != nil {
				return ctx.Err() != nil, err
			}
			continue
		}
		if q, err = l.take(ctx, &a.query, &a.page); err != nil || q == nil || l.share(&a.page) {
			return false, err
		}
		if err := l.c.offerCheckpoint(ctx); err != nil {
			return false, err
		}
	}
}

// instead returns the query to make after a failure, or after the service has refused the upper bound;
// nil if the stretch ends there.
func (l *listing) instead(ctx context.Context, q *query, a *asked) (*query, error) {
	f := a.failure
	switch {
	case f == nil:
		return l.refused(ctx)
	case q.cursor != "" && (f.CursorLost || l.tooDeep(a)):
		l.c.log.Info("cursor no longer accepted", "failure", f)
		return l.restart("a cursor was rejected: " + f.Error()), nil
	case l.uncheckable(a):
		return l.refused(ctx)
	}
	l.failed(f)
	return nil, nil
}

// tooDeep reports whether a page that failed may be beyond what cursors reach. Then the rest is
// requested by time.
func (l *listing) tooDeep(a *asked) bool {
	f := a.failure
	return l.canAskByTime() && l.lowest != l.restartedAt && f.Then == api.EndList &&
		(f.Status == 0 || f.Status == 500 || slices.Contains([]int{408, 413, 414, 416, 422}, f.Status))
}

// first returns the query for the first page of the stretch. A stretch without an upper bound is
// requested without any bounds: calls without a start come with the newest pages, and a bound may
// hide them.
func (l *listing) first() *query {
	if l.to == forever {
		return l.upTo(forever)
	}
	return l.upTo(params.After(l.to - 1))
}

// upTo returns the query for the calls that started before a time.
func (l *listing) upTo(before int64) *query {
	q := &query{Query: params.Query{Sorted: true, Before: before}, stream: l.stream}
	if l.to != forever {
		q.After = max(0, l.from-1)
	}
	return q
}

// fromTop restarts with the whole list.
func (l *listing) fromTop() {
	l.forget()
	l.from, l.to, l.covered, l.maxPages = l.bottom, forever, l.c.nowMS(), 0
}

// take stores a page and returns the next query; nil if the stretch is listed, or cannot be.
func (l *listing) take(ctx context.Context, q *query, p *envelope.Page) (*query, error) {
	above := l.lowest
	recs, fresh, repeated, highest := l.records(p)
	l.ordered++
	l.pages++
	shrunk := p.Total >= 0 && p.Total < l.total
	l.total = p.Total
	if l.fresh += int64(fresh); l.pages == 1 {
		l.counted = p.Total
	}
	l.count(q, p, fresh)
	if l.nothingNew++; fresh > 0 || l.lowest < above {
		l.nothingNew = 0
	}
	redo := false
	if q.cursor != "" && shrunk {
		// Calls vanished. If the service counts pages from the top, as many others were skipped:
		// read again from the end of the previous page.
		redo = l.goBack(above)
		if !redo {
			l.gap = vanished
		}
	} else if q.cursor != "" && repeated {
		l.byTime = l.canAskByTime() // pages shift under the cursor: page by time instead
	}

	below := l.inOrder() && l.under(l.from)
	check, end, err := l.ends(ctx, q, p, fresh, highest, redo, below)
	if err != nil {
		return nil, err
	}
	stored := int64(len(recs))
	recs = l.record(recs, p.At, end)
	if err := l.c.put(ctx, recs...); err != nil {
		return nil, err
	}
	l.c.meter.update(func(pr *Progress) { pr.ItemsStored += stored })
	l.c.estimatePages(l, p)
	l.c.begun.Fire()
	if l.to == forever && l.inOrder() && l.lowest < l.c.windowFrom() && !end && !below {
		l.c.newest.Fire()
	}
	switch {
	case end && l.gap != "":
		l.problem(l.gap)
		return nil, nil
	case end, below, l.pages == l.maxPages:
		return nil, nil
	case l.goesRound(p):
		l.problem("the list repeats itself")
		return nil, nil
	case l.counted >= 0 && l.fresh > 2*l.counted+moreCalls:
		l.problem(fmt.Sprintf("the list does not end: more than %d calls, but the service reports %d", l.fresh-1, l.counted))
		return nil, nil
	case check != nil:
		return check, nil
	case l.nothingNew >= maxNothingNew:
		l.problem(fmt.Sprintf("%d consecutive pages without new calls", l.nothingNew))
		return nil, nil
	}
	l.redoes = redo
	return l.next(q, p), nil
}

// ends reports whether the list is over with a page, or returns the query that checks this. A list
// that is short enough to end with the page that goes below the stretch is listed completely, too.
func (l *listing) ends(ctx context.Context, q *query, p *envelope.Page, fresh int, highest int64, redo, below bool) (*query, bool, error) {
	if ignored(q, highest) {
		l.untimed = true
		if l.resume != nil {
			return l.resumed(), false, nil
		}
		if l.step == checking {
			p.Next = ""
		}
	}
	switch {
	case redo:
		return nil, false, nil
	case below && p.Next == "" && l.to == forever && l.step == reading && l.whole():
		over, err := l.oldest(ctx)
		return nil, over, err
	case below, !l.seemsOver(q, p, fresh):
		return nil, false, nil
	}
	check, err := l.beyond(ctx, q, p.Odd || p.Next != "")
	return check, check == nil && err == nil, err
}

// goesRound reports whether a list that is out of order has returned to the first call of an
// earlier page.
func (l *listing) goesRound(p *envelope.Page) bool {
	if len(p.Items) == 0 {
		return false
	}
	first := envelope.IDOf(p.Items[0])
	if l.rising && first == l.mark {
		return true
	}
	if l.pages >= 2*l.markAt {
		l.mark, l.markAt = first, l.pages
	}
	return false
}

// next returns the query for the page after p.
func (l *listing) next(q *query, p *envelope.Page) *query {
	if l.byTime && l.canAskByTime() && params.After(l.lowest) < q.Before {
		n := l.nextByTime()
		if p.Next != "" {
			l.resume = l.byCursor(q, p)
		}
		return n
	}
	if l.cursors[p.Next] {
		return l.restart("a cursor was repeated")
	}
	l.cursors[p.Next] = true
	return l.byCursor(q, p)
}

// byCursor returns the query for the page after p by its cursor.
func (l *listing) byCursor(q *query, p *envelope.Page) *query {
	n := *q
	n.cursor = p.Next
	return &n
}

// canAskByTime reports whether the next page can be requested by start_at.
func (l *listing) canAskByTime() bool { return l.timely() && l.lowest != forever && l.lowest > 0 }

// timely reports whether pages can be requested by start_at.
func (l *listing) timely() bool { return l.accepts() && l.inOrder() }

// accepts reports whether the service may take start_at_before.
func (l *listing) accepts() bool { return l.c.filters.Now().Before != params.Refused && !l.untimed }

// nextByTime returns the query for the calls at and below the lowest start_at seen. That time is
// requested again, in case it has more calls.
func (l *listing) nextByTime() *query { return l.byTimeBelow(params.After(l.lowest)) }

// byTimeBelow returns the query for the calls that started before a time, the first of a new series
// of pages.
func (l *listing) byTimeBelow(before int64) *query {
	l.total, l.resume, l.cursors = -1, nil, map[string]bool{}
	return l.upTo(before)
}

// under reports whether everything that started at a time or later has been listed.
func (l *listing) under(from int64) bool {
	return l.lowest != forever && params.After(l.lowest) <= from
}

// goBack returns to the lowest start_at before the last page.
func (l *listing) goBack(lowest int64) bool {
	if lowest == forever || !l.canAskByTime() {
		return false
	}
	l.lowest, l.byTime = lowest, true
	return true
}

// restart continues after a cursor that leads nowhere: from the lowest start_at seen, or from the
// top; nil if that was tried too often.
func (l *listing) restart(why string) *query {
	l.restarts++
	switch {
	case l.lowest == l.restartedAt: // not the first time: a cursor within one millisecond
	case l.canAskByTime():
		l.byTime, l.restartedAt = l.restarts > 1, l.lowest // a first failure may be chance
		return l.nextByTime()
	case l.restarts > maxRestarts:
	case l.to == forever:
		l.fromTop()
		return l.first()
	}
	l.problem(why)
	return nil
}

// inOrder reports whether the list counts as descending.
func (l *listing) inOrder() bool {
	return !l.rising && (l.c.filters.Now().Sort == params.Accepted && !l.shuffled || l.ordered >= orderProof)
}

// records makes records of the page's items, and checks their order. fresh counts the items that
// are not on earlier pages; repeated reports whether any item was. highest is the page's highest
// start_at.
func (l *listing) records(p *envelope.Page) (recs []schema.Record, fresh int, repeated bool, highest int64) {
	recs = make([]schema.Record, 0, len(p.Items)+1)
	above, last := l.lowest, l.lowest
	var again, before, aside int64
	for i, item := range p.Items {
		sum := maphash.Bytes(l.seen.Seed, item)
		h, err := l.c.read(item, schema.KindItem)
		if err != nil {
			if _, known := l.seen.Put(fmt.Sprintf("\x00%x", sum), sum); known { // no id begins like this
				again++
				continue
			}
			aside++
			l.c.meter.setAside(envelope.IDOf(item), fmt.Sprintf("%v (%s)", err, l.place(i)))
			continue
		}
		was, known := l.seen.Put(h.id, sum)
		if known {
			repeated = repeated || h.start.OK
		} else {
			fresh++
		}
		if h.start.OK && h.start.V >= earliest {
			l.lowest, highest = min(l.lowest, h.start.V), max(highest, h.start.V)
			if !known {
				l.dated++
				l.rising = l.rising || h.start.V > above
				if h.start.V > last {
					l.shuffled, l.ordered = true, -1 // take counts this page
				}
				last = h.start.V
			}
		}
		switch {
		case known && was == sum:
			again++
		case h.start.OK && h.start.V < l.since && l.since > 0:
			before++
		default:
			recs = append(recs, schema.Record{Kind: schema.KindItem, CallID: h.id, FetchedAt: p.At, Body: item})
		}
	}
	l.highest, l.aside = max(l.highest, highest), l.aside+aside
	l.c.meter.update(func(pr *Progress) {
		pr.CallsListed += int64(len(p.Items))
		pr.ItemsRepeated, pr.ItemsBefore, pr.ItemsAside = pr.ItemsRepeated+again, pr.ItemsBefore+before, pr.ItemsAside+aside
	})
	return recs, fresh, repeated, highest
}

// record adds to recs the time range that the pages so far have listed completely.
func (l *listing) record(recs []schema.Record, at int64, end bool) []schema.Record {
	switch {
	case l.gap != "", l.again:
		return recs
	case end && l.to == forever: // requested without a lower bound too
		return l.cover(recs, l.since, at)
	case end:
		return l.cover(recs, l.from, at)
	case l.inOrder() && l.lowest != forever:
		return l.cover(recs, max(params.After(l.lowest), l.from), at)
	}
	return recs
}

func (l *listing) cover(recs []schema.Record, from, at int64) []schema.Record {
	if from >= l.covered {
		return recs
	}
	body, err := json.Marshal(schema.Span{From: from, To: l.covered, ListedAt: at})
	if err != nil {
		return recs // integers always encode
	}
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
