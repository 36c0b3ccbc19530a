package world

import "math"

// Schedule says when a campaign may call: from Begin on, in its hours, unless users do
// something about it.
type Schedule struct {
	Begin   int64
	Hours   Hours
	Changes []Change // in the order of time
	Until   int64    // it is not followed for longer than that; 0: to its end
}

// Change is something that a user does to a campaign.
type Change struct {
	At    int64
	Do    Deed
	Hours *Hours // of Rehour
}

// Deed is what is done to a campaign.
type Deed string

// Rehour gives a campaign that has not begun other hours.
const (
	Pause  Deed = "pause"
	Resume Deed = "resume"
	Cancel Deed = "cancel"
	Rehour Deed = "rehour"
)

// Take adds a change, the newest. Hours are those of a campaign that has not begun; it
// begins no sooner than some time after the change.
func (s *Schedule) Take(c Change, startUp int64) {
	if c.Do == Rehour {
		s.Hours, s.Begin = *c.Hours, max(s.Begin, c.At+startUp)
		return
	}
	s.Changes = append(s.Changes, c)
}

// Phase begins when a campaign comes into a state. Before the first one it is pending.
type Phase struct {
	At     int64
	Status string
	By     string // who paused it
}

const never = math.MaxInt64

// Run follows a campaign to its end. Where it may call, dial makes the calls of a span of
// time, and says whether anybody is left to be called and when the last call ends. With
// nobody left its hours do not matter, and it is over when that call ends: over says how.
func (s *Schedule) Run(dial func(from, until int64) (left bool, last int64), over func() string) (phases []Phase) {
	changes, is := s.Changes, Phase{Status: "pending"}
	held, halted, begun, left, last := false, false, false, true, int64(0)
	t := s.Begin
	if len(changes) > 0 {
		t = min(t, changes[0].At)
	}
	for t < never && (s.Until == 0 || t < s.Until) {
		for ; len(changes) > 0 && changes[0].At <= t; changes = changes[1:] {
			switch changes[0].Do {
			case Pause:
				held = true
			case Resume:
				held, halted = false, false
			case Cancel:
				return append(phases, Phase{At: t, Status: "canceled"})
			}
		}
		was, open := is, t >= s.Begin && (!left || s.Hours.Open(t))
		halted = halted || begun && !open && !held && !s.Hours.Resume
		switch is.At = t; {
		case held:
			is.Status, is.By = "paused", "user"
		case !begun && !open:
			is.Status, is.By = "pending", ""
		case !open || halted && left:
			is.Status, is.By = "paused", "system"
		default:
			is.Status, is.By, begun = "ongoing", "", true
		}
		if is.Status != was.Status || is.By != was.By {
			phases = append(phases, is)
		}
		asked := int64(never) // when a user does something next
		if len(changes) > 0 {
			asked = changes[0].At
		}
		next := asked
		if t < s.Begin {
			next = min(next, s.Begin)
		} else if at, ok := s.Hours.Change(t); ok && left && !held && !halted {
			next = min(next, at)
		}
		if is.Status == "ongoing" {
			if left {
				until := next
				if next == asked && next < never {
					until++ // calls of the same millisecond were made before
				}
				left, last = dial(t, until)
			}
			if !left && max(last, t) <= asked {
				return append(phases, Phase{At: max(last, t), Status: over()})
			} else if !left {
				next = asked
			}
		}
		t = next
	}
	return phases
}
