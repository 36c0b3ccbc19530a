package streams

import (
	"context"
	"sync"
	"time"
)

// Signal is an event that parts of a run wait for.
type Signal struct {
	once *sync.Once
	done chan struct{}
}

// NewSignal returns an event that has not happened.
func NewSignal() Signal { return Signal{new(sync.Once), make(chan struct{})} }

// Fire signals the event. Repeated calls have no effect.
func (s Signal) Fire() { s.once.Do(func() { close(s.done) }) }

// Fired reports whether the event has happened.
func (s Signal) Fired() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// Await waits for the event. It returns false if ctx is done or the limit is over first; zero: no
// limit.
func (s Signal) Await(ctx context.Context, limit time.Duration) bool {
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
