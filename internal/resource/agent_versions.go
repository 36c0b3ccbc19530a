package resource

import "callhouse/internal/schema"

// AgentVersions are the published versions of agents. The list of an agent's versions
// has no pages, and is asked for when the agent changes.
var AgentVersions = Declare(Resource{
	Name: "agent_versions", Doc: "published versions of agents",
	Path: "/v3/agents/{}/versions", Parent: Agents, Items: "versions", Unpaged: true,
	Key: []string{"agent_id", "version"},
},
	schema.Column{ID: 2, Name: "version", Type: schema.Word, Required: true, V3: "version",
		Doc: "its name, as in v12, and as in agent_version of calls"},
	schema.Column{ID: 1, Name: "agent_id", Type: schema.Text, Required: true,
		Doc: "its agent"},
	schema.Column{ID: 3, Name: "is_production", Type: schema.Bool, V3: "is_production",
		Doc: "whether production stands for it"},
	schema.Column{ID: 4, Name: "created_at", Type: schema.Timestamp, V3: "created_at",
		Doc: "when it was published"},
	schema.Column{ID: 5, Name: "description", Type: schema.Text, V3: "description",
		Doc: "what whoever published it wrote"},
)
