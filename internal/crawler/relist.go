package crawler

import (
	"cmp"
	"context"
	"slices"

	"callhouse/internal/schema"
)

// A run relists a seventh of the list, or all of a short one. So a week of nights relists all of
// it, and no single night takes long.
const (
	relistParts    = 7
	relistMinPages = 10
)

// stale returns the spans of coverage from since on that were last listed before limit, oldest
// listing first.
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

// stale returns the spans that this run may list again.
func (c *Crawler) stale() []schema.Span {
	if c.cfg.RelistEvery == 0 || c.cfg.Full {
		return nil
	}
	return stale(c.store.Coverage(), c.since, c.nowMS()-(c.cfg.RelistEvery-slack).Milliseconds())
}

// relist lists a part again that was last listed longer than RelistEvery ago. It reports whether it
// listed anything.
//
// Calls change even after they are settled: an analysis is run again, a customer opts out. Only the
// list shows such changes.
func (c *Crawler) relist(ctx context.Context) (listed bool, err error) {
	old := c.stale()
	if len(old) == 0 || ctx.Err() != nil {
		return false, nil
	}
	stream := c.stream("listing again", relistAllowance)
	left := int(c.maxRelisted())
	for _, span := range old {
		if left <= 0 || ctx.Err() != nil || c.filters.now().Before {
			break
		}
		l := c.newListing(span.From, span.To)
		l.maxPages, l.stream = left, stream
		c.log.Info("listing older calls again", "from", showMS(l.from), "to", showMS(l.to))
		if err := l.walk(ctx); err != nil {
			return true, err
		}
		left -= l.pages
	}
	if c.filters.now().Before {
		// No part of the list can be requested, so all of it is listed, once a week.
		l := c.newListing(c.since, forever)
		l.stream = stream
		c.log.Info("listing all calls again")
		return true, l.walk(ctx)
	}
	return true, nil
}

// maxRelisted returns the maximum number of old pages that a run relists.
func (c *Crawler) maxRelisted() int64 {
	return max(relistMinPages, (c.Progress().TotalCount/pageSize+relistParts)/relistParts)
}
