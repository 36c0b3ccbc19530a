package crawler

import (
	"context"
	"time"
)

// outageAfter is how many attempts must fail in a row before we ask whether the
// service is down.
const outageAfter = 5

// Between two looks at a service that is down we wait a part of the time that
// it has been down.
const (
	outageWait    = 2 * time.Second
	outageMaxWait = time.Minute
	outagePart    = 4
)

// probe is what the last look at the service came to. Looking means to ask for the
// shortest page that there is.
type probe struct {
	at   time.Time // it answered then
	down bool      // but not at first
}

// outage says whether an attempt failed because the whole service is down: many
// fail in a row, and the shortest page cannot be had either. Then it returns when
// the service is back; one request asks for all, and no other is sent meanwhile.
// The attempt is not held against its call: else the calls in hand would be set
// aside, one after the other, for nothing they did.
//
// A call, or a page, that always fails is another matter: there the look is
// answered at once, and the attempt counts.
//
// An error ends the run: the service is down for too long.
func (c *Crawler) outage(ctx context.Context) (bool, error) {
	failures, since := c.health.failing()
	if failures < outageAfter {
		return false, nil
	}
	failed := time.Now()
	var last probe
	select {
	case last = <-c.probes:
	case <-ctx.Done():
		return false, nil
	}
	defer func() { c.probes <- last }()
	if last.at.After(failed) {
		return last.down, nil // somebody else has looked since
	}
	for down := false; ; down = true {
		f := c.tryService(ctx)
		if f == nil || !rules[f.class].outage {
			last = probe{time.Now(), down}
			return down, nil
		}
		if err := c.health.bad(f, &c.cfg, c.client.base); err != nil {
			return true, err
		}
		wait := min(max(time.Since(since)/outagePart, outageWait), outageMaxWait)
		c.log.Info("the service is down", "failures", failures, "wait", wait, "failure", f)
		c.budget.hold(wait)
	}
}

// tryService asks for one item of the list, once. A good answer says nothing of
// the requests that fail, so it does not count among the good ones.
func (c *Crawler) tryService(ctx context.Context) *failure {
	t, err := c.budget.acquire(ctx)
	if err != nil {
		return &failure{class: canceled, err: err}
	}
	c.meter.sent(page, false)
	ans, f := c.client.send(ctx, c.client.base+"/v3/calls?limit=1", false, func() { c.budget.answered(t) })
	ans.done()
	c.meter.ended(f)
	if f != nil && rules[f.class].budget != nil {
		rules[f.class].budget(c.budget, t, f.wait)
	}
	return f
}

// failing says how many attempts have failed in a row, and since when.
func (h *health) failing() (failures int, since time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.failures, h.lastGood
}
