package sandbox

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"callhouse/internal/sandbox/organisation"
	"callhouse/internal/test"
)

// registered fetches a schema from the registry and compiles it.
func registered(t testing.TB, s http.Handler, path string) *jsonschema.Schema {
	t.Helper()
	status, answer := send(t, s, "GET", "/v3/schemas/"+path, "")
	if status != http.StatusOK {
		t.Fatalf("%s: %d %v", path, status, answer)
	}
	c := jsonschema.NewCompiler()
	test.OK(t, c.AddResource(path, answer["schema"]))
	compiled, err := c.Compile(path) // this also validates it against its draft's own schema
	test.OK(t, err)
	return compiled
}

// fits validates a value's JSON against a schema, as a client would.
func fits(t testing.TB, schema *jsonschema.Schema, value any) error {
	t.Helper()
	text, err := json.Marshal(value)
	test.OK(t, err)
	if value, err = jsonschema.UnmarshalJSON(bytes.NewReader(text)); err != nil {
		t.Fatal(err)
	}
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

// TestRegistryRefusesWhatTheServiceRefuses validates flows and settings with the service and with
// the registry's schemas. A schema cannot detect flaws of a graph beyond its shape: the answer of
// validate-flow lists them.
func TestRegistryRefusesWhatTheServiceRefuses(t *testing.T) {
	s := newServer(t, Options{World: Config{Calls: 5}})
	flow, data := registered(t, s, "flow-schema/flow"), registered(t, s, "agent-schema/data")
	agree := func(schema *jsonschema.Schema, method, path, name, value string, fit bool) {
		t.Helper()
		status, answer := send(t, s, method, path, fmt.Sprintf(`{%q:%s}`, name, value))
		if err := fits(t, schema, json.RawMessage(value)); (err == nil) != fit || (status == http.StatusOK) != fit {
			t.Errorf("%s: the service answers %d %v, the registry %v", value, status, answer, err)
		}
	}
	for value, fit := range map[string]bool{
		`{"nodes":[{"id":"a","type":"tool","data":{}}],"edges":[]}`:                                             true,
		`{"nodes":[{"id":"a","type":"tool","data":{"z":[1]}}],"edges":[{"id":"e","source":"a","target":"no"}]}`: true,
		// a graph with a flaw
		`{"nodes":[{"id":"a","type":"tool","data":{"knowledge":{"knowledgeIds":[1001]}}}],"edges":[]}`: true,
		`{"nodes":[{"id":"a","type":"tool","data":{"knowledge":{"knowledgeIds":["1"]}}}],"edges":[]}`:  false,
		`{"nodes":[],"edges":[]}`:                                        false,
		`{"nodes":[{"id":"a","type":"tool","data":{}}]}`:                 false,
		`{"nodes":[{"id":"","type":"tool","data":{}}],"edges":[]}`:       false,
		`{"nodes":[{"id":"a","data":{}}],"edges":[]}`:                    false,
		`{"nodes":[{"id":"a","type":"tool","data":{}}],"edges":[{}]}`:    false,
		`{"nodes":[{"id":"a","type":"tool","data":"none"}],"edges":[]}`:  false,
		`[{"nodes":[{"id":"a","type":"tool","data":{}}],"edges":[]}]`:    false,
		`{"nodes":{"id":"a","type":"tool","data":{}},"edges":[],"x":{}}`: false,
	} {
		agree(flow, "POST", "/v3/agents/validate-flow", "flow", value, fit)
	}
	agent := "/v3/agents/" + s.World().Agents()[0].ID.String()
	for value, fit := range map[string]bool{
		`{}`: true, `{"prompt":{"prompt":"Be brief."}}`: true, `{"prompt":null,"speech":{"responsiveness":null}}`: true, `{"mine":1}`: true,
		`{"builtInTools":[]}`: true, `{"builtInTools":null}`: false, `{"builtInTools":[{"name":"x"}]}`: false,
		`{"prompt":"Be brief."}`: false, `{"callSettings":{"callTimeoutInSeconds":"long"}}`: false,
		`{"postCall":{"actions":[{"name":"x","type":"list"}]}}`: false, `{"toolIds":[1]}`: false,
	} {
		agree(data, "PATCH", agent, "data", value, fit)
	}
}

// TestEverySchemaIsOne compiles all schemas of a large organisation's registry, now and after
// edits.
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
