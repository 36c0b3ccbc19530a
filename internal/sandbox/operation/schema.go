package operation

import (
	"fmt"
	"maps"
	"strings"
	"sync"
)

// Object is a JSON object.
type Object = map[string]any

// prefix precedes the names of schemas in references.
const prefix = "#/components/schemas/"

// Ref returns a reference to a schema.
func Ref(name string) Object { return Object{"$ref": prefix + name} }

// Schemas are the schemas of bodies and answers by name, as in an OpenAPI document: those of the
// files, and those of v3's lists. Declarations of new objects' values are only for New.
var Schemas = sync.OnceValue(func() Object {
	all := Object{}
	read("schemas/*.yaml", func(string) any { return &all })
	for _, r := range Resources() {
		maps.Copy(all, r.Schemas)
	}
	for name := range all {
		fields[name], fresh[name] = properties(all, name), Object{}
		for field, schema := range fields[name] {
			if value, ok := schema["x-new"]; (ok || nullable(schema)) && value != "absent" {
				fresh[name][field] = Whole(value)
			}
		}
	}
	for _, of := range fields { // not part of a document
		for _, schema := range of {
			delete(schema, "x-new")
		}
	}
	all["CallList"] = list("CallListItemResponse", "items", true)
	for _, r := range Resources() {
		all[camel(r.singular())+"List"] = list(r.Listed, r.Items, !r.Unpaged)
	}
	return all
})

var (
	fields = map[string]map[string]Object{} // schemas of an object's fields, by its schema
	fresh  = map[string]Object{}            // their values in a new object
)

// New returns an object of a schema: its x-new values, null for nullable fields unless x-new says
// absent, and the given fields. usually applies only to fields that the schema has.
func New(schema string, given, usually Object) Object {
	Schemas()
	o := maps.Clone(fresh[schema])
	for name, value := range usually {
		if fields[schema][name] != nil {
			o[name] = value
		}
	}
	maps.Copy(o, given)
	return o
}

// properties returns the fields of a schema, including those of its parts.
func properties(all Object, name string) map[string]Object {
	found := map[string]Object{}
	var add func(schema any)
	add = func(schema any) {
		s, _ := schema.(Object)
		if of, ok := s["$ref"].(string); ok {
			add(all[strings.TrimPrefix(of, prefix)])
		}
		parts, _ := s["allOf"].([]any)
		for _, part := range parts {
			add(part)
		}
		own, _ := s["properties"].(Object)
		for field, schema := range own {
			found[field], _ = schema.(Object)
		}
	}
	add(all[name])
	return found
}

// nullable reports whether a schema allows null.
func nullable(schema Object) bool {
	types, _ := schema["type"].([]any)
	for _, t := range types {
		if t == "null" {
			return true
		}
	}
	ways, _ := schema["oneOf"].([]any)
	for _, way := range ways {
		if s, _ := way.(Object); s["type"] == "null" {
			return true
		}
	}
	return false
}

// enum returns the allowed values of a field; nil for any.
func enum(schema, field string) (values []string) {
	all := Schemas()
	s := fields[schema][field]
	if of, ok := s["$ref"].(string); ok {
		s, _ = all[strings.TrimPrefix(of, prefix)].(Object)
	}
	allowed, _ := s["enum"].([]any)
	for _, value := range allowed {
		values = append(values, fmt.Sprint(value))
	}
	return values
}

// Registered is a schema that the service hands out.
type Registered struct {
	Namespace, Type string
	Schema          Object
}

// Registry returns the content of registry.yaml.
var Registry = sync.OnceValue(func() (all []Registered) {
	read("registry.yaml", func(string) any { return &all })
	return all
})

// list returns the schema of a list's envelope.
func list(item, items string, paged bool) Object {
	properties := Object{
		items:         Object{"type": "array", "items": Ref(item)},
		"total_count": Object{"type": "integer", "minimum": 0},
	}
	required := []any{items, "total_count"}
	if paged {
		properties["next_cursor"] = Object{"type": []any{"string", "null"}}
		required = append(required, "next_cursor")
	}
	return Object{"type": "object", "required": required, "properties": properties}
}
