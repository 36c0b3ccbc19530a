package service

import (
	"fmt"

	"callhouse/internal/sandbox/dice"
	"callhouse/internal/sandbox/organisation"
	"callhouse/internal/sandbox/world"
)

// calls is the resource of writes of calls, which an organisation does not list.
const calls = "calls"

// createCall makes an agent call someone, as in v3. It returns the call's id.
func (s *writing) createCall() (Object, *Problem) {
	order := Object{"agent_id": inside(s.body, "agent", "agent_id"), "agent_version": inside(s.body, "agent", "agent_version")}
	from, _ := s.body["from_number"].(string)
	switch split := s.company.Split(from); {
	case split != nil && s.body["agent"] != nil:
		return nil, invalid("agent", "the traffic of from_number is split: omit the agent")
	case split == nil && s.body["agent"] == nil:
		return nil, invalid("agent", "is required, as the traffic of from_number is not split")
	case split != nil:
		order["agent_id"], order["variant_label"] = split.ID.String(), [...]string{"A", "B"}[dice.Mix(s.writes)%2]
	}
	for _, name := range []string{"from_number", "to_number", "presentation_number", "metadata", "dynamic_variables"} {
		order[name] = s.body[name]
	}
	return s.place(order, "agent.agent_id", "agent.agent_version")
}

// createCallV2 is createCall of v2.
func (s *writing) createCallV2() (Object, *Problem) {
	order := Object{"from_number": s.body["call_from"], "to_number": s.body["call_to"]}
	for _, name := range []string{"agent_id", "agent_version", "presentation_number", "metadata", "dynamic_variables"} {
		order[name] = s.body[name]
	}
	made, problem := s.place(order, "agent_id", "agent_version")
	if problem != nil {
		return nil, problem
	}
	return Object{
		"call_id": made["id"], "status": "initiated", "call_from": order["from_number"], "call_to": order["to_number"],
		"metadata": order["metadata"], "dynamic_variables": order["dynamic_variables"],
	}, nil
}

// place validates an order and makes the call; agent and versionField are its places in the body.
func (s *writing) place(order Object, agent, versionField string) (Object, *Problem) {
	version, problem := s.version(order["agent_id"], agent, order["agent_version"], versionField)
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
	s.write(organisation.Created, calls, "", made, order)
	return Object{"id": made}, nil
}

// version returns the requested version of an agent; the default is production. The fields are its
// places in the body.
func (s *writing) version(agent any, field string, requested any, versionField string) (string, *Problem) {
	id := fmt.Sprint(agent)
	if s.find("agents", id) == nil {
		return "", invalid(field, "no such agent")
	}
	switch name, _ := requested.(string); name {
	case "", "production": // which may not exist yet
		return "production", nil
	case "current":
		return name, nil
	default:
		if s.company.Find(organisation.Named("agent_versions"), id, name, s.now) == nil {
			return "", invalid(versionField, "the agent has no such version")
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
		"agent_version": &o.Version, "from_number": &o.From, "to_number": &o.To,
		"presentation_number": &o.Presentation, "variant_label": &o.Variant,
	} {
		*into, _ = w.Fields[name].(string)
	}
	o.Metadata, o.Variables = text(w.Fields["metadata"]), text(w.Fields["dynamic_variables"])
	s.world.Order(o)
	return nil
}
