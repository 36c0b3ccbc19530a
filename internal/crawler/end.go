package crawler

import (
	"context"
	"fmt"
	"time"
)

// ending is what a listing knows about the end of its list. A last page does not prove that nothing
// is left: services end lists early, count wrongly, or leave out what is beyond a limit. A whole
// list ends where nothing is left by time. A part is checked in this way only if the service's
// count or the store contradicts its end.
type ending struct {
	of         bounds // the query of the first page
	want       int64  // number of calls that the service counts for it, the least of its pages; -1: unknown
	dated      int64  // different calls with a start so far
	aside      int64  // items that cannot be read
	rows       int64  // items on its pages with new calls
	duplicates int64  // those that are there twice, although no call arrived meanwhile
	empty      int    // consecutive empty pages
	round      bool   // a cursor or a page came again

	said, shown int64 // of the current query: the service's count, and the items so far

	step    endStep
	gained  int64 // fresh at the last check
	reached int64 // lowest at the last check
	twice   int64 // upper bound of the second reading; 0: there was none

	untimed bool // the service refuses or ignores start_at_before
}

// endStep is how far the end of a list has been checked.
type endStep uint8

const (
	reading   endStep = iota
	checking          // what is left below the end, by time
	rereading         // the whole stretch, by time
)

// maxEmpty is the number of consecutive empty pages after which the rest is requested by time.
const maxEmpty = 3

const (
	noTime = "and it does not accept start_at_before, by which the rest could be requested"
	noMore = "and it shows none of the others, not even by start_at_before"
)

// got returns the number of calls so far, as the service counts them.
func (l *listing) got() int64 { return l.fresh + l.aside + l.duplicates }

// short reports whether the service counts more calls.
func (l *listing) short() bool { return l.want > l.got() }

// whole reports whether the service counts exactly these calls.
func (l *listing) whole() bool { return l.want == l.got() }

// count updates the counts with a page that has fresh new calls.
func (l *listing) count(q *query, p *listPage, fresh int) {
	if l.fresh += int64(fresh); l.pages == 1 {
		l.counted, l.of, l.want = p.Total, q.bounds, p.Total
	}
	if q.bounds == l.of {
		if fresh > 0 {
			l.rows += int64(len(p.Items))
		}
		l.duplicates = max(0, l.rows-l.fresh-l.aside-max(0, p.Total-l.counted))
		if p.Total >= 0 {
			l.want = min(l.want, p.Total)
		}
	}
	if q.cursor == "" {
		l.said, l.shown = p.Total, 0
	}
	l.shown += int64(len(p.Items))
	if l.empty++; len(p.Items) > 0 {
		l.empty = 0
	}
}

// seemsOver reports whether a page looks like the last one. fresh is its number of new calls. A
// cursor or a page that comes again, and several empty pages, look like it too. Where pages are
// requested by time, known calls come again.
func (l *listing) seemsOver(q *query, p *listPage, fresh int) bool {
	switch {
	case p.Next == "", l.explained(q):
		return true
	case p.Odd:
		return !l.short() || l.canAskByTime()
	case l.step == reading && fresh == 0 && l.whole() && l.want > 0:
		return true
	case l.step == checking && fresh == 0 && l.said >= 0 && l.shown >= l.said:
		return true
	}
	again := l.cursors[p.Next] || p.Next == q.cursor || l.empty >= maxEmpty
	again = again || fresh == 0 && len(p.Items) > 0 && l.step == reading && l.lostAt == 0
	l.round = l.round || again
	return again
}

// explained reports whether a second reading turns out to be needless: the service counts no more
// calls with a start than were listed, and those without one cannot be requested by time.
func (l *listing) explained(q *query) bool {
	return l.step == rereading && q.Before == l.twice && q.cursor == "" && l.said >= 0 && l.said <= l.dated
}

// lasts reports whether the listing reads the list to its very end.
func (l *listing) lasts() bool { return l.from <= l.c.since && !l.again && l.stream == nil }

// isSureEnd reports whether the end of a list needs no check.
func (l *listing) isSureEnd(ctx context.Context, odd bool) (bool, error) {
	switch {
	case l.lowest <= l.from && !l.short():
		return true, nil
	case l.lasts() || odd || !l.whole():
		return false, nil
	case l.to != forever || l.lowest == forever:
		return true, nil
	}
	return l.oldest(ctx)
}

// oldest reports whether the store has no calls below the lowest one.
func (l *listing) oldest(ctx context.Context) (bool, error) {
	known, err := l.c.store.Between(ctx, 0, l.lowest)
	if err != nil {
		return false, &StoreError{"count known calls", err}
	}
	return known == 0, nil
}

// unknown returns what may be missing from a list whose end cannot be checked; empty: nothing.
func (l *listing) unknown() string {
	switch {
	case l.short():
		return fmt.Sprintf("the list ends after %d calls, but the service counts %d, %s", l.got(), l.want, noTime)
	case l.round && !l.whole():
		return fmt.Sprintf("the list repeats itself after %d calls", l.got())
	}
	return ""
}

// checkEnd returns the query that checks the end of a list; nil: the list is over. If calls are
// missing, gap says so.
func (l *listing) checkEnd(ctx context.Context, q *query, odd bool) (*query, error) {
	if l.step == reading {
		if sure, err := l.isSureEnd(ctx, odd); sure || err != nil {
			return nil, err
		}
	}
	switch gained := l.fresh > l.gained || l.lowest < l.reached; {
	case l.explained(q):
		return nil, nil
	case l.step == reading && l.lowest == forever && l.to == forever && (l.lasts() || l.short()) && l.timely():
		l.step, l.reached = checking, forever
		return l.byTimeBelow(l.c.nowMS() + (24 * time.Hour).Milliseconds()), nil
	case !l.canAskByTime():
		l.gap = l.unknown()
		return nil, nil
	case l.step == checking && !gained:
		return l.settle(ctx)
	}
	l.step, l.gained, l.reached = checking, l.fresh, l.lowest
	return l.byTimeBelow(after(l.lowest)), nil
}

// settle decides about a list below which nothing is left by time. If the service nevertheless
// counts more calls for that time, they are missing. If it counts more for the whole list, the list
// is read again by time, once: its cursors may have skipped some.
func (l *listing) settle(ctx context.Context) (*query, error) {
	hidden := l.said > l.shown
	if !hidden && (l.twice > 0 || !l.short()) {
		return nil, nil
	}
	countsFit, err := l.countsFit(ctx)
	switch {
	case err != nil || !countsFit:
		return nil, err
	case hidden:
		l.gap = fmt.Sprintf("the list ends after %d calls, but the service counts %d more, %s", l.got(), l.said-l.shown, noMore)
		return nil, nil
	}
	l.c.log.Info("the service counts more calls than it lists; listing them again by time", "listed", l.got(), "counted", l.want)
	l.step, l.twice, l.lowest, l.lostAt = rereading, after(l.highest), forever, 0
	return l.byTimeBelow(l.twice), nil
}

// countsFit reports whether the service counts no calls where there cannot be any. Otherwise its counts
// prove nothing: it counts something else, or ignores the bounds.
func (l *listing) countsFit(ctx context.Context) (bool, error) {
	q := query{bounds: bounds{Sorted: true, Before: earliest}, limit: 1, stream: l.stream, priority: l.priority()}
	a, err := l.c.ask(ctx, q)
	if err != nil || a.failure != nil || a.query.Before != q.Before {
		return true, err
	}
	return a.page.Total <= int64(len(a.page.Items)), nil
}

// ignored reports whether the service ignored the upper bound of a query.
func ignored(q *query, highest int64) bool {
	return q.Before != forever && highest >= q.Before && highest-q.Before >= coarsest
}

// refused ends a listing after the service has refused the upper bound of a query.
func (l *listing) refused(ctx context.Context) (*query, error) {
	l.untimed = true
	switch missing := l.unknown(); {
	case l.lostAt > 0:
		l.problem("a cursor was refused, " + noTime)
	case l.step != checking: // see sweep
	case missing != "":
		l.problem(missing)
	default:
		return nil, l.c.put(ctx, l.record(nil, l.c.nowMS(), true)...)
	}
	return nil, nil
}

// uncheckable reports whether a list may end although the request that checks its end failed: its
// calls are all that the service counts, or it does not take the request.
func (l *listing) uncheckable(a *pageResult) bool {
	return l.step == checking && l.fresh == l.gained && a.query.cursor == "" &&
		(l.whole() || !l.short() && a.failure.Status/100 == 4)
}
