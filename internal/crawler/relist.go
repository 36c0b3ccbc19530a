package crawler

import (
	"cmp"
	"context"
	"slices"

	"callhouse/internal/crawler/filters"
	"callhouse/internal/crawler/streams"
	"callhouse/internal/schema"
)

// A run lists a seventh of the list again, or all of a short one. So a week of nights lists all of
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

// relist lists a part again that was last listed longer than RelistEvery ago. It reports whether it
// listed anything.
//
// Calls change after they are settled, too: an analysis is run again, a customer opts out. Only the
// list shows it.
func (c *Crawler) relist(ctx context.Context) (listed bool, err error) {
	if c.cfg.RelistEvery == 0 || c.cfg.Full || ctx.Err() != nil {
		return false, nil
	}
	old := stale(c.store.Coverage(), c.since, c.nowMS()-(c.cfg.RelistEvery-streams.Slack).Milliseconds())
	if len(old) == 0 {
		return false, nil
	}
	stream := c.streams.Of("listing again", streams.Relist)
	if why := stream.Idle(); why != "" {
		c.log.Info("older calls are not listed again", "reason", why)
		return false, nil
	}
	left := int(c.seventh())
	for _, span := range old {
		if left <= 0 || ctx.Err() != nil || c.filters.Now().Before == filters.Refused {
			break
		}
		l := c.newListing(span.From, span.To, span.From)
		l.maxPages, l.stream = left, stream.Stream
		if err := c.list(ctx, l); err != nil {
			return true, err
		}
		left -= l.pages
	}
	if c.filters.Now().Before == filters.Refused {
		// No part of the list can be requested, so all of it is listed, once a week.
		l := c.newListing(c.since, forever, c.since)
		l.stream = stream.Stream
		return true, c.list(ctx, l)
	}
	return true, nil
}

// seventh returns the maximum number of old pages that a run lists again.
func (c *Crawler) seventh() int64 {
	return max(relistMinPages, (c.Progress().TotalCount/pageSize+relistParts)/relistParts)
}

// list lists one stretch again.
func (c *Crawler) list(ctx context.Context, l *listing) error {
	c.log.Info("listing older calls again", "from", showMS(l.from), "to", showMS(l.to))
	_, err := l.walk(ctx)
	return err
}
