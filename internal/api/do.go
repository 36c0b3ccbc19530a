package api

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Do sends a request until there is a good answer, or until the table of failures ends the
// attempts. accept checks a good answer and returns an error if it is wrong.
//
// An answer that may not be the service's is requested again, and is not an attempt: see origin.
//
// Do returns the failure that it ended with, or an error that ends the run.
func (c *Client) Do(ctx context.Context, r Request, accept func(*Answer) error) (*RequestError, error) {
	if r.Stream != nil {
		return c.optional(ctx, &r, accept)
	}
	var waits backoff.BackOff
	stray := false // the last answer may have been
	for attempt, retry := 1, false; ; retry = true {
		began := time.Now()
		_, f, err := c.attempt(ctx, &r, retry, accept)
		switch {
		case err != nil:
			return f, err
		case f == nil:
			c.health.good()
			return nil, nil
		case f.Canceled():
			return f, nil
		}
		if err := c.health.bad(f, &c.cfg, c.base); err != nil {
			return f, err
		}
		c.log.Debug("attempt failed", "kind", r.Kind, "attempt", attempt, "failure", f)
		rule := f.rule
		if rule.outage && c.health.failing() >= outageAfter {
			if works, err := c.verifyService(ctx, time.Now(), c.health); err != nil {
				return f, err
			} else if !works {
				continue
			}
		}
		if err := ctx.Err(); err != nil {
			return &RequestError{rule: canceled, Err: err}, nil
		}
		again := c.stray(f) && !stray
		stray = again
		tries := rule.attempts(r.Kind)
		switch {
		case tries == always:
		case f.wait >= 2*c.cfg.DownAfter, !again && attempt >= tries:
			return f, c.consequence(ctx, &r, f, began)
		case again:
			if err := sleep(ctx, max(strayPause, f.pause())); err != nil {
				return &RequestError{rule: canceled, Err: err}, nil
			}
			continue
		default:
			attempt++
		}
		// Nothing else proceeds while a page is awaited. So if the service did answer, the page is
		// requested again at once.
		if err := f.rest(ctx, &waits, attempt == 2 && !r.Kind.deferrable()); err != nil {
			return &RequestError{rule: canceled, Err: err}, nil
		}
	}
}

// Once sends a request a single time. Every failure is an error: the one that would end a run, or
// else the *RequestError.
func (c *Client) Once(ctx context.Context, r Request, accept func(*Answer) error) error {
	_, f, err := c.attempt(ctx, &r, false, accept)
	switch {
	case err != nil || f == nil:
		return err
	case f.Canceled():
		return ctx.Err()
	case f.rule == untrusted:
		return &CertificateError{BaseURL: c.base, Err: f.Err}
	case f.Status == 0:
		return &UnreachableError{BaseURL: c.base, Tries: 1, Err: f.Err}
	}
	if err := c.consequence(ctx, &r, f, time.Now()); err != nil {
		return err
	}
	return f
}

// rest pauses before the next attempt, unless it is to be made at once and the service did answer.
func (f *RequestError) rest(ctx context.Context, waits *backoff.BackOff, atOnce bool) error {
	if f.rule.pause == 0 || atOnce && f.Status != 0 && f.wait == 0 {
		return nil
	}
	if *waits == nil {
		*waits = pauses(f.rule.pause)
	}
	return sleep(ctx, max((*waits).NextBackOff(), f.pause()))
}

// attempt sends a request once. took is its duration from the moment at which it may be sent.
func (c *Client) attempt(ctx context.Context, r *Request, retry bool, accept func(*Answer) error,
) (took time.Duration, _ *RequestError, _ error) {
	t, err := c.budget.acquire(ctx, r.Priority)
	if err != nil {
		return 0, &RequestError{rule: canceled, Err: err}, nil
	}
	c.counter.sent(r.Kind, retry)
	began := time.Now()
	a, f := c.send(ctx, r, func() { c.budget.answer(t) })
	took = time.Since(began)
	defer a.done()
	err = c.checkClock(&a, f)
	a.At = c.cfg.Clock.At(a.At)
	if err == nil && accept != nil && f == nil {
		if wrong := accept(&a); wrong != nil {
			if f = (&RequestError{rule: wrongBody, Status: a.Status, Err: wrong}); errors.Is(wrong, ErrBroken) {
				f.rule = broken
			}
		}
	}
	c.counter.ended(f)
	if f != nil && f.rule.budget != nil {
		if wait := c.heldBack(r.Stream, t, f); wait > 0 {
			c.log.Info("rate limited by the service", "failure", f, "wait", wait.Round(time.Second))
		}
	}
	return took, f, err
}

// stray reports whether a failure may be the answer of another server than the service, which has
// accepted the key before.
func (c *Client) stray(f *RequestError) bool {
	return (f.rule.stray == unclear || f.rule.stray == foreign && !f.contract) && c.health.everWorked()
}

// consequence returns the consequence of a failure that is not retried, of an attempt that began at a
// time. Its error ends the run.
func (c *Client) consequence(ctx context.Context, r *Request, f *RequestError, began time.Time) error {
	f.Then, f.CursorLost = f.rule.after(r.Kind), f.rule.cursor
	instead := SetAside
	if !r.Kind.deferrable() {
		instead = EndList
	}
	switch then := f.Then; {
	case then == stopKey && r.Stream == nil:
		return &AuthError{Status: f.Status, Code: f.code, Message: f.message, KeySource: c.cfg.KeySource}
	case then == stopKey, then == askList:
		// A refused key stops the run. One refused record, or optional list, must not stop it every night.
		f.Then = instead
		_, err := c.verifyService(ctx, began, nil)
		return err
	case then == stopAddress && r.Stream == nil && !c.health.everWorked():
		if f.contract && f.code != "" { // whoever answers like this is the service
			return &ServiceDownError{Err: fmt.Errorf("%s: %w", r.Path, f)}
		}
		return &AddressError{BaseURL: c.base, Path: r.Path, Status: f.Status, Target: f.target, Err: f.Err}
	case then == stopAddress:
		f.Then = instead
	case then == Missing && !f.contract:
		// Only an error in the contract's own form is about this record. Any other may come from a
		// proxy without the route.
		f.Then = SetAside
	case then == Missing && r.Stream == nil:
		c.health.good()
	}
	return nil
}

// sleep waits, or returns ctx's error if it is done first.
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
