package crawler

import (
	"context"
	"time"

	"callhouse/internal/api"
	"callhouse/internal/calls"
	"callhouse/internal/crawler/params"
	"callhouse/internal/schema"
)

// A crawler that follows the service does not Run. It polls the newest part of the list, and fetches
// the records that this makes due, again and again; its caller commits in between.

// Poll stores the newest page of the list, and further ones down to from, in ms: what started before
// is known. The error is one of package api, of the store, or that of Config.Ready. If a page fails,
// the error is the *api.RequestError. reached is false if the list did not come down to from.
func (c *Crawler) Poll(ctx context.Context, from int64) (reached bool, err error) {
	c.meter.update(func(p *Progress) { p.Phase = Listing })
	top, err := c.ask(ctx, query{Query: params.Query{Sorted: true, Before: forever}})
	switch {
	case err != nil:
		return false, err
	case top.failure != nil:
		return false, top.failure
	case c.cfg.Ready != nil:
		if err := c.cfg.Ready(ctx); err != nil {
			return false, err
		}
		c.cfg.Ready = nil
		c.meter.update(func(*Progress) { c.meter.start = time.Now() })
	}
	l := c.newListing(from, forever, from)
	l.top = top
	if p := c.polled; p != nil && p.inOrder() { // it need not be proven again
		l.ordered = p.ordered
	}
	_, err = l.walk(ctx)
	c.polled = l
	return l.covered <= from, err
}

// FetchDue fetches the records that are due as of the last commit and were not requested before. It
// leaves to nightly runs what can wait: probes, and kinds of calls that turn out to have
// transcripts.
func (c *Crawler) FetchDue(ctx context.Context) error {
	if c.cfg.ListOnly {
		return nil
	}
	if c.skips.kinds == nil {
		if err := c.learn(ctx); err != nil {
			return err
		}
	}
	scope := c.scope()
	if scope == calls.DueTranscripts {
		scope = calls.DueWaiting
	}
	return c.fetchDue(ctx, scope)
}

// Fetch fetches and stores one call's record.
func (c *Crawler) Fetch(ctx context.Context, id string) error {
	c.skips.once(id, c.nowMS())
	return c.fetchDetail(ctx, id, api.Recent, nil, func(call *calls.Call, rec schema.Record) error {
		c.skips.note(call, c.nowMS())
		return c.put(ctx, rec)
	})
}

// Close ends a crawler that does not Run.
func (c *Crawler) Close() { c.api.Close() }
