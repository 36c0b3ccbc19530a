package service

import (
	"encoding/json"
	"fmt"
	"time"

	"callhouse/internal/sandbox/organisation"
	"callhouse/internal/sandbox/world"
)

// calls is the resource of writes that are calls: an organisation has no list of them.
const calls = "calls"

// CreateCall lets an agent call somebody, as v3 asks for it. It returns the call's id.
func (s *Service) CreateCall(now time.Time, _ string, body Object) (Object, *Problem) {
	s.mu.Lock()
	defer s.mu.Unlock()
	order := Object{"agent_id": inside(body, "agent", "agent_id"), "agent_version": inside(body, "agent", "agent_version")}
	for _, name := range []string{"from_number", "to_number", "presentation_number", "metadata", "dynamic_variables"} {
		order[name] = body[name]
	}
	return s.createCall(now, order, "agent.agent_id", "agent.agent_version")
}

// CreateCallV2 does it as v2 asks for it.
func (s *Service) CreateCallV2(now time.Time, _ string, body Object) (Object, *Problem) {
	s.mu.Lock()
	defer s.mu.Unlock()
	order := Object{"from_number": body["call_from"], "to_number": body["call_to"]}
	for _, name := range []string{"agent_id", "agent_version", "presentation_number", "metadata", "dynamic_variables"} {
		order[name] = body[name]
	}
	made, problem := s.createCall(now, order, "agent_id", "agent_version")
	if problem != nil {
		return nil, problem
	}
	return Object{
		"call_id": made["id"], "status": "initiated", "call_from": order["from_number"], "call_to": order["to_number"],
		"metadata": order["metadata"], "dynamic_variables": order["dynamic_variables"],
	}, nil
}

// createCall checks an order and makes the call; agent and version are where the body
// has them.
func (s *Service) createCall(now time.Time, order Object, agent, version string) (Object, *Problem) {
	id := fmt.Sprint(order["agent_id"])
	if s.find("agents", id, now) == nil {
		return nil, invalid(agent, "there is no such agent")
	}
	if order["agent_version"] == nil {
		order["agent_version"] = "production"
	}
	switch name := fmt.Sprint(order["agent_version"]); name {
	case "current", "production": // which there may be none of yet
	default:
		if s.company.Find(organisation.Named("agent_versions"), id, name, now) == nil {
			return nil, invalid(version, "the agent has no such version")
		}
	}
	for _, name := range []string{"metadata", "dynamic_variables"} {
		if order[name] == nil {
			order[name] = Object{}
		}
	}
	made := s.newID().String()
	s.write(now, organisation.Created, calls, "", made, order)
	return Object{"id": made}, nil
}

// order makes the call of a write.
func (s *Service) order(w organisation.Write) error {
	id, ok := world.ParseUUID(w.ID)
	agent, ok2 := world.ParseUUID(fmt.Sprint(w.Fields["agent_id"]))
	if !ok || !ok2 {
		return fmt.Errorf("write calls %s: it or its agent has no id of the service", w.ID)
	}
	o := world.Order{ID: id, At: w.At, Agent: agent}
	for name, into := range map[string]*string{
		"agent_version": &o.Version, "from_number": &o.From, "to_number": &o.To, "presentation_number": &o.Presentation,
	} {
		*into, _ = w.Fields[name].(string)
	}
	for name, into := range map[string]*string{"metadata": &o.Metadata, "dynamic_variables": &o.Variables} {
		text, err := json.Marshal(w.Fields[name])
		if err != nil {
			return fmt.Errorf("write calls %s: %w", w.ID, err)
		}
		*into = string(text)
	}
	s.world.Order(o)
	return nil
}
