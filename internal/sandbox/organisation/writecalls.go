package organisation

import (
	"encoding/json"
	"fmt"

	"callhouse/internal/sandbox/dice"
	"callhouse/internal/sandbox/world"
)

// createCall makes an agent call someone, as in v3. It returns the call's id.
func (s *writing) createCall() (Object, *Problem) {
	agent, version := inside(s.body, "agent", "agent_id"), inside(s.body, "agent", "agent_version")
	order := s.order("from_number", "to_number")
	switch split := s.Split(order.From); {
	case split != nil && s.body["agent"] != nil:
		return nil, invalid("agent", "the traffic of from_number is split: omit the agent")
	case split == nil && s.body["agent"] == nil:
		return nil, invalid("agent", "is required, as the traffic of from_number is not split")
	case split != nil:
		agent, order.Variant = split.ID.String(), [...]string{"A", "B"}[dice.Mix(s.writes)%2]
	}
	return s.place(order, agent, "agent.agent_id", version, "agent.agent_version")
}

// createCallV2 is createCall of v2.
func (s *writing) createCallV2() (Object, *Problem) {
	order := s.order("call_from", "call_to")
	made, problem := s.place(order, s.body["agent_id"], "agent_id", s.body["agent_version"], "agent_version")
	if problem != nil {
		return nil, problem
	}
	return Object{
		"call_id": made["id"], "status": "initiated", "call_from": order.From, "call_to": order.To,
		"metadata": json.RawMessage(order.Metadata), "dynamic_variables": json.RawMessage(order.Variables),
	}, nil
}

// order returns an order with what the body says; the arguments are the names of the numbers.
func (s *writing) order(from, to string) world.Order {
	o := world.Order{At: s.now.UnixMilli(), Metadata: text(s.body["metadata"]), Variables: text(s.body["dynamic_variables"])}
	o.From, _ = s.body[from].(string)
	o.To, _ = s.body[to].(string)
	o.Presentation, _ = s.body["presentation_number"].(string)
	return o
}

// place makes the call of an order by a version of an agent; the fields are their places in the body.
func (s *writing) place(order world.Order, agent any, field string, version any, versionField string) (Object, *Problem) {
	name, problem := s.version(agent, field, version, versionField)
	if problem != nil {
		return nil, problem
	}
	order.ID, order.Version = s.newID(), name
	order.Agent, _ = world.ParseUUID(fmt.Sprint(agent)) // it exists
	s.world.Order(order)
	return Object{"id": order.ID.String()}, nil
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
		if s.Find(Named("agent_versions"), id, name, s.now) == nil {
			return "", invalid(versionField, "the agent has no such version")
		}
		return name, nil
	}
}

// text returns an object as JSON.
func text(value any) string {
	b, err := json.Marshal(value)
	if err != nil || value == nil {
		return "{}"
	}
	return string(b)
}
