package service

import (
	"fmt"
	"time"

	"callhouse/internal/sandbox/dice"
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
	from, _ := body["from_number"].(string)
	switch split := s.company.Split(from); {
	case split != nil && body["agent"] != nil:
		return nil, invalid("agent", "the traffic of from_number is split: leave the agent out")
	case split == nil && body["agent"] == nil:
		return nil, invalid("agent", "is required, as the traffic of from_number is not split")
	case split != nil:
		order["agent_id"], order["variant_label"] = split.ID.String(), [...]string{"A", "B"}[dice.Mix(s.writes)%2]
	}
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

// createCall checks an order and makes the call; agent and versionField are where the body
// has them.
func (s *Service) createCall(now time.Time, order Object, agent, versionField string) (Object, *Problem) {
	id := fmt.Sprint(order["agent_id"])
	if s.find("agents", id, now) == nil {
		return nil, invalid(agent, "there is no such agent")
	}
	version, problem := s.version(now, id, order["agent_version"], versionField)
	if problem != nil {
		return nil, problem
	}
	order["agent_version"] = version
	for _, name := range []string{"metadata", "dynamic_variables"} {
		if order[name] == nil {
			order[name] = Object{}
		}
	}
	made := s.newID().String()
	if p := s.write(now, organisation.Created, calls, "", made, order); p != nil {
		return nil, p
	}
	return Object{"id": made}, nil
}

// version is the version of an agent that is asked for: production unless it is named.
func (s *Service) version(now time.Time, agent string, asked any, field string) (string, *Problem) {
	switch name, _ := asked.(string); name {
	case "", "production": // which there may be none of yet
		return "production", nil
	case "current":
		return name, nil
	default:
		if s.company.Find(organisation.Named("agent_versions"), agent, name, now) == nil {
			return "", invalid(field, "the agent has no such version")
		}
		return name, nil
	}
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
		"agent_version": &o.Version, "from_number": &o.From, "to_number": &o.To, "presentation_number": &o.Presentation, "variant_label": &o.Variant,
	} {
		*into, _ = w.Fields[name].(string)
	}
	o.Metadata, o.Variables = text(w.Fields["metadata"]), text(w.Fields["dynamic_variables"])
	s.world.Order(o)
	return nil
}
