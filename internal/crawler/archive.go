package crawler

import (
	"context"

	"callhouse/internal/api"
	"callhouse/internal/calls"
	"callhouse/internal/schema"
)

// renewals is the share of a night's requests that may renew links to recordings: a warehouse whose
// archive is enabled late has an expired link for each of its calls.
const renewals = 0.1

// beside crawls, and archives recordings during the crawl and after it.
func (c *Crawler) beside(ctx context.Context) error {
	if c.recordings == nil {
		return c.crawl(ctx)
	}
	over := newSignal()
	work := c.workers(ctx, 2)
	work.Go(func(ctx context.Context) error {
		if err := c.crawl(ctx); err != nil {
			return err
		}
		if err := c.committed(ctx); err != nil { // so that the last recordings become due
			return err
		}
		over.Fire()
		c.meter.update(func(p *Progress) { p.Phase = Archiving })
		return nil
	})
	work.Go(func(ctx context.Context) error {
		if !c.begun.Await(ctx, 0) {
			return nil
		}
		return c.recordings.run(ctx, over)
	})
	return work.Wait()
}

// ArchiveRecordings archives the recordings due as of each commit of the store until ctx is done;
// with once, only those due now. It does nothing else, and is for a crawler whose Run is not
// called.
func (c *Crawler) ArchiveRecordings(ctx context.Context, once bool) error {
	c.meter.update(func(p *Progress) { p.Phase = Archiving })
	c.listed.Fire() // it does not wait for a list
	over := newSignal()
	if once {
		over.Fire()
	}
	if err := c.recordings.run(ctx, over); err != nil {
		return err
	}
	return c.streams.remember(context.WithoutCancel(ctx))
}

// renewLink requests a call's record for its link, and stores it like any other record.
func (c *Crawler) renewLink(ctx context.Context, id string) (out renewal, err error) {
	s := c.streams.of("links to recordings", linksAllowance, nil)
	if s.idle() != "" || ctx.Err() != nil {
		return out, nil
	}
	f, failed, err := c.askRecord(ctx, id, api.Spare, s.Stream, func(call *calls.Call, rec schema.Record) error {
		out = renewal{Answered: true, Withheld: call.OptedOut()}
		if !out.Withheld {
			out.Link = string(call.Text("recording_url"))
		}
		return c.put(ctx, rec)
	})
	switch {
	case err != nil:
		return out, err
	case f == nil:
		c.meter.update(func(p *Progress) { p.DetailsFetched++ })
		return out, failed
	case f.Then == api.Missing && !f.Canceled():
		out.Answered = true
		c.meter.update(func(p *Progress) { p.Missing++ })
		return out, c.put(ctx, schema.Record{Kind: schema.KindMissing, CallID: id, FetchedAt: c.nowMS()})
	}
	c.log.Debug("no new link to a recording", "call", c.secrets.Clip(id, 200), "failure", f)
	return out, nil
}
