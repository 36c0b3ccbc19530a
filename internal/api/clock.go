package api

import (
	"sync"
	"time"
)

// Clock returns the service's time: this machine's clock, corrected by the Date of the service's
// first answer. Everything about calls uses it: whether they are over, when they were listed, and
// how long the run waits for their data. It is safe for concurrent use.
type Clock struct {
	local func() time.Time

	mu    sync.Mutex
	ahead time.Duration // of the service's clock; 0: the local one is used as it is
}

// NewClock returns a clock with the local time until it is corrected.
func NewClock(local func() time.Time) *Clock { return &Clock{local: local} }

// Now returns the time.
func (c *Clock) Now() time.Time { return c.At(c.local()) }

// Local returns the time of this machine's clock.
func (c *Clock) Local() time.Time { return c.local() }

// At returns the service's time when the local clock showed at.
func (c *Clock) At(at time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return at.Add(c.ahead)
}

// clockTolerance is how much the two clocks may differ before the service's is used. Its Date has
// whole seconds, and is slightly old when it arrives.
const clockTolerance = time.Minute

// heard corrects the clock: the service's time was theirs when the local clock showed ours.
func (c *Clock) heard(ours, theirs time.Time) {
	ahead := theirs.Sub(ours)
	if ahead.Abs() <= clockTolerance {
		ahead = 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead = ahead
}
