package organisation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"callhouse/internal/sandbox/operation"
)

// schemas are the registry of JSON Schemas. Lists omit the bodies unless requested; an entry is
// requested by namespace and type.
func schemas(o *Organisation, _ string, until int64) []*life {
	return o.populate(population{
		resource: "schemas", name: "schemas", every: 120,
		born: func(d *draw) Object {
			r := operation.Registry()[d.N]
			return Object{
				"namespace": r.Namespace, "schema_type": r.Type, "name": strings.ReplaceAll(r.Type, "_", " "),
				"source": d.Pick("db", "code", "override"), "schema": body(r.Schema, 1),
			}
		},
		edit: func(d *draw, was Object) Object {
			var n int
			_, _ = fmt.Sscanf(fmt.Sprint(was["version"]), "v%d", &n) // v and a number
			return Object{"version": fmt.Sprintf("v%d", n+1), "schema": body(operation.Registry()[d.N].Schema, n+1)}
		},
	}, o.size("schemas"), until)
}

func init() { lives["schemas"] = schemas }

// isBuiltIn reports whether a tool is the platform's own: the registry has its schema.
func isBuiltIn(tool string) bool {
	return slices.ContainsFunc(operation.Registry(), func(r operation.Registered) bool {
		return r.Namespace == "tool-schema" && r.Type == tool
	})
}

// body is a JSON Schema with everything it refers to, under $defs.
func body(schema Object, revision int) Object {
	body, definitions := maps.Clone(schema), Object{}
	if operation.Use(definitions, schema); len(definitions) > 0 {
		body["$defs"] = definitions
	}
	text, err := json.Marshal(body)
	if err == nil {
		body = Object{}
		err = json.Unmarshal(bytes.ReplaceAll(text, []byte("#/components/schemas/"), []byte("#/$defs/")), &body)
	}
	if err != nil {
		panic("sandbox: " + err.Error()) // built-in
	}
	body["$schema"], body["$comment"] = "https://json-schema.org/draft/2020-12/schema", fmt.Sprintf("revision %d", revision)
	return body
}
