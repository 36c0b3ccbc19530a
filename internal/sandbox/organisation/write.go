package organisation

import (
	"fmt"
	"time"

	"callhouse/internal/sandbox/dice"
	"callhouse/internal/sandbox/operation"
	"callhouse/internal/sandbox/world"
)

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

// Do performs a write of a client now on the object of an id, by the rules of the service.
func (o *Organisation) Do(operation string, now time.Time, id string, body Object) (Object, *Problem) {
	o.writing.Lock()
	defer o.writing.Unlock()
	return operations[operation](&writing{o, now, id, body})
}

// writing is a write in progress.
type writing struct {
	*Organisation
	now  time.Time
	id   string // of the path
	body Object
}

// find returns an object of a resource; nil if there is none.
func (s *writing) find(resource, id string) Object {
	return s.Find(Named(resource), "", id, s.now)
}

// write applies a validated write.
func (s *writing) write(do Action, resource, parent, id string, fields Object) {
	s.writes++
	operation.Whole(fields)
	w := Write{At: s.now.UnixMilli(), Do: do, Resource: resource, Parent: parent, ID: id, Fields: fields}
	if err := s.Apply(w); err != nil {
		panic("sandbox: " + err.Error()) // validated under the lock
	}
}

// newID returns an unused id.
func (s *writing) newID() world.UUID {
	s.writes++
	return world.NewUUID(dice.Hash(s.world.Key+12, s.writes))
}

// edit sets fields of an object and returns its new state.
func (s *writing) edit(resource, id string, fields Object) (Object, *Problem) {
	if len(fields) > 0 {
		s.write(Edited, resource, "", id, fields)
	}
	return s.find(resource, id), nil
}
