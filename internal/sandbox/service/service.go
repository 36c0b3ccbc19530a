// Package service is what can be done to a company: the rules of each write of the
// service, by resource, over an organisation and its clock. It knows no HTTP.
package service

import (
	"encoding/json"
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
	keep    func(line []byte) error
	mu      sync.Mutex
	writes  uint64 // how many there were
	// campaigns are those that were made by a client, by their ids.
	campaigns map[string]*campaign
}

// New lets a company and its world be written to. Each write is given to keep as a line
// of JSON, before it is done.
func New(company *organisation.Organisation, w *world.World, keep func(line []byte) error) *Service {
	return &Service{company: company, world: w, keep: keep, campaigns: map[string]*campaign{}}
}

// Problem is why something was not done.
type Problem struct {
	Kind   Kind
	Field  string // that is not valid, as in data.builtInTools
	Reason string
}

// Kind sorts problems.
type Kind int

// An object is missing; a body is not valid; an object is not in a state for it; it could
// not be kept.
const (
	Missing Kind = iota
	Invalid
	Conflict
	Unavailable
)

// missing names the part of the path that is of nothing, where v2 says so.
func missing(field string) *Problem { return &Problem{Missing, field, "no such object"} }

func invalid(field, format string, args ...any) *Problem {
	return &Problem{Invalid, field, fmt.Sprintf(format, args...)}
}

// operations are the writes, by their names in package operation: all that have the kind write.
var operations = map[string]func(*writing) (Object, *Problem){
	"createCall": (*writing).createCall, "createCallV2": (*writing).createCallV2,
	"createAgent": (*writing).createAgent, "updateAgent": (*writing).updateAgent, "validateFlow": (*writing).validateFlow,
	"createCampaignV2": (*writing).createCampaign, "updateCampaign": (*writing).updateCampaign, "updateCampaignV2": (*writing).updateCampaign,
	"pauseCampaign": turn(world.Pause), "resumeCampaign": turn(world.Resume), "cancelCampaign": turn(world.Cancel),
	"pauseCampaignV2":           (*writing).pauseCampaignV2,
	"deleteKnowledgeDocumentV2": (*writing).deleteDocument, "deleteKnowledgeDocumentsV2": (*writing).deleteDocuments,
}

// Do does a write: now, to the object of an id, as the body says.
func (s *Service) Do(operation string, now time.Time, id string, body Object) (Object, *Problem) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return operations[operation](&writing{s, now, id, body})
}

// writing is a write that is being done.
type writing struct {
	*Service
	now  time.Time
	id   string // of the path
	body Object
}

// find returns an object of a resource; nil where it is not there.
func (s *writing) find(resource, id string) Object {
	return s.company.Find(organisation.Named(resource), "", id, s.now)
}

// write keeps what was checked, and does it as it will be done again after a restart: as
// its line is read.
func (s *writing) write(do organisation.Deed, resource, parent, id string, fields Object) *Problem {
	w := organisation.Write{At: s.now.UnixMilli(), Do: do, Resource: resource, Parent: parent, ID: id, Fields: fields}
	line, err := json.Marshal(w)
	if err == nil {
		w, err = organisation.ReadWrite(line)
	}
	if err == nil {
		err = s.keep(line)
	}
	if err != nil {
		return &Problem{Unavailable, "", "no change was made: " + err.Error()}
	}
	if err := s.apply(w); err != nil {
		panic("sandbox: " + err.Error()) // it was checked under the lock
	}
	return nil
}

// Replay does a write that was kept.
func (s *Service) Replay(w organisation.Write) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.apply(w)
}

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
func (s *writing) edit(resource, id string, fields Object) (Object, *Problem) {
	if len(fields) > 0 {
		if p := s.write(organisation.Edited, resource, "", id, fields); p != nil {
			return nil, p
		}
	}
	return s.find(resource, id), nil
}
