package resource

import "callhouse/internal/schema"

// Tools are the tools that agents may call. Headers, which may hold keys, and the queries of
// addresses are withheld.
var Tools = Declare(Resource{
	Name: "tools", Doc: "tools of agents",
	Path: "/v3/tools", Key: []string{"tool_id"},
},
	schema.Column{ID: 1, Name: "tool_id", Type: schema.Text, Required: true, V3: "id", V2: "tool_id",
		Doc: "id of the tool"},
	schema.Column{ID: 2, Name: "name", Type: schema.Text, V3: "name",
		Doc: "name, as tool_name in transcript_turns"},
	schema.Column{ID: 3, Name: "description", Type: schema.Text, V3: "description",
		Doc: "description for the agent"},
	schema.Column{ID: 4, Name: "input_schema", Type: schema.JSON, V3: "input_schema", AnyValue: true,
		Doc: "JSON Schema of its arguments; null: not in the list"},
	schema.Column{ID: 5, Name: "api_configuration", Type: schema.JSON, V3: "api_configuration", AnyValue: true,
		Doc: "address, method and limits of the called API, without headers"},
	schema.Column{ID: 6, Name: "speak_during_execution", Type: schema.JSON, V3: "speak_during_execution", AnyValue: true,
		Doc: "what the agent says during the call of the tool"},
	schema.Column{ID: 7, Name: "allow_interruption", Type: schema.Bool, V3: "allow_interruption_during_execution",
		Doc: "whether the caller may interrupt it"},
	schema.Column{ID: 8, Name: "response_mode", Type: schema.Word, V3: "response_mode",
		Doc: "whether the agent waits for the result"},
	schema.Column{ID: 9, Name: "created_at", Type: schema.Timestamp, V3: "created_at",
		Doc: "time of creation"},
	schema.Column{ID: 10, Name: "updated_at", Type: schema.Timestamp, V3: "updated_at",
		Doc: "time of the last edit"},
)
