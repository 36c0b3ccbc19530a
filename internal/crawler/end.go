package crawler

import (
	"context"
	"fmt"
	"time"
)

// ending is what a listing knows about the end of its list. A last page does not prove that nothing is left:
// services end lists early, or leave out what is beyond a limit. A whole list ends where nothing is left by
// time. A part is checked in this way only if the service's count or the store contradicts its end.
type ending struct {
	aside    int64 // items that cannot be read
	rows     int64 // items on the first reading's pages with new calls
	doubled  int64 // those that are there twice, although no call arrived meanwhile
	round    bool  // a cursor or a page came again
	checking bool  // what is left below the end is requested by time
	gained   int64 // fresh at the last check
	reached  int64 // lowest at the last check
	reread   bool  // all of it is read a second time, by time
	upper    int64 // upper bound of that reading's first query
	counts   int64 // what the service counts for that query; -1: nothing
	shows    int64 // items on the pages of that query
	untimed  bool  // the service refuses or ignores start_at_before
}

// got returns the number of calls so far, as the service counts them.
func (l *listing) got() int64 { return l.fresh + l.aside + l.doubled }

// short reports whether the service counts more calls.
func (l *listing) short() bool { return l.counted > l.got() }

// whole reports whether the service counts exactly these calls.
func (l *listing) whole() bool { return l.counted == l.got() }

// seemsOver reports whether a page looks like the last one. fresh is its number of new calls. A cursor or a
// page that comes again looks like it too. Where pages are requested by time, known calls come again.
func (l *listing) seemsOver(q *query, p *listPage, fresh int) bool {
	if p.Next == "" {
		return true
	}
	again := l.cursors[p.Next] || p.Next == q.cursor ||
		fresh == 0 && len(p.Items) > 0 && !l.checking && l.lostAt == 0
	l.round = l.round || again
	return again
}

// lasts reports whether the listing reads the list to its very end.
func (l *listing) lasts() bool { return l.from <= l.c.since && !l.again && l.stream == nil }

// isSureEnd reports whether the end of a list needs no check.
func (l *listing) isSureEnd(ctx context.Context) (bool, error) {
	switch {
	case l.lowest <= l.from && !l.short():
		return true, nil
	case l.lasts() || l.round || !l.whole():
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
		return fmt.Sprintf("the list ends after %d calls, but the service counts %d, and the rest cannot be requested by start_at_before",
			l.got(), l.counted)
	case l.round && !l.whole():
		return fmt.Sprintf("the list repeats itself after %d calls", l.got())
	}
	return ""
}

// checkEnd returns the query that checks the end of a list; nil: the list is over. If calls are
// missing, gap says so.
func (l *listing) checkEnd(ctx context.Context) (*query, error) {
	if !l.checking {
		if sure, err := l.isSureEnd(ctx); sure || err != nil {
			return nil, err
		}
	}
	switch {
	case !l.checking && l.lowest == forever && l.to == forever && l.timely():
		l.checking, l.reached = true, forever
		return l.byTimeBelow(l.fromTheTop()), nil
	case !l.canAskByTime():
		l.gap = l.unknown()
		return nil, nil
	case l.checking && l.fresh == l.gained && l.lowest == l.reached:
		return l.settle(ctx)
	}
	l.checking, l.gained, l.reached = true, l.fresh, l.lowest
	return l.byTimeBelow(after(l.lowest)), nil
}

// fromTheTop returns an upper bound above every call.
func (l *listing) fromTheTop() int64 { return l.c.nowMS() + (24 * time.Hour).Milliseconds() }

// settle decides about a list below which nothing is left by time. If the service nevertheless
// counts more calls, the list is read again by time, once: its cursors may have skipped some.
func (l *listing) settle(ctx context.Context) (*query, error) {
	switch {
	case !l.short():
		return nil, nil
	case l.reread && l.counts >= 0 && l.counts <= l.shows:
		// Its count of the whole list is an estimate, or it shows some calls twice.
		return nil, nil
	case l.reread:
		l.gap = fmt.Sprintf("the service counts %d calls, but lists only %d", l.counted, l.got())
		return nil, nil
	}
	if fit, err := l.countsFit(ctx); err != nil || !fit {
		return nil, err
	}
	l.c.log.Info("the service counts more calls than it lists; listing them again by time", "listed", l.got(), "counted", l.counted)
	l.reread, l.lowest, l.lostAt, l.upper = true, forever, 0, l.fromTheTop()
	return l.byTimeBelow(l.upper), nil
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

// refused ends a listing after the service has refused the upper bound of a query.
func (l *listing) refused(ctx context.Context) (*query, error) {
	l.untimed = true
	switch missing := l.unknown(); {
	case l.lostAt > 0:
		l.problem("a cursor was refused, and the service does not accept start_at_before, by which the rest could be requested")
	case !l.checking: // see sweep
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
	return l.checking && l.fresh == l.gained && a.query.cursor == "" &&
		(l.whole() || !l.short() && a.failure.Status/100 == 4)
}

// ignored reports whether the service ignored the upper bound of a query.
func ignored(q *query, highest int64) bool {
	return q.Before != forever && highest >= q.Before && highest-q.Before >= coarsest
}
