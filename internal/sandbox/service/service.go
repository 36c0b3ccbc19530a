// Package service is what can be done to a company: the rules of each write of the
// service, by resource, over an organisation and its clock. It knows no HTTP.
package service

import (
	"fmt"
	"sync"
	"time"

	"callhouse/internal/sandbox/organisation"
)

// Object is a resource's object, or some of its fields.
type Object = organisation.Object

// Service does one write at a time.
type Service struct {
	company *organisation.Organisation
	mu      sync.Mutex
}

// New lets a company be written to.
func New(company *organisation.Organisation) *Service { return &Service{company: company} }

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

// apply does a write that was checked.
func (s *Service) apply(now time.Time, do organisation.Deed, resource, parent, id string, fields Object) {
	err := s.company.Apply(organisation.Write{At: now.UnixMilli(), Do: do, Resource: resource, Parent: parent, ID: id, Fields: fields})
	if err != nil {
		panic("sandbox: " + err.Error()) // it was checked under the lock
	}
}

// edit sets fields of an object, and returns what it is then.
func (s *Service) edit(now time.Time, resource, id string, fields Object) Object {
	if len(fields) > 0 {
		s.apply(now, organisation.Edited, resource, "", id, fields)
	}
	return s.find(resource, id, now)
}
