package crawler

import (
	"context"
	"time"
)

// signal is an event that parts of a run wait for.
type signal struct {
	context.Context // done when it has happened
	Fire            func()
}

// newSignal returns an event that has not happened.
func newSignal() signal {
	ctx, cancel := context.WithCancel(context.Background())
	return signal{ctx, cancel}
}

// Fired reports whether the event has happened.
func (s signal) Fired() bool { return s.Err() != nil }

// Await waits for the event. It returns false if ctx is done or the limit is over first; zero: no
// limit.
func (s signal) Await(ctx context.Context, limit time.Duration) bool {
	var over <-chan time.Time
	if limit > 0 {
		over = time.After(limit)
	}
	select {
	case <-s.Done():
		return true
	case <-over:
	case <-ctx.Done():
	}
	return false
}
