package crawler

import (
	"context"
	"sync"
	"time"
)

// signal is an event that parts of a run wait for.
type signal struct {
	once *sync.Once
	done chan struct{}
}

// newSignal returns an event that has not happened.
func newSignal() signal { return signal{new(sync.Once), make(chan struct{})} }

// Fire signals the event. Repeated calls have no effect.
func (s signal) Fire() { s.once.Do(func() { close(s.done) }) }

// Fired reports whether the event has happened.
func (s signal) Fired() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// Await waits for the event. It returns false if ctx is done or the limit is over first; zero: no
// limit.
func (s signal) Await(ctx context.Context, limit time.Duration) bool {
	var over <-chan time.Time
	if limit > 0 {
		over = time.After(limit)
	}
	select {
	case <-s.done:
		return true
	case <-over:
	case <-ctx.Done():
	}
	return false
}
