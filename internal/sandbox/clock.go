package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"callhouse/internal/sandbox/organisation"
)

// moved is a move of the clock, as the state keeps it.
const moved organisation.Deed = "moved"

// keep keeps a line in the state, if there is one.
func (s *Server) keep(line []byte) error {
	if s.opts.State == nil {
		return nil
	}
	return s.opts.State.Append(line)
}

// keepClock keeps what the clock shows.
func (s *Server) keepClock() error {
	line, err := json.Marshal(organisation.Write{At: s.Now().UnixMilli(), Do: moved, Resource: "clock"})
	if err != nil {
		return err
	}
	return s.keep(line)
}

// ErrState says that what a state kept could not be done again.
var ErrState = errors.New("state")

// replay does what the state kept.
func (s *Server) replay() error {
	if s.opts.State == nil {
		return nil
	}
	for i, line := range s.opts.State.Lines {
		w, err := organisation.ReadWrite(line)
		switch {
		case err != nil:
		case w.Do != moved:
			err = s.api.service.Replay(w)
		case s.opts.Clock != nil:
			s.opts.Clock.Set(time.UnixMilli(w.At))
		}
		if err != nil {
			return fmt.Errorf("%w, line %d: %w", ErrState, i+2, err)
		}
	}
	return nil
}

// ManualClock is a clock that stands still until it is told to move.
type ManualClock struct {
	mu  sync.Mutex
	now time.Time
}

// NewManualClock returns a clock that shows t.
func NewManualClock(t time.Time) *ManualClock { return &ManualClock{now: t} }

// Now returns what the clock shows.
func (c *ManualClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Set makes the clock show t; it may go back.
func (c *ManualClock) Set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = t
}

// Advance moves the clock by d and returns what it then shows.
func (c *ManualClock) Advance(d time.Duration) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	return c.now
}
