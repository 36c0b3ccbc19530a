package crawler

import (
	"cmp"
	"context"
	"slices"
	"time"

	"callhouse/internal/schema"
)

// What a run lists again of what was listed long ago is a seventh of the list,
// or a few pages of a short one: in a week of nights all of it comes by, and no
// night is eaten.
const (
	relistShare = 7
	relistLeast = 10 // pages
	// A run that begins a little earlier than the one a week before is a week on.
	relistSlack = 12 * time.Hour
)

// stale returns the spans of coverage from since on that were last listed before
// the instant limit, those listed longest ago first.
func stale(coverage []schema.Span, since, limit int64) []schema.Span {
	var out []schema.Span
	for _, s := range coverage {
		if s.From = max(s.From, since); s.From < s.To && s.ListedAt < limit {
			out = append(out, s)
		}
	}
	slices.SortStableFunc(out, func(a, b schema.Span) int { return cmp.Compare(a.ListedAt, b.ListedAt) })
	return out
}

// relist lists a part of what was listed longer than RelistEvery ago anew. It
// reports whether it listed anything.
//
// Calls change after they are settled, too: an analysis is run again, a customer
// opts out. Only the list can tell.
func (c *Crawler) relist(ctx context.Context) (listed bool, err error) {
	if c.cfg.RelistEvery == 0 || c.cfg.Full || ctx.Err() != nil {
		return false, nil
	}
	old := stale(c.store.Coverage(), c.since, c.nowMS()-(c.cfg.RelistEvery-relistSlack).Milliseconds())
	if len(old) == 0 {
		return false, nil
	}
	c.meter.update(func(p *Progress) { p.Phase = Listing })
	if c.filters.before == refused {
		// No part of the list can be asked for, so it is all of it, once a week.
		return true, c.list(ctx, c.newListing(c.since, forever, c.since))
	}
	total := c.Progress().TotalCount
	left := max(relistLeast, int((total/pageSize+relistShare)/relistShare))
	c.meter.update(func(p *Progress) { p.PagesTotal = p.Pages + int64(left) })
	for _, span := range old {
		if left <= 0 || ctx.Err() != nil {
			break
		}
		l := c.newListing(span.From, span.To, span.From)
		l.maxPages = left
		if err := c.list(ctx, l); err != nil {
			return true, err
		}
		left -= l.pages
	}
	return true, nil
}

// list goes over one listing, and says so.
func (c *Crawler) list(ctx context.Context, l *listing) error {
	c.log.Info("listing again what was listed long ago", "from", showMS(l.from), "to", showMS(l.to))
	_, err := l.walk(ctx)
	return err
}
