package crawler

import (
	"context"
	"time"

	"callhouse/internal/calls"
)

// A crawler that follows the service does not call Run. It repeatedly polls the newest part of the
// list and fetches the records that become due; its caller commits in between. Its store yields due
// calls before they are committed.

// Poll stores the newest page of the list, the first time that of Begin, and further ones down to
// from, in ms: calls that started earlier are known. The error is one of package api or of the store.
// If a page fails, the error is the *api.RequestError. reached is false if the list did not get down
// to from.
func (c *Crawler) Poll(ctx context.Context, from int64) (reached bool, err error) {
	c.meter.update(func(p *Progress) { p.Phase = Listing })
	top := c.top
	if c.top = nil; top == nil {
		if top, err = c.ask(ctx, query{bounds: bounds{Sorted: true, Before: forever}}); err != nil {
			return false, err
		}
	}
	if top.failure != nil {
		return false, top.failure
	}
	l := c.newListing(from, forever)
	l.top = top
	_, err = l.walk(ctx)
	return l.covered <= from, err
}

// FetchDue fetches the due records that were not requested before, and starts none after limit.
// Less urgent work is left to nightly runs: probes, and kinds of calls that turn out to have
// transcripts.
func (c *Crawler) FetchDue(ctx context.Context, limit time.Duration) error {
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
	return c.fetchAll(ctx, c.store.Due(ctx, scope), limit)
}

// Fetch fetches the records of some calls, even if they are not due.
func (c *Crawler) Fetch(ctx context.Context, ids []string) error {
	return c.fetchAll(ctx, func(yield func(calls.Due, error) bool) {
		for _, id := range ids {
			if !yield(calls.Due{CallID: id, AskAt: c.nowMS() + 1}, nil) {
				return
			}
		}
	}, 0)
}

// Close ends a crawler whose Run is not called.
func (c *Crawler) Close() { c.api.Close() }
