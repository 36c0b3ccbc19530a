package sandbox

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"callhouse/internal/longtest"
	"callhouse/internal/sandbox/organisation"
	"callhouse/internal/test"
)

// TestTheCompanyIsConsistent looks up the agent version of every call through the API: a flow agent follows the
// edges of its graph, a single-prompt agent makes no moves, and both call only their own tools.
func TestTheCompanyIsConsistent(t *testing.T) {
	longtest.Only(t)
	s := newServer(t, Options{World: Config{Calls: 600, Agents: 8}, Organisation: organisation.Config{Pace: 5}})
	get := func(target string) map[string]any {
		w := do(s, "GET", target)
		if w.Code != 200 {
			t.Fatalf("GET %s: %d %s", target, w.Code, w.Body)
		}
		var body map[string]any
		decode(t, w.Body.Bytes(), &body)
		return body
	}
	names := map[any]any{} // of the organisation's tools, by id
	for _, tool := range crawl(t, s, organisation.Named("tools"), "/v3/tools", "") {
		names[tool["id"]] = tool["name"]
	}
	agents := map[string]map[string]any{} // by the path and query of their version
	seen := map[string]int{}
	for _, c := range getAll(t, s, "limit=100") {
		seen["type "+c["call_type"].(string)]++
		target := "/v3/agents/" + member(c, "agent", "agent_id").(string) + "?version=" + member(c, "agent", "agent_version").(string)
		if agents[target] == nil {
			agents[target] = get(target)
		}
		agent, carried, edges := agents[target], []any{}, map[[2]any]bool{}
		for _, tool := range member(agent, "data", "builtInTools").([]any) {
			carried = append(carried, member(tool.(map[string]any), "name"))
		}
		for _, id := range member(agent, "data", "toolIds").([]any) {
			carried = append(carried, names[id]) // nil for a deleted tool
		}
		if agent["type"] == "flow" {
			for _, e := range member(agent, "flow", "edges").([]any) {
				e := e.(map[string]any)
				edges[[2]any{e["source"], e["target"]}] = true
			}
		}
		transcript, _ := get("/v3/calls/" + c["id"].(string))["transcript"].([]any)
		failed := map[any]bool{}
		for _, item := range transcript {
			item := item.(map[string]any)
			text, _ := item["content"].(string)
			if item["role"] == "tool_call_result" && (strings.HasPrefix(text, `{"status":"error"`) || strings.HasPrefix(text, "Error: ")) {
				failed[item["tool_call_id"]] = true
			}
		}
		at := any("start")
		for _, item := range transcript {
			item := item.(map[string]any)
			if item["role"] != "tool_call_invocation" {
				continue
			}
			if item["name"] != "transition_to_node" {
				seen["tool calls"]++
				if !slices.Contains(carried, item["name"]) {
					t.Fatalf("call %s: %s does not carry the tool %v but %v", c["id"], target, item["name"], carried)
				}
				continue
			}
			seen["moves"]++
			to := member(item, "arguments", "node")
			if !edges[[2]any{at, to}] {
				t.Fatalf("call %s: %s, of type %v, has no edge from %v to %v", c["id"], target, agent["type"], at, to)
			}
			if !failed[item["tool_call_id"]] {
				at = to
			}
		}
		if at != "start" {
			seen["calls that walk a flow"]++
		} else if agent["type"] == "single_prompt" && len(transcript) > 10 {
			seen["calls of a single prompt"]++
		}
	}
	for _, name := range []string{"moves", "tool calls", "calls that walk a flow", "calls of a single prompt", "type unknown"} {
		if seen[name] < 3 {
			t.Errorf("%d %s", seen[name], name)
		}
	}
	if unknown := len(getAll(t, s, "limit=100&call_type=unknown")); unknown != seen["type unknown"] {
		t.Errorf("%d calls of type unknown are found, of %d", unknown, seen["type unknown"])
	}
}

// registered fetches a schema from the registry and compiles it.
func registered(t testing.TB, s http.Handler, path string) *jsonschema.Schema {
	t.Helper()
	status, answer := send(t, s, "GET", "/v3/schemas/"+path, "")
	if status != http.StatusOK {
		t.Fatalf("%s: %d %v", path, status, answer)
	}
	c := jsonschema.NewCompiler()
	test.OK(t, c.AddResource("mem:///"+path, answer["schema"]))
	compiled, err := c.Compile("mem:///" + path) // this also validates it against its draft's own schema
	test.OK(t, err)
	return compiled
}

// fits validates a value's JSON against a schema, as a client would.
func fits(t testing.TB, schema *jsonschema.Schema, value any) error {
	t.Helper()
	text, err := json.Marshal(value)
	test.OK(t, err)
	value, err = jsonschema.UnmarshalJSON(bytes.NewReader(text))
	test.OK(t, err)
	return schema.Validate(value)
}

// TestRegistryHasTheSchemasOfAgents validates the settings, tools and flows of all agents at
// several times against the registry's schemas.
func TestRegistryHasTheSchemasOfAgents(t *testing.T) {
	s := newServer(t, Options{World: Config{Calls: 50}})
	data, flow := registered(t, s, "agent-schema/data"), registered(t, s, "flow-schema/flow")
	tools := map[string]*jsonschema.Schema{}
	for _, kind := range []string{"transfer_call", "transfer_agent", "send_sms", "send_dtmf", "skill", "end_call"} {
		tools[kind] = registered(t, s, "tool-schema/"+kind)
	}
	_, made := send(t, s, "POST", "/v3/agents", `{"name":"new","data":{"prompt":{"firstLine":null},"mine":{"x":1},"builtInTools":[{"toolType":"send_dtmf","allowInterruption":true}]},
		"flow":{"nodes":[{"id":"a","type":"condition","data":{"y":1}}],"edges":[]}}`)
	agents, flows, used := 0, 0, 0
	for _, days := range []int{0, 40} {
		for _, a := range s.Organisation().Truth("agents", s.Now().AddDate(0, 0, -days)) {
			agents++
			settings := a.Object["data"].(organisation.Object)
			if err := fits(t, data, settings); err != nil {
				t.Errorf("%s: %v", a.ID, err)
			}
			for _, tool := range settings["builtInTools"].([]any) {
				used++
				if err := fits(t, tools[tool.(organisation.Object)["toolType"].(string)], tool); err != nil {
					t.Errorf("%s: %v", a.ID, err)
				}
			}
			if graph := a.Object["flow"]; graph != nil {
				flows++
				if err := fits(t, flow, graph); err != nil {
					t.Errorf("%s: %v", a.ID, err)
				}
			}
		}
	}
	if agents < 60 || flows < 5 || used < 20 || made["id"] == nil {
		t.Errorf("only %d agents, %d flows, %d tools; %v", agents, flows, used, made)
	}
}

// TestEverySchemaIsOne compiles all schemas of a large organisation's registry, now and after edits.
func TestEverySchemaIsOne(t *testing.T) {
	s := newServer(t, Options{World: Config{Calls: 5}, Organisation: organisation.Config{Sizes: organisation.Large(), Pace: 20}})
	seen, versions := map[string]bool{}, map[any]bool{}
	for range 2 {
		for _, e := range s.Organisation().Truth("schemas", s.Now()) {
			seen[e.ID], versions[e.Object["version"]] = true, true
			registered(t, s, e.ID)
		}
		s.opts.Clock.Advance(30 * day)
	}
	if len(seen) != 41 || len(versions) < 2 {
		t.Errorf("%d schemas in the versions %v", len(seen), versions)
	}
}
