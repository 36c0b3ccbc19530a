package api

import (
	"sync"
	"time"
)

// Clock tells the service's time: this machine's clock, set right by the Date of the service's
// first answer. What is known of calls goes by it: whether they are over, when they were listed,
// and how long they are waited for. It is safe for concurrent use.
type Clock struct {
	local func() time.Time

	mu    sync.Mutex
	ahead time.Duration // of the service's clock; 0: the local one is right
}

// NewClock returns a clock that tells the local time until it is set right.
func NewClock(local func() time.Time) *Clock { return &Clock{local: local} }

// Now returns the time.
func (c *Clock) Now() time.Time { return c.At(c.local()) }

// Local returns the time of this machine's clock.
func (c *Clock) Local() time.Time { return c.local() }

// At returns the service's time when the local clock said at.
func (c *Clock) At(at time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return at.Add(c.ahead)
}

// clockTolerance is how much the two clocks may differ before the service's is believed. Its
// Date has whole seconds, and is a little old when it arrives.
const clockTolerance = time.Minute

// heard sets the clock right: the service said theirs when the local clock said ours.
func (c *Clock) heard(ours, theirs time.Time) {
	ahead := theirs.Sub(ours)
	if ahead.Abs() <= clockTolerance {
		ahead = 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead = ahead
}
