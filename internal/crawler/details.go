package crawler

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync/atomic"
	"time"

	"callhouse/internal/api"
	"callhouse/internal/calls"
	"callhouse/internal/schema"
	"callhouse/internal/wire/scan"
)

var errOtherCall = errors.New("the record of another call")

// fetchDetails fetches the due details. If this makes more calls due, it fetches those, too. While
// calls are still being listed, those that pages of v2 did not supply are left to a later round:
// more of them may then share a page.
func (c *Crawler) fetchDetails(ctx context.Context, last bool) error {
	if c.cfg.ListOnly {
		return nil
	}
	if !c.listIsBrief() {
		if used, err := c.bulk.transcripts(ctx); err != nil || used && !last {
			return err
		}
	}
	scope := c.scope()
	if scope == calls.DueUnsettled {
		c.log.Info("the list contains neither analyses nor costs: calls are settled by their records")
	}
	for {
		if err := c.learn(ctx); err != nil {
			return err
		}
		c.meter.update(func(p *Report) {
			p.Phase, p.DetailsTotal = Details, p.DetailsDone()+c.store.DueCount(scope)
		})
		if err := c.fetchAll(ctx, c.store.Due(ctx, scope), 0); err != nil || ctx.Err() != nil {
			return err
		}
		if !c.skips.turned() {
			return nil
		}
		c.log.Info("a record of a kind without transcripts has one: records of this kind are fetched from now on")
		scope = calls.DueTranscripts
		if err := c.checkpoint(ctx, true); err != nil {
			return err
		}
	}
}

// scope returns which calls' records a run fetches, judging by the list so far.
func (c *Crawler) scope() calls.DueScope {
	switch {
	case c.listIsBrief():
		return calls.DueUnsettled
	case c.cfg.Full:
		return calls.DueAll
	}
	return calls.DueTranscripts
}

// fetchAll fetches the details of calls in their order, many at a time, and starts none after limit, unless
// that is zero. The calls are never all in memory: the pool takes the next one when a worker is free.
func (c *Crawler) fetchAll(ctx context.Context, dues iter.Seq2[calls.Due, error], limit time.Duration) error {
	var stopping atomic.Bool // the loop's own context does not show errors
	begun := time.Now()
	workers := c.workers(ctx, c.cfg.Workers)
	for due, err := range dues {
		if err != nil {
			if ctx.Err() == nil {
				workers.Go(func(context.Context) error { return &StoreError{"read the calls that are due", err} })
			}
			break
		}
		if ctx.Err() != nil || stopping.Load() || limit > 0 && time.Since(begun) > limit {
			break
		}
		switch c.decide(&due) {
		case leave:
			continue
		case skip:
			if err := c.passOver(ctx, due.CallID); err != nil {
				workers.Go(func(context.Context) error { return err })
				stopping.Store(true)
			}
			continue
		}
		c.skips.once(due.CallID, c.nowMS())
		priority := api.Recent
		if due.StartAt.OK && due.StartAt.V < c.windowFrom() { // the list goes before the records of older calls
			priority = api.Backlog
		}
		workers.Go(func(ctx context.Context) error {
			_, err := c.fetchRecord(ctx, &due, priority, nil, func(call *calls.Call, rec schema.Record) error {
				c.skips.note(call, c.nowMS())
				return c.put(ctx, rec)
			})
			if err != nil {
				stopping.Store(true)
			}
			return err
		})
		if err := c.offerCheckpoint(ctx); err != nil {
			workers.Go(func(context.Context) error { return err })
			break
		}
	}
	return errors.Join(workers.Wait(), c.passOver(ctx))
}

// windowFrom returns the start of the newest part of the list, in ms.
func (c *Crawler) windowFrom() int64 { return c.nowMS() - c.cfg.Window.Milliseconds() }

// fetchRecord fetches one call's record, which take stores. A failure is set aside, unless the request
// belongs to a stream. answered reports that the record came, or does not exist. It returns only
// errors that end the run.
func (c *Crawler) fetchRecord(ctx context.Context, due *calls.Due, p api.Priority, s *api.Stream,
	take func(*calls.Call, schema.Record) error) (answered bool, _ error) {
	id := due.CallID
	if id == "" {
		c.meter.setAside(id, "no id")
		return false, nil
	}
	if ctx.Err() != nil {
		return false, nil
	}
	var failed error // of take
	r := api.Request{Path: callsPath + "/" + api.Segment(id), Kind: api.Record, Priority: p, Stream: s}
	f, err := c.api.Do(ctx, r, func(a *api.Answer) error {
		r := c.reader()
		defer c.readers.Put(r)
		if err := c.decode(r, a.Body, schema.KindDetail); err != nil {
			return err
		}
		call := &r.call
		if is := string(call.ID()); is != id {
			return fmt.Errorf("%w: %q", errOtherCall, c.secrets.Clip(is, 80))
		}
		failed = take(call, schema.Record{Kind: schema.KindDetail, CallID: id, FetchedAt: a.At.UnixMilli(), Body: a.Body,
			Start: call.StartAt(), Started: call.CarriesStart()})
		return nil
	})
	switch {
	case err != nil:
		return false, err
	case f == nil:
		c.meter.update(func(p *Report) { p.DetailsFetched++ })
		return true, failed
	case f.Canceled():
		return false, nil
	case f.Then == api.Missing:
		c.meter.update(func(p *Report) { p.Missing++ })
		return true, c.put(ctx, schema.Record{Kind: schema.KindMissing, CallID: id, FetchedAt: c.nowMS()})
	case s != nil:
		c.log.Debug("record not fetched", "call", c.secrets.Clip(id, 200), "failure", f)
		return false, nil
	case unreadable(f):
		if err := c.put(ctx, schema.Record{Kind: schema.KindUnreadable, CallID: id, FetchedAt: c.nowMS()}); err != nil {
			return false, err
		}
		if due.Again && c.nowMS() >= due.Final {
			c.log.Warn("a record cannot be read and is no longer requested; extract import takes it from a file, up to 64 MiB",
				"call", c.secrets.Clip(id, 200), "failure", f)
			return false, nil
		}
	}
	c.log.Warn("call set aside", "call", c.secrets.Clip(id, 200), "failure", f)
	c.meter.setAside(id, f.Error())
	return false, nil
}

// unreadable reports whether a failure will probably be the same every time: the record is too large,
// is an object that cannot be decoded, or is another call's.
func unreadable(f *api.RequestError) bool {
	var syntax *scan.Error
	return f.TooLarge() || errors.Is(f, errOtherCall) || errors.As(f, &syntax) && syntax.Offset > 0
}
