package crawler

import (
	"context"
	"slices"
	"time"

	"callhouse/internal/calls"
	"callhouse/internal/schema"
)

// lateShare is the part of the window in which a call may still appear in the list after its start.
// It is two of the usual three days, so a nightly run lists each stretch once more while it is
// older than that and still in the window.
const lateShare = 2.0 / 3

// future is how far ahead of now a span may have been listed, since the clocks of two runs may
// differ. It is less than what lateShare leaves of the usual window.
const future = 12 * time.Hour

// SureUntil returns the time, ms, up to which a recorded span needs no further listing: a call that
// started before it would have appeared. window is that of the runs: see [Config]. A span listed
// later than now, by a wrong clock, is never final.
func SureUntil(span schema.Span, window time.Duration, now int64) int64 {
	if span.ListedAt > now+future.Milliseconds() {
		return span.From
	}
	return min(span.To, span.ListedAt-int64(float64(window.Milliseconds())*lateShare))
}

// stretch is one part of the list that a run reads: from <= start_at < to.
type stretch struct{ from, to int64 }

// plan returns the stretches of the list that a run reads, newest first: the window, and every span
// below it that was never listed at an age at which no new calls appear. The first stretch has no
// upper bound.
func plan(cfg *Config, now, since int64, coverage []schema.Span) []stretch {
	if cfg.Full {
		return []stretch{{since, forever}}
	}
	from := max(now-cfg.Window.Milliseconds(), since, 0)
	out := []stretch{{from, forever}}
	add := func(gap stretch) { // gap is below all gaps added before, or adjacent to the last one
		last := &out[len(out)-1]
		if gap.to >= last.from {
			last.from = gap.from
			return
		}
		out = append(out, gap)
	}
	at := from // everything later is listed or in a stretch
	for i := len(coverage) - 1; i >= 0 && at > since; i-- {
		span := coverage[i]
		end := SureUntil(span, cfg.Window, now)
		if end <= span.From || span.From >= at {
			continue
		}
		if end < at {
			add(stretch{max(end, since), at})
		}
		at = span.From
	}
	if at > since {
		add(stretch{since, at})
	}
	return out
}

// lookback is how far back unsettled calls are listed again.
const lookback = 30 * 24 * time.Hour

// listStreams is the number of parts of the list that are read at the same time.
const listStreams = 8

// sweep lists the stretches of the plan, and the places of unsettled calls. Their first page is that of Begin. The
// others wait for the first page of the window, which the store may refuse: all but the first page of one part, if
// the service has refused a parameter. That page shows whether it accepts upper bounds, before all parts send them.
func (c *Crawler) sweep(ctx context.Context) error {
	top := c.top
	if top.failure != nil && top.failure.Canceled() {
		return nil
	}
	todo := plan(&c.cfg, c.nowMS(), c.since, c.store.Coverage())
	for _, item := range top.page.Items {
		c.noteDetails(item)
	}
	places, err := c.unsettled(ctx, todo)
	if err != nil {
		return err
	}
	var parts []*listing // below the window
	for _, p := range places {
		parts = append(parts, c.newListing(p.From, p.To))
		parts[len(parts)-1].again = true
	}
	for _, s := range todo[1:] {
		parts = append(parts, c.newListing(s.from, s.to))
	}
	if known := c.filters.now(); len(parts) > 0 && known != (refused{}) && !known.Before {
		q := parts[0].upTo(after(parts[0].to - 1))
		q.priority = parts[0].priority()
		if parts[0].top, err = c.ask(ctx, *q); err != nil {
			return err
		}
	}
	if !c.filters.now().Before {
		readers := c.workers(ctx, listStreams)
		window := c.newListing(todo[0].from, todo[0].to)
		window.top, top = top, nil
		readers.Go(func(ctx context.Context) error {
			defer c.begun.Fire()
			err := window.walk(ctx)
			if len(todo) > 1 {
				c.newest.Fire()
			}
			return err
		})
		c.begun.Await(ctx, 0)
		for i, l := range parts {
			parts[i] = nil // it remembers what it has read
			c.log.Info("listing", "from", showMS(l.from), "to", showMS(l.to), "unsettled", l.again)
			readers.Go(l.walk)
		}
		err := readers.Wait()
		if err != nil || ctx.Err() != nil || len(parts) == 0 || !c.filters.now().Before {
			return err
		}
	}
	// No part of the list can be requested, so all of it is read, from the top.
	lowest := min(todo[0].from, todo[len(todo)-1].from)
	if n := len(places); n > 0 {
		lowest = min(lowest, places[n-1].From)
	}
	l := c.newListing(lowest, forever)
	l.top = top
	return l.walk(ctx)
}

// unsettled returns the places of unsettled calls that are below the window and not covered by the
// stretches of a run: newest first, and no more than a run relists.
func (c *Crawler) unsettled(ctx context.Context, todo []stretch) ([]calls.Place, error) {
	if c.cfg.Full || c.listIsBrief() {
		return nil, nil // they are listed anyway, or settled by their own records
	}
	now := c.nowMS()
	places, err := c.store.Unsettled(ctx, max(c.since, now-lookback.Milliseconds(), 0), todo[0].from, pageSize)
	if err != nil {
		return nil, &StoreError{"read the unsettled calls", err}
	}
	left := c.maxRelisted()
	return slices.DeleteFunc(places, func(p calls.Place) bool {
		listed := slices.ContainsFunc(todo, func(s stretch) bool { return s.from <= p.From && p.To <= s.to })
		if !listed {
			left -= pagesOf(p.Calls)
		}
		return listed || left < 0
	}), nil
}

// pagesOf returns the number of pages for a number of calls.
func pagesOf(calls int64) int64 { return max(1, (calls+pageSize-1)/pageSize) }

// showMS formats an instant for the log.
func showMS(ms int64) string {
	switch ms {
	case 0:
		return "the beginning"
	case forever:
		return "now"
	}
	return time.UnixMilli(ms).UTC().Format(time.RFC3339)
}
