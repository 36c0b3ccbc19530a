package crawler

import (
	"context"
	"time"

	"github.com/sourcegraph/conc/pool"
)

const (
	// firstRound is the maximum time for which a run lists before it first fetches the transcripts
	// of the listed calls, and the minimum time from the start of that round to the next. It
	// doubles with every further round, since each begins with a commit.
	firstRound = 20 * time.Second
	// listsFirst is how long the commit of the list waits for the lists of resources.
	listsFirst = 30 * time.Second
)

// crawl does all the work of a run except the last commit: it fetches data, and archives recordings
// meanwhile and after it.
func (c *Crawler) crawl(ctx context.Context) error {
	if c.recordings == nil {
		return c.fetchData(ctx)
	}
	over := newSignal()
	work := c.workers(ctx, 2)
	work.Go(func(ctx context.Context) error {
		if err := c.fetchData(ctx); err != nil {
			return err
		}
		if err := c.committed(ctx); err != nil { // so that the last recordings become due
			return err
		}
		over.Fire()
		c.meter.update(func(p *Report) { p.Phase = Archiving })
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

// fetchData fetches the list, the transcripts and the resources at the same time; the priority of
// each request decides which is sent. None of them waits for another to end, except for the data it
// needs: calls are listed and committed before their transcripts are fetched, and the first page is
// stored before everything else, since the store may refuse it.
func (c *Crawler) fetchData(ctx context.Context) error {
	c.meter.update(func(p *Report) { p.Phase = Listing })
	side, relisted := newSignal(), newSignal()
	again := false
	work := c.workers(ctx, 3)
	work.Go(func(ctx context.Context) (err error) {
		if err := c.sweep(ctx); err != nil || ctx.Err() != nil {
			return err
		}
		c.begun.Fire()
		side.Await(ctx, listsFirst)
		if err := c.committed(ctx); err != nil {
			return err
		}
		c.listed.Fire()
		c.newest.Fire()
		// New calls come first. Old parts of the list are relisted in the remaining time.
		again, err = c.relist(ctx)
		relisted.Fire()
		return err
	})
	work.Go(func(ctx context.Context) error {
		defer side.Fire()
		if len(c.cfg.Resources) == 0 || !c.begun.Await(ctx, 0) {
			return nil
		}
		if err := c.resources.lists(ctx); err != nil {
			return err
		}
		side.Fire()
		c.listed.Await(ctx, firstRound) // the commit then includes both
		if err := c.committed(ctx); err != nil {
			return err
		}
		return c.resources.parts(ctx)
	})
	work.Go(func(ctx context.Context) error {
		if err := c.rounds(ctx); err != nil || !relisted.Await(ctx, 0) {
			return err
		}
		return c.afterwards(ctx, again)
	})
	if err := work.Wait(); err != nil || ctx.Err() != nil {
		return err
	}
	return c.api.Verdict()
}

// workers returns a pool of n goroutines. The first error cancels the others' context.
func (c *Crawler) workers(ctx context.Context, n int) *pool.ContextPool {
	return pool.New().WithMaxGoroutines(n).WithContext(ctx).WithCancelOnError().WithFirstError()
}

// afterwards does what is left when everything is listed and fetched. again means that calls were
// listed again.
func (c *Crawler) afterwards(ctx context.Context, again bool) error {
	if again {
		if err := c.committed(ctx); err != nil {
			return err
		}
		if err := c.fetchDetails(ctx, true); err != nil {
			return err
		}
	}
	if c.cfg.ListOnly {
		return nil
	}
	if err := c.Fetch(ctx, c.cfg.CallIDs); err != nil || !c.bulk.refuted() {
		return err
	}
	if err := c.committed(ctx); err != nil {
		return err
	}
	return c.fetchAll(ctx, c.store.FromBulk(ctx), 0)
}

// committed commits the stored records. In a run that is being stopped, the last commit does that.
func (c *Crawler) committed(ctx context.Context) error {
	if err := c.checkpoint(ctx, true); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// rounds fetches the transcripts of the listed calls until all are fetched.
func (c *Crawler) rounds(ctx context.Context) error {
	if !c.begun.Await(ctx, 0) {
		return nil
	}
	c.newest.Await(ctx, firstRound)
	begun := time.Now()
	for pause := time.Duration(1); ; pause = max(firstRound, 2*pause) {
		last := c.listed.Await(ctx, max(pause-time.Since(begun), 1))
		begun = time.Now()
		if ctx.Err() != nil {
			return nil
		}
		if !last || pause > 1 { // the store's counts include what earlier rounds learned about kinds
			if err := c.committed(ctx); err != nil {
				return err
			}
		}
		if err := c.fetchDetails(ctx, last); err != nil || last {
			return err
		}
		c.meter.update(func(p *Report) { p.Phase = Listing })
	}
}
