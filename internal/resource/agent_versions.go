package resource

import "callhouse/internal/schema"

// AgentVersions are the published versions of agents. The list of an agent's versions has no pages,
// and is requested when the agent changes.
var AgentVersions = Declare(Resource{
	Name: "agent_versions", Doc: "published versions of agents",
	Path: "/v3/agents/{}/versions", Parent: Agents, Items: "versions", Unpaged: true,
	Key: []string{"agent_id", "version"},
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
)
