package api

import (
	"context"
	"time"
)

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
	if err := c.conclude(ctx, &r, f); err != nil {
		return err
	}
	return f
}

// Wait returns how long the service asks to wait; 0: unspecified.
func (f *RequestError) Wait() time.Duration { return f.wait }

// pause is Wait by a clock that may run faster than the service's.
func (f *RequestError) pause() time.Duration {
	if f.wait == 0 {
		return 0
	}
	return f.wait + margin(f.wait)
}
