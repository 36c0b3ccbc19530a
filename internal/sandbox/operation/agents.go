package operation

import "net/http"

// agents are what can be done to agents.
var agents = []Operation{
	{
		ID: "validateFlow", Method: http.MethodPost, Path: "/v3/agents/validate-flow", Kind: "write", Resource: "agents", Body: "ValidateFlowRequest", Answer: "FlowValidation",
		Summary: "Whether a flow could be saved, and what is wrong with it",
		From:    "contract: the path, `flow`; invented: the answer, and what makes a flow wrong", Beware: "the shape of the answer",
	},
	{
		ID: "createAgent", Method: http.MethodPost, Path: "/v3/agents", Kind: "write", Resource: "agents", Body: "CreateAgentRequest", Answer: "Agent",
		Summary: "Make an agent; one with a flow is a flow agent",
		From:    "contract: the path, `flow`, `flow_data`, `data`; invented: that `name` is required", Beware: "which settings are required, and their defaults",
	},
	{
		ID: "updateAgent", Method: http.MethodPatch, Path: "/v3/agents/{agent_id}", Kind: "write", Resource: "agents", Body: "UpdateAgentRequest", Answer: "Agent",
		Summary: "Change some of an agent's settings; `builtInTools` replaces all tools",
		From:    "contract: `data` and its rules; invented: that `name`, `flow` and `flow_data` can be changed so, and that a body of nothing is refused",
		Beware:  "that null sets a setting to null",
	},
}

var agentsV2 = Operation{
	ID: "listAgentsV2", Method: http.MethodPost, Path: "/v2/agents/list", Kind: "list", Resource: "v2_agents", Body: "AgentListRequestV2", Answer: "AgentListV2",
	Summary: "Agents, the newest first", From: "contract: the path, and that the body is an object; invented: its members, which are those of the other lists, and the answer", Beware: "the answer, and that the body's members do anything",
}
