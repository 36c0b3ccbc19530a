package organisation

import (
	"fmt"
	"slices"
	"strings"

	"callhouse/internal/sandbox/operation"
)

// schemas is the registry of JSON Schemas. Lists omit the bodies unless requested; an entry is
// requested by namespace and type.
func init() {
	populated("schemas", population{
		every: 120,
		born: func(d *draw) Object {
			r := operation.Registry()[d.n]
			return Object{
				"namespace": r.Namespace, "schema_type": r.Type, "name": strings.ReplaceAll(r.Type, "_", " "),
				"source": pick(&d.Dice, "db", "code", "override"), "schema": body(r.Schema, 1),
			}
		},
		edit: func(d *draw, was Object) Object {
			var n int
			_, _ = fmt.Sscanf(fmt.Sprint(was["version"]), "v%d", &n) // v and a number
			return Object{"version": fmt.Sprintf("v%d", n+1), "schema": body(operation.Registry()[d.n].Schema, n+1)}
		},
	})
}

// isBuiltIn reports whether a tool is the platform's own: the registry has its schema.
func isBuiltIn(tool string) bool {
	return slices.ContainsFunc(operation.Registry(), func(r operation.Registered) bool {
		return r.Namespace == "tool-schema" && r.Type == tool
	})
}

// body is a JSON Schema with everything it refers to.
func body(schema Object, revision int) Object {
	definitions := Object{}
	body := inlined(schema, definitions).(Object)
	body["$schema"], body["$comment"] = "https://json-schema.org/draft/2020-12/schema", fmt.Sprintf("revision %d", revision)
	if len(definitions) > 0 {
		body["$defs"] = definitions
	}
	return body
}

// inlined copies a schema for a document with definitions under $defs, and adds the referenced
// ones.
func inlined(value any, definitions Object) any {
	switch v := value.(type) {
	case Object:
		all := Object{}
		for key, value := range v {
			text, _ := value.(string)
			name, ok := strings.CutPrefix(text, "#/components/schemas/")
			if !ok {
				all[key] = inlined(value, definitions)
				continue
			}
			all[key] = "#/$defs/" + name
			if definitions[name] == nil {
				definitions[name] = true // in progress
				definitions[name] = inlined(operation.Schemas()[name], definitions)
			}
		}
		return all
	case []any:
		all := make([]any, len(v))
		for i, value := range v {
			all[i] = inlined(value, definitions)
		}
		return all
	}
	return value
}
