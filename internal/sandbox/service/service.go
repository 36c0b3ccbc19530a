// Package service is what can be done to a company: the rules of each write of the
// service, by resource, over an organisation and its clock. It knows no HTTP.
package service

import (
	"fmt"
	"sync"
	"time"

	"callhouse/internal/sandbox/dice"
	"callhouse/internal/sandbox/organisation"
	"callhouse/internal/sandbox/world"
)

// Object is a resource's object, or some of its fields.
type Object = organisation.Object

// Service does one write at a time.
type Service struct {
	company *organisation.Organisation
	world   *world.World
	mu      sync.Mutex
	writes  uint64 // how many there were
	// campaigns are those that were made by a client, by their ids.
	campaigns map[string]*campaign
}

// New lets a company and its world be written to.
func New(company *organisation.Organisation, w *world.World) *Service {
	return &Service{company: company, world: w, campaigns: map[string]*campaign{}}
}

// Problem is why something was not done.
type Problem struct {
	Kind   Kind
	Field  string // that is not valid, as in data.builtInTools
	Reason string
}

// Kind sorts problems.
type Kind int

// An object is missing; a body is not valid; an object is not in a state for it.
const (
	Missing Kind = iota
	Invalid
	Conflict
)

func missing() *Problem { return &Problem{Missing, "", "there is no such object"} }

func invalid(field, format string, args ...any) *Problem {
	return &Problem{Invalid, field, fmt.Sprintf(format, args...)}
}

// find returns an object of a resource; nil where it is not there.
func (s *Service) find(resource, id string, now time.Time) Object {
	return s.company.Find(organisation.Named(resource), "", id, now)
}

// write does what was checked.
func (s *Service) write(now time.Time, do organisation.Deed, resource, parent, id string, fields Object) {
	w := organisation.Write{At: now.UnixMilli(), Do: do, Resource: resource, Parent: parent, ID: id, Fields: fields}
	if err := s.apply(w); err != nil {
		panic("sandbox: " + err.Error()) // it was checked under the lock
	}
}

// apply does a write.
func (s *Service) apply(w organisation.Write) error {
	s.writes++
	switch w.Resource {
	case calls:
		return s.order(w)
	case campaigns:
		return s.applyCampaign(w)
	}
	return s.company.Apply(w)
}

// newID is an id that nothing has.
func (s *Service) newID() world.UUID { return world.NewUUID(dice.Hash(s.world.Key+12, s.writes)) }

// edit sets fields of an object, and returns what it is then.
func (s *Service) edit(now time.Time, resource, id string, fields Object) Object {
	if len(fields) > 0 {
		s.write(now, organisation.Edited, resource, "", id, fields)
	}
	return s.find(resource, id, now)
}
