package crawler

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// fetch asks for one thing until it has a good answer, or until the table of
// failures says that it is enough. accept looks into an answer, also into what
// there is of a page that was cut short, and says what is wrong with it. toEnd is
// for client.send.
//
// It returns the failure that it ended with, or an error that ends the run.
func (c *Crawler) fetch(ctx context.Context, k kind, address string, toEnd bool, accept func(answer) error) (*failure, error) {
	var waits backoff.BackOff
	for attempt, retry := 1, false; ; retry = true {
		t, err := c.budget.acquire(ctx)
		if err != nil {
			return &failure{class: canceled, err: err}, nil
		}
		c.meter.sent(k, retry)
		ans, f := c.client.send(ctx, address, toEnd, func() { c.budget.answered(t) })
		if err := c.checkClock(&ans, f); err != nil {
			ans.done()
			c.meter.ended(f)
			return f, err
		}
		if f == nil || k != detail && len(ans.body) > 0 {
			err := accept(ans)
			switch {
			case f != nil || err == nil:
			case errors.Is(err, errBroken):
				f = &failure{class: broken, status: ans.status, err: err}
			default:
				f = &failure{class: wrongBody, status: ans.status, err: err}
			}
		}
		ans.done()
		c.meter.ended(f)
		if f == nil {
			c.health.good()
			return nil, nil
		}
		if f.class == canceled {
			return f, nil
		}
		if err := c.health.bad(f, &c.cfg, c.client.base); err != nil {
			return f, err
		}
		c.log.Debug("attempt failed", "kind", k, "attempt", attempt, "failure", f)

		rule := &rules[f.class]
		limit := rule.attempts(k)
		if rule.budget != nil {
			rule.budget(c.budget, t, f.wait)
			if f.wait > 0 || f.class == rateLimited {
				c.log.Info("the service holds us back", "failure", rule.name, "wait", f.wait)
			}
		}
		if rule.outage {
			if down, err := c.outage(ctx); err != nil {
				return f, err
			} else if down {
				continue
			}
		}
		if err := ctx.Err(); err != nil {
			return &failure{class: canceled, err: err}, nil
		}
		if limit != always {
			if attempt >= limit {
				return f, nil
			}
			attempt++
		}
		if rule.first == 0 {
			continue
		}
		if waits == nil {
			waits = rule.waits()
		}
		if err := sleep(ctx, waits.NextBackOff()); err != nil {
			return &failure{class: canceled, err: err}, nil
		}
	}
}

// sleep waits, or returns ctx's error.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// health watches whether the service works at all.
type health struct {
	mu       sync.Mutex
	began    time.Time
	lastGood time.Time
	firstBad time.Time // since then
	failures int       // since then
	heard    bool      // something has answered, well or not
	worked   bool      // there was a good answer
	last     *failure
}

func newHealth() *health {
	now := time.Now()
	return &health{began: now, lastGood: now}
}

func (h *health) good() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lastGood, h.failures, h.heard, h.worked = time.Now(), 0, true, true
}

// everWorked says whether there ever was a good answer.
func (h *health) everWorked() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.worked
}

// bad counts a failed attempt. It returns the error that ends the run when the
// service is taken for unreachable or down.
func (h *health) bad(f *failure, cfg *Config, base string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	if h.failures == 0 {
		h.firstBad = now
	}
	h.failures++
	h.last = f
	h.heard = h.heard || f.status != 0
	if !h.heard {
		long := now.Sub(h.began) >= firstContact && h.failures > 1
		if f.class == untrusted || h.failures >= firstContactTries || long {
			return &UnreachableError{BaseURL: base, Tries: h.failures, Err: f.err}
		}
	}
	if down := now.Sub(h.lastGood); h.failures >= cfg.DownFailures && down >= cfg.DownAfter {
		return &ServiceDownError{Failures: h.failures, For: down, Err: f}
	}
	if patience := 2 * cfg.DownAfter; now.Add(f.wait).Sub(h.firstBad) >= patience {
		return &ServiceDownError{Failures: h.failures, For: now.Sub(h.lastGood), Wait: f.wait, Patience: patience, Err: f}
	}
	return nil
}

// verdict is the error of a run in which nothing ever worked.
func (h *health) verdict() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.worked || h.last == nil {
		return nil
	}
	return &ServiceDownError{Failures: h.failures, For: time.Since(h.lastGood), Err: h.last}
}
