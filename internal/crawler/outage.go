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

// probe is a look at the service: the shortest page that there is.
type probe struct {
	until time.Time // what it found holds until then
	down  bool
}

// outage says whether an attempt failed because the whole service is down: many
// fail in a row, and the shortest page cannot be had either. Then all requests
// wait a while; the one that asks has not spent an attempt, since it would be
// the calls in hand that are set aside, one after the other, for nothing they did.
//
// A call, or a page, that always fails is another matter: there the probe is
// answered, and the attempt counts.
func (c *Crawler) outage(ctx context.Context) bool {
	failures, since := c.health.failing()
	if failures < outageAfter {
		return false
	}
	var last probe
	select {
	case last = <-c.probes:
	case <-ctx.Done():
		return false
	}
	defer func() { c.probes <- last }()
	if time.Now().Before(last.until) {
		return last.down
	}
	f := c.tryService(ctx)
	wait := min(max(time.Since(since)/outagePart, outageWait), outageMaxWait)
	last = probe{time.Now().Add(wait), f != nil && rules[f.class].outage}
	if last.down {
		c.log.Info("the service is down", "failures", failures, "wait", wait, "failure", f)
		c.budget.hold(wait)
	}
	return last.down
}

// tryService asks for one item of the list, once. A good answer says nothing of
// the requests that fail, so it does not count among the good ones.
func (c *Crawler) tryService(ctx context.Context) *failure {
	t, err := c.budget.acquire(ctx)
	if err != nil {
		return &failure{class: canceled, err: err}
	}
	c.meter.sent(page, false)
	_, f := c.client.send(ctx, c.client.base+"/v3/calls?limit=1", func() { c.budget.answered(t) })
	c.meter.ended(f)
	if f != nil && f.class == rateLimited {
		c.budget.limited(t, f.wait)
	}
	return f
}

// failing says how many attempts have failed in a row, and since when.
func (h *health) failing() (failures int, since time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.failures, h.lastGood
}
