package resource

import "callhouse/internal/schema"

// Agents are the agents that speak in calls. Their behaviour, data and flow, is only in their own
// record, which is requested when the list shows a change.
var Agents = Declare(Resource{
	Name: "agents", Doc: "agents of the organisation",
	Path: "/v3/agents", Key: []string{"agent_id"},
	Record: "/v3/agents/{}", Own: []string{"data", "flow", "version"},
},
	schema.Column{ID: 1, Name: "agent_id", Type: schema.Text, Required: true, V3: "id", V2: "agent_id",
		Doc: "id of the agent, as in calls"},
	schema.Column{ID: 2, Name: "name", Type: schema.Text, V3: "name",
		Doc: "name"},
	schema.Column{ID: 3, Name: "type", Type: schema.Word, V3: "type", Known: []string{"single_prompt", "flow"},
		Doc: "single_prompt or flow"},
	schema.Column{ID: 4, Name: "created_at", Type: schema.Timestamp, V3: "created_at",
		Doc: "time of creation"},
	schema.Column{ID: 5, Name: "updated_at", Type: schema.Timestamp, V3: "updated_at",
		Doc: "time of the last edit"},
	schema.Column{ID: 6, Name: "production_version", Type: schema.Word, V3: "production_version",
		Doc: "version that production refers to; null: none published"},
	schema.Column{ID: 7, Name: "data", Type: schema.JSON, V3: "data",
		Doc: "prompt, voice, model and all other settings"},
	schema.Column{ID: 8, Name: "flow", Type: schema.JSON, V3: "flow", V2: "flow_data", AnyValue: true, // it was seen under either name
		Doc: "nodes and edges of a flow agent"},
	schema.Column{ID: 9, Name: "version", Type: schema.JSON, V3: "version", AnyValue: true,
		Doc: "version of data and flow; null: the current one"},
)
