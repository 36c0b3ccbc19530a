package resource

import "callhouse/internal/schema"

// Schemas are the service's own descriptions of agents, flows, evaluations and tools. Their bodies
// are not requested.
var Schemas = Declare(Resource{
	Name: "schemas", Doc: "schemas of agents, flows, evaluations and tools",
	Path: "/v3/schemas", Every: catalogue, Key: []string{"namespace", "schema_type"},
},
	schema.Column{ID: 2, Name: "schema_type", Type: schema.Text, Required: true, V3: "schema_type",
		Doc: "type of object that it describes"},
	schema.Column{ID: 1, Name: "namespace", Type: schema.Text, Required: true, V3: "namespace",
		Doc: "agent-schema, flow-schema, eval-schema or tool-schema"},
	schema.Column{ID: 3, Name: "schema_id", Type: schema.Text, V3: "id",
		Doc: "id"},
	schema.Column{ID: 4, Name: "version", Type: schema.Word, V3: "version",
		Doc: "version"},
	schema.Column{ID: 5, Name: "name", Type: schema.Text, V3: "name",
		Doc: "name"},
	schema.Column{ID: 6, Name: "from_source", Type: schema.Word, V3: "source",
		Doc: "origin: db, code or override"},
	schema.Column{ID: 7, Name: "is_active", Type: schema.Bool, V3: "is_active",
		Doc: "whether it is active"},
	schema.Column{ID: 8, Name: "category", Type: schema.Word, V3: "category",
		Doc: "category"},
	schema.Column{ID: 9, Name: "description", Type: schema.Text, V3: "description",
		Doc: "description"},
	schema.Column{ID: 10, Name: "created_at", Type: schema.Timestamp, V3: "created_at",
		Doc: "time of creation"},
	schema.Column{ID: 11, Name: "updated_at", Type: schema.Timestamp, V3: "updated_at",
		Doc: "time of the last edit"},
)
