package organisation

import (
	"fmt"
	"maps"
	"slices"

	"callhouse/internal/sandbox/operation"
)

// createAgent makes an agent, of type flow if it has a flow.
func (s *writing) createAgent() (Object, *Problem) {
	if p := s.checkAgent(); p != nil {
		return nil, p
	}
	data, _ := s.body["data"].(Object)
	if data = maps.Clone(data); data == nil {
		data = Object{}
	}
	if data["builtInTools"] == nil {
		data["builtInTools"] = []any{}
	}
	ms, id := s.now.UnixMilli(), s.newID().String()
	agent := operation.New("Agent", Object{
		"id": id, "name": s.body["name"], "created_at": ms, "updated_at": ms, "data": data, "flow": s.body["flow"],
	}, nil)
	if agent["flow"] != nil || s.body["flow_data"] != nil {
		agent["type"] = "flow"
	}
	if legacy, ok := s.body["flow_data"]; ok {
		agent["flow_data"] = legacy
	}
	s.write(Created, "agents", "", id, agent)
	return s.agent(id), nil
}

// updateAgent changes an agent. Settings not in the body keep their values at any depth; an array
// replaces the old one.
func (s *writing) updateAgent() (Object, *Problem) {
	agent := s.find("agents", s.id)
	if agent == nil {
		return nil, missing("")
	}
	if p := s.checkAgent(); p != nil {
		return nil, p
	}
	fields := Object{}
	for _, name := range []string{"name", "flow", "flow_data"} {
		if value, ok := s.body[name]; ok {
			fields[name] = value
		}
	}
	if fields["flow"] != nil || fields["flow_data"] != nil {
		fields["type"] = "flow"
	}
	if data, ok := s.body["data"].(Object); ok {
		was, _ := agent["data"].(Object)
		fields["data"] = merge(was, data)
	}
	if _, p := s.edit("agents", s.id, fields); p != nil {
		return nil, p
	}
	return s.agent(s.id), nil
}

// agent returns an agent as in its own answer.
func (s *writing) agent(id string) Object {
	return s.AgentAt(id, "", s.now.UnixMilli())
}

// merge returns was with the members of is set. Neither is changed.
func merge(was, is Object) Object {
	all := maps.Clone(was)
	if all == nil {
		all = Object{}
	}
	for name, value := range is {
		inner, ok := value.(Object)
		old, both := all[name].(Object)
		if ok && both {
			value = merge(old, inner)
		}
		all[name] = value
	}
	return all
}

// checkAgent validates what schemas cannot: references must exist in the organisation, and a flow
// must be a graph.
func (s *writing) checkAgent() *Problem {
	data, _ := s.body["data"].(Object)
	for i, tool := range list(data["builtInTools"]) {
		if id, ok := inside(tool, "agent", "agentId").(string); ok && s.find("agents", id) == nil {
			return invalid(fmt.Sprintf("data.builtInTools.%d.agent.agentId", i), "no such agent")
		}
	}
	for i, id := range list(data["toolIds"]) {
		if s.find("tools", fmt.Sprint(id)) == nil {
			return invalid(fmt.Sprintf("data.toolIds.%d", i), "no such tool")
		}
	}
	if model, ok := inside(data, "llm", "model").(string); ok && s.find("llms", model) == nil {
		return invalid("data.llm.model", "no such model")
	}
	voice, provider := inside(data, "voice", "id"), inside(data, "voice", "provider")
	if voice != nil && provider != nil && s.find("voices", fmt.Sprintf("%v/%v", provider, voice)) == nil {
		return invalid("data.voice.id", "the provider has no such voice")
	}
	if p := s.checkKnowledge("data.knowledge", inside(data, "knowledge")); p != nil {
		return p
	}
	flow, _ := s.body["flow"].(Object)
	if flow == nil {
		return nil
	}
	if flaws := flaws(flow); len(flaws) > 0 {
		return invalid(fmt.Sprint(flaws[0]["field"]), "%v", flaws[0]["message"])
	}
	for i, node := range list(flow["nodes"]) {
		if p := s.checkKnowledge(fmt.Sprintf("flow.nodes.%d.data.knowledge", i), inside(node, "data", "knowledge")); p != nil {
			return p
		}
	}
	return nil
}

func (s *writing) checkKnowledge(field string, settings any) *Problem {
	for i, id := range list(inside(settings, "knowledgeIds")) {
		if s.find("knowledges", fmt.Sprint(id)) == nil {
			return invalid(fmt.Sprintf("%s.knowledgeIds.%d", field, i), "no such knowledge base")
		}
	}
	return nil
}

// validateFlow reports whether a flow could be saved, with its errors.
func (s *writing) validateFlow() (Object, *Problem) {
	flow, _ := s.body["flow"].(Object)
	all := []any{}
	for _, f := range flaws(flow) {
		all = append(all, f)
	}
	return Object{"valid": len(all) == 0, "errors": all}, nil
}

// flaws returns the errors of a graph with valid nodes.
func flaws(flow Object) []Object {
	var all []Object
	add := func(message, format string, args ...any) {
		all = append(all, Object{"field": fmt.Sprintf(format, args...), "message": message})
	}
	var ids []string
	nodes := list(flow["nodes"])
	for i, node := range nodes {
		id := fmt.Sprint(inside(node, "id"))
		if slices.Contains(ids, id) {
			add("two nodes have this id", "flow.nodes.%d.id", i)
		}
		ids = append(ids, id)
	}
	var edges []string
	for i, edge := range list(flow["edges"]) {
		id := fmt.Sprint(inside(edge, "id"))
		if slices.Contains(edges, id) {
			add("two edges have this id", "flow.edges.%d.id", i)
		}
		edges = append(edges, id)
		for _, end := range []string{"source", "target"} {
			if !slices.Contains(ids, fmt.Sprint(inside(edge, end))) {
				add("no such node", "flow.edges.%d.%s", i, end)
			}
		}
	}
	return all
}

// list returns an array, or nil.
func list(value any) []any {
	all, _ := value.([]any)
	return all
}

// inside returns a nested member; nil if missing.
func inside(value any, names ...string) any {
	for _, name := range names {
		o, _ := value.(Object)
		value = o[name]
	}
	return value
}
