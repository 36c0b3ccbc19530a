package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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
	group *Stream // shares its time with other streams; nil: no sharing

	mu       sync.Mutex
	left     time.Duration
	failures int       // in a row
	rowBegan time.Time // when the first of them was sent
	limited  bool      // its 429s are its own: others had good answers after the last one
	excused  int       // failures attributed to the whole service
	used     bool      // it had a good answer
	off      *RequestError
}

// Allowance limits what a stream may waste.
type Allowance struct {
	Failures int           // in a row
	Time     time.Duration // on failures, the pauses after them, and slow answers
	Slow     time.Duration // a good answer that takes longer is slow
}

const (
	// streamHold is the maximum time for which a 429 to a stream's request holds back all others,
	// until it is known whether they are refused as well.
	streamHold = 5 * time.Second
	// streamRefusals is the number of consecutive 429s that end a stream if others have good
	// answers.
	streamRefusals = 3
	// keyGood is how long a key counts as accepted after a good answer.
	keyGood = time.Minute
	// blamed is how long other streams' 429s also count as their own after a stream ended because
	// only its requests were refused, unless a request outside streams is refused.
	blamed = 10 * time.Minute
	// mostExcused is the maximum number of a stream's failures that are attributed to the whole
	// service.
	mostExcused = 20
)

// NewStream returns the stream of an operation. Streams of the same group share their time; a nil
// group shares nothing.
func NewStream(a Allowance, group *Stream) *Stream {
	return &Stream{allow: a, group: group, left: a.Time}
}

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
	if off == nil && s.group != nil {
		off = s.group.Over()
	}
	if off == nil || off.rule == spent {
		return off
	}
	return &RequestError{rule: spent, Err: off}
}

// good counts a good answer.
func (s *Stream) good(took time.Duration) {
	s.mu.Lock()
	s.used, s.limited, s.failures = true, false, 0
	slow := took > s.allow.Slow
	if !slow {
		s.left = s.allow.Time
	}
	s.mu.Unlock()
	if slow {
		slow := ownWordsError(fmt.Sprintf("responses are too slow, the last took %v", took.Round(time.Second)))
		s.spend(took, &RequestError{rule: spent, Err: slow})
	}
}

// spend deducts time from the allowance. last is the failure that wasted it.
func (s *Stream) spend(d time.Duration, last *RequestError) {
	s.mu.Lock()
	if s.left -= d; s.left <= 0 {
		s.off = cmp.Or(s.off, last)
	}
	s.mu.Unlock()
	if s.group != nil {
		s.group.spend(d, &RequestError{rule: spent,
			Err: fmt.Errorf("requests of this kind cost too much time, the last failed with: %w", last)})
	}
}

// failed counts a failure, with its beginning and duration. It returns the number of failures in a
// row, and when the first of them began.
func (s *Stream) failed(began time.Time, took time.Duration, f *RequestError) (row int, first time.Time) {
	s.spend(took, f)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failures++; s.failures == 1 {
		s.rowBegan = began
	}
	if s.failures >= s.allow.Failures {
		s.off = cmp.Or(s.off, f)
	}
	return s.failures, s.rowBegan
}

// excuse takes back a failure that is attributed to the whole service.
func (s *Stream) excuse(took time.Duration, f *RequestError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.excused++; s.excused > mostExcused {
		return
	}
	s.failures = max(0, s.failures-1)
	s.left = min(s.allow.Time, s.left+took)
	if s.off == f {
		s.off = nil
	}
}

// allows reports whether there is time for a pause.
func (s *Stream) allows(pause time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return pause < s.left
}

// patience is the maximum duration of an attempt.
func (s *Stream) patience() time.Duration {
	if s == nil {
		return requestTimeout
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return min(requestTimeout, max(s.left, headerTimeout/2))
}

// heldBack reports a failure to the budget, and returns how long all requests are held back. For a
// stream's failures, it is nonzero only after a 429 that may concern all requests.
func (c *Client) heldBack(s *Stream, t *ticket, f *RequestError) time.Duration {
	switch {
	case s == nil && f.rule == rateLimited:
		c.health.blame(false)
		fallthrough
	case s == nil:
		return f.rule.budget(c.budget, t, f.pause())
	case f.rule != rateLimited || c.health.blames():
		return 0
	}
	s.mu.Lock()
	limited := s.limited
	s.mu.Unlock()
	if limited {
		return 0
	}
	return c.budget.limited(t, min(f.pause(), streamHold))
}

// doubtful reports whether the whole service, rather than the stream, may have caused a failure.
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
	for attempt, retry := 1, false; ; attempt, retry = attempt+1, true {
		if f := r.Stream.over(); f != nil {
			return f, nil
		}
		var took time.Duration
		began := time.Now()
		f, err := c.attempt(ctx, r, retry, accept, &took)
		switch {
		case err != nil, f != nil && f.Canceled():
			return f, err
		case f == nil:
			r.Stream.good(took)
			c.health.steady()
			return nil, nil
		}
		c.log.Debug("attempt failed", "kind", r.Kind, "attempt", attempt, "failure", f)
		if waits == nil {
			waits = pauses(max(f.rule.pause, time.Second))
		}
		pause := max(f.pause(), waits.NextBackOff())
		last := attempt >= c.tries(f, r.Kind) || !r.Stream.allows(pause)
		guilty, err := c.guilty(ctx, r.Stream, f, began, took, last)
		switch {
		case err != nil:
			return f, err
		case !guilty:
			attempt--
			continue
		case last || r.Stream.Over() != nil:
			if f.rule == rateLimited || !r.Stream.allows(pause) {
				r.Stream.end(f)
				if f.rule == rateLimited {
					c.health.blame(true)
				}
			}
			return f, c.concludeOptional(ctx, r, f)
		}
		r.Stream.spend(pause, f)
		if err := sleep(ctx, pause); err != nil {
			return &RequestError{rule: canceled, Err: err}, nil
		}
	}
}

// guilty counts a failure of a stream's request, and reports whether the stream is at fault because
// the service answers others. A first failure is presumed to be the stream's, unless it has a
// consequence.
func (c *Client) guilty(ctx context.Context, s *Stream, f *RequestError, began time.Time, took time.Duration, last bool) (bool, error) {
	if f.rule == notFound { // a valid answer
		s.good(took)
		return true, nil
	}
	row, first := s.failed(began, took, f)
	if !f.doubtful() || row == 1 && !last && !(f.rule == rateLimited && c.health.blames()) {
		return true, nil
	}
	since := first
	if f.rule == rateLimited {
		since = began.Add(took) // others may have been refused until now
	}
	works, err := c.vouch(ctx, since)
	if !works {
		s.excuse(took, f)
		return false, err
	}
	if f.rule == rateLimited {
		s.mu.Lock()
		s.limited = true
		s.mu.Unlock()
	}
	return true, nil
}

// vouch reports whether the service works: whether it has given a good answer outside of streams
// since a time. If there was no such answer, it sends the probe. If that fails too, vouch waits
// until it succeeds, and returns false: the earlier failure may have been the service's fault. An
// error ends the run.
func (c *Client) vouch(ctx context.Context, since time.Time) (bool, error) {
	var lastLook look
	select {
	case lastLook = <-c.looks:
	case <-ctx.Done():
		return false, nil
	}
	defer func() { c.looks <- lastLook }()
	if c.health.goodSince(since) {
		return true, nil
	}
	waits, began := pauses(2*time.Second), time.Now()
	for failures := 0; ; failures++ {
		f := c.probe(ctx)
		switch {
		case f == nil:
			c.health.vouched()
			return failures == 0, nil
		case f.Canceled():
			return false, nil
		case f.rule.after(Page) == stopKey:
			return false, c.conclude(ctx, &c.cfg.Probe, f)
		case !f.doubtful():
			return true, nil
		}
		if err := f.tooLong(ctx, &c.cfg, failures+1, began); err != nil {
			return false, err
		}
		if f.rule.outage {
			c.budget.hold(max(f.pause(), waits.NextBackOff()))
		}
	}
}

// concludeOptional returns the consequence of a failure of a stream's request that is not retried.
// Its error ends the run.
func (c *Client) concludeOptional(ctx context.Context, r *Request, f *RequestError) error {
	f.Then, f.CursorLost = f.rule.after(r.Kind), f.rule.cursor
	instead := SetAside
	if !r.Kind.alone() {
		instead = EndList
	}
	switch {
	case f.Then == stopKey || f.Then == askList:
		f.Then = instead
		_, err := c.vouch(ctx, time.Now().Add(-keyGood)) // the key may be valid for other requests
		return err
	case f.Then == stopAddress, f.Then == Missing && !f.contract:
		f.Then = instead
	}
	return nil
}
