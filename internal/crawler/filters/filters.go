// Package filters holds what a run knows of the parameters of the list of calls besides the
// contract's cursor and limit: whether the service accepts them.
package filters

import (
	"slices"
	"sync"
)

// Known is the knowledge about one parameter.
type Known uint8

// What is known.
const (
	Untried Known = iota
	Accepted
	Refused
)

// Use is which parameters a request has.
type Use struct{ Sort, After, Before bool }

// Accepts is the knowledge about all of them.
type Accepts struct {
	Sort, After, Before Known
	Oversized           bool // the service sends more items than requested
}

// Left returns which of the parameters are not known to be refused.
func (a *Accepts) Left(u Use) Use {
	return Use{u.Sort && a.Sort != Refused, u.After && a.After != Refused, u.Before && a.Before != Refused}
}

// Set is what a run knows so far.
type Set struct {
	Trial sync.Mutex // held while a bound is tried for the first time
	mu    sync.Mutex
	known Accepts
}

// Now returns what is known so far.
func (s *Set) Now() Accepts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known
}

// Worked records that the service accepted a request, and whether it sent more than requested.
func (s *Set) Worked(u Use, oversized bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known.Oversized = s.known.Oversized || oversized
	if u.Sort {
		s.known.Sort = Accepted
	}
	if u.After && s.known.After == Untried {
		s.known.After = Accepted
	}
	if u.Before && s.known.Before == Untried {
		s.known.Before = Accepted
	}
}

// Learn learns from a 400 to a request; allowed are the parameters that the response allows, if it
// says so. It reports whether to try again with fewer.
func (s *Set) Learn(u Use, allowed []string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.known
	drop := func(k *Known, used bool, name string) {
		if len(allowed) > 0 {
			if !slices.Contains(allowed, name) {
				*k = Refused
			}
		} else if used && *k == Untried {
			*k = Refused
		}
	}
	drop(&s.known.Sort, u.Sort, "sort_order")
	drop(&s.known.After, u.After, "start_at_after")
	drop(&s.known.Before, u.Before, "start_at_before")
	return s.known.Left(u) != u && s.known != was
}
