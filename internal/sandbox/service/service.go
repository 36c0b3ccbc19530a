// Package service implements the rules of the service's writes, by resource, over an organisation
// and its clock. It does not depend on HTTP.
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

// Service performs one write at a time.
type Service struct {
	company *organisation.Organisation
	world   *world.World
	mu      sync.Mutex
	writes  uint64 // number of writes
	// campaigns are the clients' campaigns by id.
	campaigns map[string]*campaign
}

// New makes a company and its world writable.
func New(company *organisation.Organisation, w *world.World) *Service {
	return &Service{company: company, world: w, campaigns: map[string]*campaign{}}
}

// Problem is the reason why a write was refused.
type Problem struct {
	Kind   Kind
	Field  string // the invalid one, such as data.builtInTools
	Reason string
}

// Kind classifies problems.
type Kind int

// Kinds: the object is missing, the body is invalid, or the object's state does not allow the write.
const (
	Missing Kind = iota
	Invalid
	Conflict
)

// missing names the part of the path that does not exist, where v2 does so.
func missing(field string) *Problem { return &Problem{Missing, field, "no such object"} }

func invalid(field, format string, args ...any) *Problem {
	return &Problem{Invalid, field, fmt.Sprintf(format, args...)}
}

// operations are the writes by name in package operation: all of the kind write.
var operations = map[string]func(*writing) (Object, *Problem){
	"createCall": (*writing).createCall, "createCallV2": (*writing).createCallV2,
	"createAgent": (*writing).createAgent, "updateAgent": (*writing).updateAgent, "validateFlow": (*writing).validateFlow,
	"createCampaignV2": (*writing).createCampaign, "updateCampaign": (*writing).updateCampaign, "updateCampaignV2": (*writing).updateCampaign,
	"pauseCampaign": turn(world.Pause), "resumeCampaign": turn(world.Resume), "cancelCampaign": turn(world.Cancel),
	"pauseCampaignV2":           (*writing).pauseCampaignV2,
	"deleteKnowledgeDocumentV2": (*writing).deleteDocument, "deleteKnowledgeDocumentsV2": (*writing).deleteDocuments,
}

// Do performs a write now on the object of an id.
func (s *Service) Do(operation string, now time.Time, id string, body Object) (Object, *Problem) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return operations[operation](&writing{s, now, id, body})
}

// writing is a write in progress.
type writing struct {
	*Service
	now  time.Time
	id   string // of the path
	body Object
}

// find returns an object of a resource; nil if there is none.
func (s *writing) find(resource, id string) Object {
	return s.company.Find(organisation.Named(resource), "", id, s.now)
}

// write applies a validated write. Its fields become JSON's, like those of computed objects.
func (s *writing) write(do organisation.Action, resource, parent, id string, fields Object) {
	w := organisation.Write{At: s.now.UnixMilli(), Do: do, Resource: resource, Parent: parent, ID: id, Fields: fields}
	line, err := json.Marshal(w)
	if err == nil {
		w, err = organisation.ReadWrite(line)
	}
	if err == nil {
		err = s.apply(w)
	}
	if err != nil {
		panic("sandbox: " + err.Error()) // validated under the lock
	}
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

// newID returns an unused id.
func (s *Service) newID() world.UUID { return world.NewUUID(dice.Hash(s.world.Key+12, s.writes)) }

// edit sets fields of an object and returns its new state.
func (s *writing) edit(resource, id string, fields Object) (Object, *Problem) {
	if len(fields) > 0 {
		s.write(organisation.Edited, resource, "", id, fields)
	}
	return s.find(resource, id), nil
}
