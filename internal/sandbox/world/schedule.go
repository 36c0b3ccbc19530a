package world

import "math"

// Schedule is when a campaign may call: from Begin on, within its hours, subject to changes by
// users.
type Schedule struct {
	Begin   int64
	Hours   Hours
	Changes []Change // in order of time
}

// Change is a user's change of a campaign.
type Change struct {
	At    int64
	Do    Action
	Hours *Hours // of Rehour
}

// Action is the kind of a change.
type Action string

// Rehour changes the hours of a campaign that has not begun.
const (
	Pause  Action = "pause"
	Resume Action = "resume"
	Cancel Action = "cancel"
	Rehour Action = "rehour"
)

// Take adds a change, the newest. Hours apply only before the campaign has begun; it begins no
// sooner than startUp after the change.
func (s *Schedule) Take(c Change, startUp int64) {
	if c.Do == Rehour {
		s.Hours, s.Begin = *c.Hours, max(s.Begin, c.At+startUp)
		return
	}
	s.Changes = append(s.Changes, c)
}

// Phase begins when a campaign enters a state. Before the first one it is pending.
type Phase struct {
	At     int64
	Status string
	By     string // who paused it
}

const never = math.MaxInt64

// course is a schedule in progress.
type course struct {
	*Schedule
	coming              []Change // the remaining changes by users
	held, halted, begun bool     // paused by a user; paused until a user resumes it; it has called
	left                bool     // someone is left to call
}

// take applies the next change; it returns true if that ends the campaign.
func (c *course) take() (canceled bool) {
	change := c.coming[0]
	c.coming = c.coming[1:]
	switch change.Do {
	case Pause:
		c.held = true
	case Resume:
		c.held, c.halted = false, false
	}
	return change.Do == Cancel
}

// phase returns the state at t.
func (c *course) phase(t int64) Phase {
	open := t >= c.Begin && (!c.left || c.Hours.Open(t))
	c.halted = c.halted || c.begun && !open && !c.held && !c.Hours.Resume
	switch {
	case c.held:
		return Phase{t, "paused", "user"}
	case !c.begun && !open:
		return Phase{t, "pending", ""}
	case !open || c.halted && c.left:
		return Phase{t, "paused", "system"}
	}
	c.begun = true
	return Phase{t, "ongoing", ""}
}

// next returns when something may change after t, and the time of the next change by a user.
func (c *course) next(t int64) (next, change int64) {
	change = never
	if len(c.coming) > 0 {
		change = c.coming[0].At
	}
	if t < c.Begin {
		return min(change, c.Begin), change
	}
	if at, ok := c.Hours.Change(t); ok && c.left && !c.held && !c.halted {
		return min(change, at), change
	}
	return change, change
}

// Run follows a campaign to its end. When it may call, dial makes the calls of a span, and returns
// whether anyone is left to call and when the last call ends. Once nobody is left, its hours no
// longer matter: the campaign ends with that call, and over returns the final state.
func (s *Schedule) Run(dial func(from, until int64) (left bool, last int64), over func() string) (phases []Phase) {
	c, is, last := course{Schedule: s, coming: s.Changes, left: true}, Phase{Status: "pending"}, int64(0)
	t := s.Begin
	if len(s.Changes) > 0 {
		t = min(t, s.Changes[0].At)
	}
	for t < never {
		was := is
		if is = c.phase(t); is.Status != was.Status || is.By != was.By {
			phases = append(phases, is)
		}
		next, change := c.next(t)
		if is.Status == "ongoing" {
			if c.left {
				until := next
				if next == change && next < never {
					until++ // calls of the same millisecond were made before
				}
				c.left, last = dial(t, until)
			}
			if !c.left && max(last, t) <= change {
				return append(phases, Phase{At: max(last, t), Status: over()})
			} else if !c.left {
				next = change
			}
		}
		if change > t {
			t = next
		} else if c.take() { // changes by users apply after the other events of a millisecond
			return append(phases, Phase{At: t, Status: "canceled"})
		}
	}
	return phases
}
