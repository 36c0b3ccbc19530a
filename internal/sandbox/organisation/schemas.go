package organisation

import (
	"fmt"
	"strings"
)

// schemas is the registry of JSON Schemas. A list has no bodies unless they are
// asked for; an entry is asked for by namespace and type.
var schemas = &Resource{
	Name: "schemas", Own: "schema_id", List: "/v3/schemas", Item: "/v3/schemas/{namespace}/{schema_type}", Fixed: true,
	From:   "contract: paths and parameters; documented: the fields",
	Inside: []string{"schema"}, Include: "include_schema",
	Filters: []Filter{
		is("namespace", false, "agent-schema", "flow-schema", "eval-schema", "tool-schema"),
		{Name: "category", Contract: true, Match: is("category", false).Match},
	},
	ID: func(o Object) string { return fmt.Sprintf("%v/%v", o["namespace"], o["schema_type"]) },
	lives: func(o *Organisation, _ string, until int64) []*life {
		return o.populate("schemas", population{
			places: o.cfg.Sizes.Schemas, every: 120,
			born: func(d *draw) Object {
				// The shares are those seen of the service: 15, 12, 7 and 7 of 41.
				namespace := strings.Fields("agent-schema flow-schema eval-schema tool-schema agent-schema flow-schema agent-schema")[d.n%7]
				kind := fmt.Sprintf("%s_%d", strings.TrimSuffix(namespace, "-schema"), d.n)
				return Object{
					"id": d.id, "namespace": namespace, "schema_type": kind, "version": "v1", "name": strings.ReplaceAll(kind, "_", " "),
					"source": pick(&d.Dice, "db", "code", "override"), "is_active": true, "category": "agent_authoring", "description": nil,
					"schema": schemaOf(d), "created_at": d.at, "updated_at": d.at,
				}
			},
			edit: func(d *draw, was Object) Object {
				var n int
				_, _ = fmt.Sscanf(fmt.Sprint(was["version"]), "v%d", &n) // it is ours
				return Object{"version": fmt.Sprintf("v%d", n+1), "schema": schemaOf(d)}
			},
		}, until)
	},
}

func schemaOf(d *draw) Object {
	return Object{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
		"properties":           Object{"name": Object{"type": "string", "maxLength": 16 + d.Below(200)}, "enabled": Object{"type": "boolean"}},
		"additionalProperties": d.Chance(.5),
	}
}
