// Package limit enforces the service's two rate limits, with one of three algorithms.
package limit

import (
	"fmt"
	"time"
)

// Algorithm is a rate-limiting algorithm.
type Algorithm string

const (
	// SlidingLog admits a request if fewer than the limit were admitted in the preceding window.
	// Refused requests do not count.
	SlidingLog Algorithm = "sliding-log"
	// FixedWindow restarts at every full second or minute of the clock.
	FixedWindow Algorithm = "fixed-window"
	// TokenBucket refills at the limit's rate up to the limit, and starts full.
	TokenBucket Algorithm = "token-bucket"
)

// Limiter holds an organisation's budget for both windows. It is not safe for concurrent use.
type Limiter struct {
	algorithm Algorithm
	windows   [2]window
}

// window is one limit: limit requests per span. Its state depends on the algorithm.
type window struct {
	span  time.Duration
	limit int // negative: none

	log    Rolling   // sliding log: times of admitted requests
	opened time.Time // fixed window: its beginning
	used   int       // fixed window
	tokens float64   // token bucket
	filled time.Time // token bucket: when tokens was computed
}

// New returns a limiter; a negative number means no limit.
func New(a Algorithm, perSecond, perMinute int) (*Limiter, error) {
	switch a {
	case SlidingLog, FixedWindow, TokenBucket:
	default:
		return nil, fmt.Errorf("limiter must be %s, %s or %s, not %q", SlidingLog, FixedWindow, TokenBucket, a)
	}
	l := &Limiter{algorithm: a}
	l.windows[0] = window{span: time.Second, limit: perSecond, tokens: float64(perSecond)}
	l.windows[1] = window{span: time.Minute, limit: perMinute, tokens: float64(perMinute)}
	for i := range l.windows {
		l.windows[i].log.Span = l.windows[i].span
	}
	return l, nil
}

// Allow admits a request at now, or returns how long to wait.
func (l *Limiter) Allow(now time.Time) (ok bool, wait time.Duration) {
	for i := range l.windows {
		w := &l.windows[i]
		if w.limit >= 0 {
			wait = max(wait, w.wait(l.algorithm, now))
		}
	}
	if wait > 0 {
		return false, wait
	}
	for i := range l.windows {
		if w := &l.windows[i]; w.limit >= 0 {
			w.take(l.algorithm, now)
		}
	}
	return true, 0
}

// wait updates w to now and returns the time until it has room; 0 if it has room now.
func (w *window) wait(a Algorithm, now time.Time) time.Duration {
	switch a {
	case FixedWindow:
		if opened := now.Truncate(w.span); !opened.Equal(w.opened) {
			w.opened, w.used = opened, 0
		}
		if w.used >= w.limit {
			return w.opened.Add(w.span).Sub(now)
		}
	case TokenBucket:
		if !w.filled.IsZero() {
			gained := float64(now.Sub(w.filled)) / float64(w.span) * float64(w.limit)
			w.tokens = min(w.tokens+max(gained, 0), float64(w.limit))
		}
		w.filled = now
		// Almost one token counts as one: rounding must not refuse a request that arrives exactly
		// on time.
		if missing := 1 - 1e-9 - w.tokens; missing > 0 {
			return max(1, time.Duration(missing/float64(max(w.limit, 1))*float64(w.span)))
		}
	default:
		if w.log.drop(now); w.log.len() >= w.limit {
			if w.limit == 0 {
				return w.span
			}
			return w.log.first().Add(w.span).Sub(now)
		}
	}
	return 0
}

func (w *window) take(a Algorithm, now time.Time) {
	switch a {
	case FixedWindow:
		w.used++
	case TokenBucket:
		w.tokens--
	default:
		w.log.add(now)
	}
}

// Rolling keeps the times counted within the last span: after now-span, up to now.
type Rolling struct {
	Span  time.Duration
	times []time.Time
	head  int // start of the kept times
}

func (r *Rolling) add(t time.Time) { r.times = append(r.times, t) }

// Count adds now and returns the number of instants in the window that ends with it.
func (r *Rolling) Count(now time.Time) int {
	r.drop(now)
	r.add(now)
	return r.len()
}

func (r *Rolling) drop(now time.Time) {
	for r.head < len(r.times) && now.Sub(r.times[r.head]) >= r.Span {
		r.head++
	}
	if r.head > 1024 && r.head > len(r.times)/2 {
		r.times = append(r.times[:0], r.times[r.head:]...)
		r.head = 0
	}
}

func (r *Rolling) len() int { return len(r.times) - r.head }

func (r *Rolling) first() time.Time { return r.times[r.head] }
