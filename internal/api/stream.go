package api

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Stream is an optional operation of a run, such as the list of another resource, or pages of v2.
// The answers to its requests affect no others: they neither hold them back nor end the run. The
// time and attempts that it may waste are limited; after that its requests fail without being sent.
// A Stream belongs to one run, and is safe for concurrent use.
type Stream struct {
	allow Allowance

	mu       sync.Mutex
	left     time.Duration
	failures int       // in a row
	rowBegan time.Time // when the first of them was sent
	used     bool      // it had a good answer
	off      *RequestError
}

// Allowance limits what a stream may waste.
type Allowance struct {
	Failures int           // in a row
	Time     time.Duration // on failures and the pauses after them
}

const (
	// streamHold is the maximum time for which a stream's first 429 in a row holds back all others.
	streamHold = 5 * time.Second
	// streamRefusals is the number of consecutive 429s that end a stream if others have good answers.
	streamRefusals = 3
	// maxUncounted is the maximum number of a request's failures that are attributed to the whole service.
	maxUncounted = 20
)

// NewStream returns the stream of an operation.
func NewStream(a Allowance) *Stream { return &Stream{allow: a, left: a.Time} }

// Over returns why the stream sends no more requests; nil if it does.
func (s *Stream) Over() *RequestError {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.off
}

// Used reports whether the stream had a good answer.
func (s *Stream) Used() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used
}

// End ends the stream for a reason found in its answers. An error other than a *RequestError must
// not repeat text from the service.
func (s *Stream) End(why error) {
	if _, ok := errors.AsType[*RequestError](why); !ok {
		why = ownWordsError(why.Error())
	}
	s.end(&RequestError{rule: spent, Err: why})
}

func (s *Stream) end(f *RequestError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.off = cmp.Or(s.off, f)
}

// over returns the failure of a request that is not sent; nil if it may be sent.
func (s *Stream) over() *RequestError {
	off := s.Over()
	if off == nil || off.rule == spent {
		return off
	}
	return &RequestError{rule: spent, Err: off}
}

// good counts a good answer.
func (s *Stream) good() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used, s.failures, s.left = true, 0, s.allow.Time
}

// spend deducts time from the allowance. last is the failure that wasted it.
func (s *Stream) spend(d time.Duration, last *RequestError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left -= d; s.left <= 0 {
		s.off = cmp.Or(s.off, last)
	}
}

// failed counts a failure.
func (s *Stream) failed(began time.Time, took time.Duration, f *RequestError) {
	s.spend(took, f)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failures++; s.failures == 1 {
		s.rowBegan = began
	}
	if s.failures >= s.allow.Failures {
		s.off = cmp.Or(s.off, f)
	}
}

// row returns the number of consecutive failures, and when the first of them was sent.
func (s *Stream) row() (failures int, began time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failures, s.rowBegan
}

// allows reports whether there is time for a pause.
func (s *Stream) allows(pause time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return pause < s.left
}

// heldBack reports a failure to the budget, and returns how long all requests are held back. For a
// stream's failures, it is nonzero only after a 429 that may concern all requests: the first in a row,
// unless an earlier stream ended because only its requests were refused.
func (c *Client) heldBack(s *Stream, t *ticket, f *RequestError) time.Duration {
	if s == nil {
		if f.rule == rateLimited {
			c.limitsOne.Store(false)
		}
		return f.rule.budget(c.budget, t, f.pause())
	}
	if row, _ := s.row(); f.rule != rateLimited || row > 0 || c.limitsOne.Load() {
		return 0
	}
	return c.budget.limited(t, min(f.pause(), streamHold))
}

// doubtful reports whether the whole service, rather than the request, may have caused a failure.
func (f *RequestError) doubtful() bool { return f.rule == rateLimited || f.rule.outage }

// tries is the number of attempts for a request of a stream.
func (c *Client) tries(f *RequestError, k Kind) int {
	switch {
	case f.rule == rateLimited:
		return streamRefusals
	case c.stray(f):
		return 2
	}
	return f.rule.attempts(k)
}

// optional is Do for a request of a stream.
func (c *Client) optional(ctx context.Context, r *Request, accept func(*Answer) error) (*RequestError, error) {
	var waits backoff.BackOff
	s, uncounted := r.Stream, 0
	for attempt, retry := 1, false; ; attempt, retry = attempt+1, true {
		if f := s.over(); f != nil {
			return f, nil
		}
		began := time.Now()
		took, f, err := c.attempt(ctx, r, retry, accept)
		switch {
		case err != nil, f != nil && f.Canceled():
			return f, err
		case f == nil:
			s.good()
			return nil, nil
		}
		c.log.Debug("attempt failed", "kind", r.Kind, "attempt", attempt, "failure", f)
		if waits == nil {
			waits = pauses(max(f.rule.pause, time.Second))
		}
		pause := max(f.pause(), waits.NextBackOff())
		last := attempt >= c.tries(f, r.Kind) || !s.allows(pause)
		if works, err := c.answersOthers(ctx, s, f, began, last); err != nil {
			return f, err
		} else if !works && uncounted < maxUncounted {
			uncounted, attempt = uncounted+1, attempt-1
			continue
		}
		if f.rule == notFound { // a valid answer
			s.good()
		} else {
			s.failed(began, took, f)
		}
		if last || s.Over() != nil {
			if f.rule == rateLimited || !s.allows(pause) {
				s.end(f)
				c.limitsOne.Store(c.limitsOne.Load() || f.rule == rateLimited)
			}
			_, since := s.row()
			return f, c.consequence(ctx, r, f, since)
		}
		s.spend(pause, f)
		if err := sleep(ctx, pause); err != nil {
			return &RequestError{rule: canceled, Err: err}, nil
		}
	}
}

// answersOthers reports whether a failure is the stream's, because the service answers other requests.
// The first one in a row is presumed to be, unless it has a consequence.
func (c *Client) answersOthers(ctx context.Context, s *Stream, f *RequestError, began time.Time, last bool) (bool, error) {
	row, since := s.row()
	if !f.doubtful() || row == 0 && !last {
		return true, nil
	}
	if row == 0 {
		since = began
	}
	if f.rule == rateLimited { // others may have been refused until now
		since = time.Now()
	}
	return c.verifyService(ctx, since, nil)
}
