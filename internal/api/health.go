package api

import (
	"context"
	"sync"
	"time"
)

// firstContact is how long, and how often, a service is tried that never
// answered: a wrong address should be noticed soon.
const (
	firstContact      = 15 * time.Second
	firstContactTries = 4
)

// health watches whether the service works at all.
type health struct {
	mu       sync.Mutex
	began    time.Time
	lastGood time.Time
	firstBad time.Time // since then
	failures int       // since then
	heard    bool      // something has answered, well or not
	worked   bool      // there was a good answer
	last     *RequestError
	blamed   time.Time // when a stream last ended since it alone was refused
	sure     time.Time // when a request of no stream, or the probe, last was answered well
}

func newHealth() *health {
	now := time.Now()
	return &health{began: now, lastGood: now}
}

func (h *health) good() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lastGood, h.failures, h.heard, h.worked = time.Now(), 0, true, true
	h.sure = h.lastGood
}

// steady notes a good answer to a stream's request. It takes back no failure of others.
func (h *health) steady() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.failures == 0 {
		h.lastGood = time.Now()
	}
}

// blame notes that a stream ended since it alone was refused, or that others are refused too.
func (h *health) blame(alone bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.blamed = (time.Time{}); alone {
		h.blamed = time.Now()
	}
}

// blames says whether the 429 of a stream is believed to be its own.
func (h *health) blames() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.blamed.IsZero() && time.Since(h.blamed) < blamed
}

// vouched notes that the probe was answered well.
func (h *health) vouched() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sure = time.Now()
}

// goodSince says whether a request of no stream was answered well after a time.
func (h *health) goodSince(t time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sure.After(t)
}

// everWorked says whether there ever was a good answer.
func (h *health) everWorked() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.worked
}

// bad counts a failed attempt. It returns the error that ends the run when the
// service is taken for unreachable or down.
func (h *health) bad(f *RequestError, cfg *Config, base string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	if h.failures == 0 {
		h.firstBad = now
	}
	h.failures++
	h.last = f
	h.heard = h.heard || f.Status != 0
	if !h.heard && f.class == untrusted {
		return &CertificateError{BaseURL: base, Err: f.Err}
	}
	if !h.heard {
		long := now.Sub(h.began) >= firstContact && h.failures > 1
		if f.rule().attempts(Page) == 1 || h.failures >= firstContactTries || long {
			return &UnreachableError{BaseURL: base, Tries: h.failures, Err: f.Err}
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

// failing says how many attempts have failed in a row.
func (h *health) failing() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.failures
}

// verdict returns the error of a run in which nothing ever worked.
func (h *health) verdict() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.worked || h.last == nil {
		return nil
	}
	return &ServiceDownError{Failures: h.failures, For: time.Since(h.lastGood), Err: h.last}
}

// outageAfter is how many attempts must fail in a row before we ask whether the
// service is down.
const outageAfter = 5

// look is what the last look at the service came to. To look means to send the
// probe: a request that the service answers while it works.
type look struct {
	at   time.Time // it answered then
	down bool      // but not at first
}

// outage says whether an attempt failed because the whole service is down: many
// failed in a row, and the probe fails too. Then it returns when the service is
// back; one request asks for all, and no other is sent meanwhile. The attempt is
// not held against its request: else the calls in hand would be set aside, one
// after the other, through no fault of theirs.
//
// A request that always fails is another matter: the probe is answered at once,
// and the attempt counts.
//
// An error ends the run: the service is down for too long.
func (c *Client) outage(ctx context.Context) (bool, error) {
	failures := c.health.failing()
	if failures < outageAfter {
		return false, nil
	}
	failed := time.Now()
	var last look
	select {
	case last = <-c.looks:
	case <-ctx.Done():
		return false, nil
	}
	defer func() { c.looks <- last }()
	if last.at.After(failed) {
		return last.down, nil // somebody else has looked since
	}
	waits := pauses(2 * time.Second)
	for down := false; ; down = true {
		f := c.probe(ctx)
		if f == nil || !f.rule().outage {
			last = look{time.Now(), down}
			return down, nil
		}
		if err := c.health.bad(f, &c.cfg, c.base); err != nil {
			return true, err
		}
		wait := waits.NextBackOff()
		c.log.Info("the service is down", "failures", failures, "wait", wait, "failure", f)
		c.budget.hold(wait)
	}
}

// probe sends the probe, once. A good answer says nothing of the requests that
// fail, so it does not count among the good ones.
func (c *Client) probe(ctx context.Context) *RequestError {
	f, _ := c.attempt(ctx, &c.cfg.Probe, false, nil, new(time.Duration)) // the clock was checked before
	return f
}

// clockApart is how far apart our clock and the service's may be.
const clockApart = 24 * time.Hour

// checkClock compares our clock with that of the first answer that has the
// service's, before anything is stored. A call that is seen at a wrong time would
// keep that time for ever, and it decides what is due, over or old. An answer that
// ends the run anyway, and may not be the service's, does not count.
func (c *Client) checkClock(a *Answer, f *RequestError) error {
	if a.date.IsZero() {
		return nil
	}
	if f != nil && (f.rule().after(Page) == stopAddress || f.rule().after(Page) == stopKey) {
		return nil
	}
	if !c.clockSeen.CompareAndSwap(false, true) {
		return nil
	}
	c.cfg.Clock.heard(a.heard, a.date)
	if apart := a.heard.Sub(a.date).Abs(); apart <= clockApart {
		if apart > clockTolerance {
			c.log.Info("going by the service's clock", "ours", a.heard.UTC(), "theirs", a.date)
		}
		return nil
	}
	err := &ClockError{Ours: a.heard, Theirs: a.date}
	if c.cfg.AnyClock {
		c.log.Warn("going on all the same, by the service's clock", "error", err)
		return nil
	}
	return err
}
