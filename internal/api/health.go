package api

import (
	"context"
	"sync"
	"time"
)

// firstContact and firstContactTries limit the attempts to reach a service that has never answered:
// a wrong address should be noticed soon.
const (
	firstContact      = 15 * time.Second
	firstContactTries = 4
)

// health tracks whether the service works at all.
type health struct {
	mu       sync.Mutex
	began    time.Time
	lastGood time.Time
	firstBad time.Time // time of the first failure in the current row
	failures int       // failures in the current row
	heard    bool      // there was an answer, good or not
	worked   bool      // there was a good answer
	last     *RequestError
	blamed   time.Time // when a stream last ended because only its requests were refused
	sure     time.Time // when a request outside streams, or the probe, last had a good answer
	doubted  time.Time // when doubt last returned true
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

// steady records a good answer to a stream's request. It does not clear the failures of others.
func (h *health) steady() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.failures == 0 {
		h.lastGood = time.Now()
	}
}

// blame records that a stream ended because only its requests were refused, or that others are
// refused too.
func (h *health) blame(alone bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.blamed = (time.Time{}); alone {
		h.blamed = time.Now()
	}
}

// blames reports whether a stream's 429s are taken to be its own.
func (h *health) blames() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.blamed.IsZero() && time.Since(h.blamed) < blamed
}

// vouched records a good answer to the probe.
func (h *health) vouched() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sure = time.Now()
}

// goodSince reports whether a request outside streams had a good answer after t.
func (h *health) goodSince(t time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sure.After(t)
}

// doubt reports whether the key has not been in doubt for some time. A record that is always refused
// must not stop all requests again and again.
func (h *health) doubt() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	long := time.Since(h.doubted) >= keyGood
	if long {
		h.doubted = time.Now()
	}
	return long
}

// everWorked reports whether there ever was a good answer.
func (h *health) everWorked() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.worked
}

// bad counts a failed attempt. It returns the error that ends the run when the service counts as
// unreachable or down.
func (h *health) bad(ctx context.Context, f *RequestError, cfg *Config, base string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	if h.failures == 0 {
		h.firstBad = now
	}
	h.failures++
	h.last = f
	h.heard = h.heard || f.Status != 0
	if !h.heard && f.rule == untrusted {
		return &CertificateError{BaseURL: base, Err: f.Err}
	}
	if !h.heard {
		long := now.Sub(h.began) >= firstContact && h.failures > 1
		if f.rule.attempts(Page) == 1 || h.failures >= firstContactTries || long {
			return &UnreachableError{BaseURL: base, Tries: h.failures, Err: f.Err}
		}
	}
	if down := now.Sub(h.lastGood); h.failures >= cfg.DownFailures && down >= cfg.DownAfter {
		return &ServiceDownError{Failures: h.failures, For: down, Err: f}
	}
	return f.tooLong(ctx, cfg, h.failures, h.firstBad)
}

// tooLong returns the error that ends the run if it does not last as long as the wait that a failure
// asks for, the last of a row since a time; nil if it does.
func (f *RequestError) tooLong(ctx context.Context, cfg *Config, row int, since time.Time) error {
	now, patience := time.Now(), 2*cfg.DownAfter
	var wait time.Duration
	if f.rule.budget != nil {
		wait = f.wait
	}
	down := &ServiceDownError{Failures: row, For: now.Sub(since), Patience: patience, Wait: wait, Until: f.until, Err: f}
	if now.Add(wait).Sub(since) >= patience {
		return down
	}
	if end, limited := ctx.Deadline(); limited && wait > 0 && now.Add(wait).After(end) {
		down.AfterEnd = true
		return down
	}
	return nil
}

// failing returns the number of consecutive failed attempts.
func (h *health) failing() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.failures
}

// verdict returns the error of a run without any good answer.
func (h *health) verdict() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.worked || h.last == nil {
		return nil
	}
	return &ServiceDownError{Failures: h.failures, For: time.Since(h.lastGood), Err: h.last}
}

// outageAfter is the number of consecutive failures after which the service is probed.
const outageAfter = 5

// look is the result of the last probe: a request that always succeeds while the service works.
type look struct {
	at   time.Time // time of the answer
	down bool      // the first attempt failed
}

// outage reports whether an attempt failed because the whole service is down: many attempts failed
// in a row, and the probe fails too. It then returns only when the service is back; one caller
// probes for all, and no other request is sent meanwhile. The attempt does not count against its
// request: otherwise the current calls would be set aside, one after the other, through no fault of
// theirs.
//
// If only one request keeps failing, the probe succeeds at once, and the attempt counts.
//
// An error ends the run: the service has been down for too long.
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
		return last.down, nil // another caller has probed since
	}
	waits := pauses(2 * time.Second)
	for down := false; ; down = true {
		f := c.probe(ctx)
		if f == nil || !f.rule.outage {
			last = look{time.Now(), down}
			return down, nil
		}
		if err := c.health.bad(ctx, f, &c.cfg, c.base); err != nil {
			return true, err
		}
		wait := waits.NextBackOff()
		c.log.Info("the service is down", "failures", failures, "wait", wait, "failure", f)
		c.budget.hold(wait)
	}
}

// probe sends the probe; a second time if the answer may be a stray one. Its success does not show
// that the failing requests would work, so it does not count as a good answer.
func (c *Client) probe(ctx context.Context) *RequestError {
	send := func() *RequestError {
		f, _ := c.attempt(ctx, &c.cfg.Probe, false, nil, new(time.Duration)) // the clock was already checked
		return f
	}
	f := send()
	if f == nil || !c.stray(f) {
		return f
	}
	if f.rule.then[0] == stopKey {
		c.budget.hold(keyPause)
	}
	if err := sleep(ctx, strayPause); err != nil {
		return &RequestError{rule: canceled, Err: err}
	}
	return send()
}

// clockApart is the maximum difference between our clock and the service's.
const clockApart = 24 * time.Hour

// checkClock compares our clock with the first Date from the service, before anything is stored. A
// call seen at a wrong time would keep that time for ever, and the time decides whether a call is
// due, over or old. An answer that ends the run anyway, and may not be the service's, is ignored.
func (c *Client) checkClock(a *Answer, f *RequestError) error {
	if a.date.IsZero() {
		return nil
	}
	if f != nil && (f.rule.after(Page) == stopAddress || f.rule.after(Page) == stopKey) {
		return nil
	}
	if !c.clockSeen.CompareAndSwap(false, true) {
		return nil
	}
	c.cfg.Clock.heard(a.heard, a.date)
	if apart := a.heard.Sub(a.date).Abs(); apart <= clockApart {
		if apart > clockTolerance {
			c.log.Info("using the service's clock", "ours", a.heard.UTC(), "theirs", a.date)
		}
		return nil
	}
	err := &ClockError{Ours: a.heard, Theirs: a.date}
	if c.cfg.AnyClock {
		c.log.Warn("continuing with the service's clock", "error", err)
		return nil
	}
	return err
}
