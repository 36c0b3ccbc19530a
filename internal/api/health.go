package api

import (
	"cmp"
	"context"
	"log/slog"
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
	lastGood time.Time // of a request outside streams
	firstBad time.Time // time of the first failure in the current row
	failures int       // failures in the current row
	heard    bool      // there was an answer, good or not
	worked   bool      // there was a good answer
	last     *RequestError
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

// goodSince reports whether a request outside streams had a good answer after t.
func (h *health) goodSince(t time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.worked && h.lastGood.After(t)
}

// everWorked reports whether there ever was a good answer.
func (h *health) everWorked() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.worked
}

// bad counts a failed attempt. It returns the error that ends the run when the service counts as
// unreachable or down, or the run does not last as long as the wait that the failure asks for.
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
	if !h.heard && f.rule == untrusted {
		return &CertificateError{BaseURL: base, Err: f.Err}
	}
	if !h.heard && !cfg.Known {
		long := now.Sub(h.began) >= firstContact && h.failures > 1
		if f.rule.attempts(Page) == 1 || h.failures >= firstContactTries || long {
			return &UnreachableError{BaseURL: base, Tries: h.failures, Err: f.Err}
		}
	}
	if down := now.Sub(h.lastGood); h.failures >= cfg.DownFailures && down >= cfg.DownAfter {
		return &ServiceDownError{Failures: h.failures, For: down, Err: f}
	}
	maxDown := 2 * cfg.DownAfter
	var wait time.Duration // that the failure asks for
	if f.rule.budget != nil {
		wait = f.wait
	}
	if now.Add(wait).Sub(h.firstBad) >= maxDown {
		return &ServiceDownError{Failures: h.failures, For: now.Sub(h.firstBad), MaxDown: maxDown, Wait: wait, Until: f.until, Err: f}
	}
	return nil
}

// failing returns the number of consecutive failed attempts.
func (h *health) failing() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.failures
}

// Failing returns for how long all attempts have failed, and the status of the last; 0: it had no answer.
func (c *Client) Failing() (d time.Duration, status int) {
	h := c.health
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.failures > 0 {
		d, status = time.Since(h.firstBad), h.last.Status
	}
	return d, status
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

// outageAfter is the number of consecutive failures after which the service is probed. If the probe
// fails too, the whole service is down, and attempts do not count against their requests: otherwise the
// current calls would be set aside, one after the other, through no fault of theirs. If only one request
// keeps failing, the probe succeeds at once, and the attempt counts.
const outageAfter = 5

// look is the result of the last probe: a request that always succeeds while the service works.
type look struct {
	at   time.Time // time of the answer
	down bool      // the first attempt failed
}

// verifyService reports whether the service works: whether it has given a good answer outside of streams
// since a time. If there was no such answer, it sends the probe; one caller probes for all. If that
// fails too, it waits until it succeeds, while no other request is sent, and returns false: the
// earlier failure may have been the service's fault. An error ends the run: the key is refused, or row
// shows that the service has been down for too long. A nil row counts only the probes of this call.
func (c *Client) verifyService(ctx context.Context, since time.Time, row *health) (bool, error) {
	row = cmp.Or(row, &health{lastGood: time.Now(), heard: true})
	var last look
	select {
	case last = <-c.looks:
	case <-ctx.Done():
		return false, nil
	}
	defer func() { c.looks <- last }()
	if last.at.After(since) {
		return !last.down, nil
	}
	if c.health.goodSince(since) {
		return true, nil
	}
	waits := pauses(2 * time.Second)
	for down := false; ; down = true {
		f := c.probe(ctx)
		switch {
		case f != nil && f.Canceled():
			return false, nil
		case f != nil && f.rule.after(Page) == stopKey:
			return false, c.consequence(ctx, &c.cfg.Probe, f, time.Now())
		case f == nil || !f.doubtful():
			last = look{time.Now(), down}
			return !down, nil
		}
		if err := row.bad(f, &c.cfg, c.base); err != nil {
			return false, err
		}
		if f.rule.outage {
			wait := waits.NextBackOff()
			level := slog.LevelInfo
			if !down {
				level = slog.LevelWarn // once an outage
			}
			c.log.Log(ctx, level, "the service is down", "wait", wait.Round(time.Second), "failure", f)
			c.budget.hold(max(f.pause(), wait))
		}
	}
}

// probe sends the probe; a second time if the answer may be a stray one. Its success does not show
// that the failing requests would work, so it does not count as a good answer.
func (c *Client) probe(ctx context.Context) *RequestError {
	send := func() *RequestError {
		_, f, _ := c.attempt(ctx, &c.cfg.Probe, false, nil) // the clock was already checked
		return f
	}
	f := send()
	if f == nil || !c.stray(f) {
		return f
	}
	if err := sleep(ctx, strayPause); err != nil {
		return &RequestError{rule: canceled, Err: err}
	}
	return send()
}

// maxSkew is the maximum difference between our clock and the service's.
const maxSkew = 24 * time.Hour

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
	c.cfg.Clock.heard(a.answeredAt, a.date)
	if skew := a.answeredAt.Sub(a.date).Abs(); skew <= maxSkew {
		if skew > clockTolerance {
			c.log.Info("using the service's clock", "ours", a.answeredAt.UTC(), "theirs", a.date)
		}
		return nil
	}
	err := &ClockError{Ours: a.answeredAt, Theirs: a.date}
	if c.cfg.AnyClock {
		c.log.Warn("continuing with the service's clock", "error", err)
		return nil
	}
	return err
}
