package crawler

import (
	"context"
	"sync"
	"time"

	"github.com/sourcegraph/conc/pool"
)

const (
	// firstRound is how long a run lists before it first fetches the transcripts of what it has
	// listed. The time doubles with every further round, since each begins with a commit.
	firstRound = time.Minute
	// listsFirst is how long the commit of the list waits for the lists of resources.
	listsFirst = 30 * time.Second
)

// signal is an event that goroutines wait for.
type signal struct {
	once *sync.Once
	done chan struct{}
}

func newSignal() signal { return signal{new(sync.Once), make(chan struct{})} }

func (s signal) fire() { s.once.Do(func() { close(s.done) }) }

// await waits for the event, and returns false if ctx is done or the time is over; zero: no limit.
func (s signal) await(ctx context.Context, limit time.Duration) bool {
	var over <-chan time.Time
	if limit > 0 {
		over = time.After(limit)
	}
	select {
	case <-s.done:
		return true
	case <-over:
	case <-ctx.Done():
	}
	return false
}

// crawl does all the work of a run except the last commit. The list, the transcripts and the
// resources are fetched at the same time; the priority of each request decides which is sent. None
// of them waits for another that does not end, except for what it needs: calls are listed and
// committed before their transcripts are fetched, and the first page is stored before all else,
// since the store may refuse it.
func (c *Crawler) crawl(ctx context.Context) error {
	c.meter.update(func(p *Progress) { p.Phase = Listing })
	side, relisted := newSignal(), newSignal()
	again := false
	work := pool.New().WithContext(ctx).WithCancelOnError().WithFirstError()
	work.Go(func(ctx context.Context) (err error) {
		interrupted, err := c.sweep(ctx)
		if err != nil || interrupted {
			return err
		}
		c.begun.fire()
		side.await(ctx, listsFirst)
		if err := c.committed(ctx); err != nil {
			return err
		}
		c.listed.fire()
		c.newest.fire()
		// New calls come first. Old parts of the list are listed again in the remaining time.
		again, err = c.relist(ctx)
		relisted.fire()
		return err
	})
	work.Go(func(ctx context.Context) error {
		defer side.fire()
		if len(c.cfg.Resources) == 0 || !c.begun.await(ctx, 0) {
			return nil
		}
		if err := c.resources.Lists(ctx); err != nil {
			return err
		}
		side.fire()
		c.listed.await(ctx, firstRound) // it commits both
		if err := c.committed(ctx); err != nil {
			return err
		}
		if err := c.resources.Parts(ctx); err != nil {
			return err
		}
		return c.resources.Lasting(ctx)
	})
	work.Go(func(ctx context.Context) error {
		if err := c.rounds(ctx); err != nil || !relisted.await(ctx, 0) || !again {
			return err
		}
		if err := c.committed(ctx); err != nil {
			return err
		}
		return c.fetchDetails(ctx, true)
	})
	if err := work.Wait(); err != nil || ctx.Err() != nil {
		return err
	}
	return c.api.Verdict()
}

// committed commits what was put. In a run that is being stopped, the last commit does that.
func (c *Crawler) committed(ctx context.Context) error {
	if err := c.checkpoint(ctx, true); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// rounds fetches the transcripts of what is listed, until all is.
func (c *Crawler) rounds(ctx context.Context) error {
	if !c.begun.await(ctx, 0) {
		return nil
	}
	c.newest.await(ctx, firstRound)
	for pause := time.Duration(1); ; pause = max(firstRound, 2*pause) {
		last := c.listed.await(ctx, pause)
		if ctx.Err() != nil {
			return nil
		}
		if !last {
			if err := c.committed(ctx); err != nil {
				return err
			}
		}
		if err := c.fetchDetails(ctx, last); err != nil || last {
			return err
		}
		c.meter.update(func(p *Progress) { p.Phase = Listing })
	}
}
