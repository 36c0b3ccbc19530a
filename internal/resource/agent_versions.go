package resource

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	"callhouse/internal/schema"
)

// AgentVersions are the published versions of agents. The list of an agent's versions has no pages,
// and is requested when the agent changes. The body, which is the agent in that version, never
// changes and is requested at most once.
var AgentVersions = Declare(Resource{
	Name: "agent_versions", Doc: "published versions of agents",
	Text: "data and flow require the setting agent_bodies. agent_versions_at(TIME) lacks them, because they never change.",
	Path: "/v3/agents/{}/versions", Parent: Agents, Items: "versions", Unpaged: true,
	Key:    []string{"agent_id", "version"},
	Record: "/v3/agents/{}", By: "version", Own: []string{"data", "flow"}, Lasting: true, Pick: bodyOf,
},
	schema.Column{ID: 2, Name: "version", Type: schema.Word, Required: true, V3: "version",
		Doc: "name of the version, such as v12, as in agent_version of calls"},
	schema.Column{ID: 1, Name: "agent_id", Type: schema.Text, Required: true,
		Doc: "id of the agent"},
	schema.Column{ID: 3, Name: "is_production", Type: schema.Bool, V3: "is_production",
		Doc: "whether production refers to it"},
	schema.Column{ID: 4, Name: "created_at", Type: schema.Timestamp, V3: "created_at",
		Doc: "time of publication"},
	schema.Column{ID: 5, Name: "description", Type: schema.Text, V3: "description",
		Doc: "description by its publisher"},
	schema.Column{ID: 6, Name: "data", Type: schema.JSON, V3: "data?",
		Doc: "prompt, voice, model and all other settings; null: not fetched"},
	schema.Column{ID: 7, Name: "flow", Type: schema.JSON, V3: "flow?", V2: "flow_data?", AnyValue: true,
		Doc: "nodes and edges of a flow agent"},
)

// bodyOf extracts the agent in a version from the agent's record. The response must name its
// version: storing the current version in place of an older one could never be corrected.
func bodyOf(answer []byte, agent string) ([]byte, error) {
	var a struct {
		ID      string `json:"id"`
		AgentID string `json:"agent_id"`
		Version *struct {
			Version string `json:"version"`
		} `json:"version"`
		Data     json.RawMessage `json:"data,omitempty"`
		Flow     json.RawMessage `json:"flow,omitempty"`
		FlowData json.RawMessage `json:"flow_data,omitempty"`
	}
	if err := json.Unmarshal(answer, &a); err != nil {
		return nil, fmt.Errorf("it is no agent: %w", err)
	}
	if is := cmp.Or(a.ID, a.AgentID); is != agent {
		return nil, fmt.Errorf("it is another agent: %q", is)
	}
	if a.Version == nil {
		return nil, errors.New("it does not name its version")
	}
	body := map[string]any{"version": a.Version.Version}
	for name, value := range map[string]json.RawMessage{"data": a.Data, "flow": a.Flow, "flow_data": a.FlowData} {
		if value != nil {
			body[name] = value
		}
	}
	return json.Marshal(body)
}
