package operation

import (
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"callhouse/internal/sandbox/organisation"
)

//go:embed schemas/*.yaml
var schemaFiles embed.FS

type object = map[string]any

// schemas are the schemas of bodies and answers by name: those of the files, and
// those of the lists of v3, which are alike.
var schemas = sync.OnceValue(func() object {
	all := object{}
	files, err := schemaFiles.ReadDir("schemas")
	if err != nil {
		panic("sandbox: " + err.Error()) // they are embedded
	}
	for _, f := range files {
		text, err := schemaFiles.ReadFile("schemas/" + f.Name())
		if err == nil {
			err = yaml.Unmarshal(text, &all)
		}
		if err != nil {
			panic(fmt.Sprintf("sandbox: %s: %v", f.Name(), err)) // they are ours
		}
	}
	maps.Copy(all, organisation.Definitions())
	all["CallList"] = list("CallListItemResponse", "items", true)
	for _, r := range organisation.All {
		name := camel(strings.TrimSuffix(r.Name, "s"))
		item, items := answerOf(r), "items"
		if r.Items != "" {
			items = r.Items
		}
		if name == "Agent" {
			item = "AgentSummary"
		}
		all[name+"List"] = list(item, items, !r.Unpaged)
	}
	return all
})

// list is the schema of an envelope.
func list(item, items string, paged bool) object {
	properties := object{items: object{"type": "array", "items": ref(item)}, "total_count": object{"type": "integer", "minimum": 0}}
	required := []any{items, "total_count"}
	if paged {
		properties["next_cursor"] = object{"type": []any{"string", "null"}}
		required = append(required, "next_cursor")
	}
	return object{"type": "object", "required": required, "properties": properties}
}

func ref(name string) object { return object{"$ref": "#/components/schemas/" + name} }

// failures are the statuses of failures that an operation documents.
func failures(v2 bool) []int {
	if v2 {
		return []int{401, 403, 404, 409, 422, 429, 500, 503}
	}
	return []int{400, 401, 403, 404, 409, 429, 500, 503}
}

// Document returns the OpenAPI document of v3, or of v2, as JSON.
func Document(v2 bool) []byte {
	title, version, prefix := "Callhouse sandbox", "3", "/v3/"
	if v2 {
		title, version, prefix = "Callhouse sandbox, deprecated API", "2", "/v2/"
	}
	paths, used := object{}, object{}
	for i := range All {
		o := &All[i]
		if o.V2() != v2 {
			continue
		}
		item, _ := paths[o.Path].(object)
		if item == nil {
			item = object{}
			paths[o.Path] = item
		}
		item[strings.ToLower(o.Method)] = o.describe()
		use(used, item)
	}
	document := object{
		"openapi": "3.1.0",
		"info": object{
			"title": title, "version": version,
			"description": "A stand-in for the call service. x-from says where an operation is taken from; only what is of the contract can be relied on.",
		},
		"servers":  []any{object{"url": "/", "description": "where this document is: paths begin with " + prefix}},
		"security": []any{object{"key": []any{}}},
		"paths":    paths,
		"components": object{
			"schemas":         used,
			"securitySchemes": object{"key": object{"type": "http", "scheme": "bearer", "description": "an organisation's API key"}},
		},
	}
	b, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		panic("sandbox: " + err.Error()) // all of it is ours
	}
	return append(b, '\n')
}

// use adds the schemas that a value refers to.
func use(used object, value any) {
	switch v := value.(type) {
	case object:
		for key, value := range v {
			name, ok := value.(string)
			if key == "$ref" && ok {
				name = strings.TrimPrefix(name, "#/components/schemas/")
				if used[name] == nil {
					used[name] = schemas()[name]
					use(used, used[name])
				}
			}
			use(used, value)
		}
	case []any:
		for _, value := range v {
			use(used, value)
		}
	}
}

// describe is an operation as OpenAPI tells it.
func (o *Operation) describe() object {
	tag, _, _ := strings.Cut(strings.Trim(o.Path, "/"), "/{")
	tag = strings.Split(tag, "/")[1]
	d := object{
		"operationId": o.ID, "summary": o.Summary, "tags": []any{tag}, "x-from": o.From,
	}
	if o.Beware != "" {
		d["description"] = "A client must not rely on: " + o.Beware + "."
	}
	if o.V2() {
		d["deprecated"] = true
	}
	if all := o.parameters(); len(all) > 0 {
		d["parameters"] = all
	}
	if o.Body != "" {
		d["requestBody"] = object{"required": true, "content": object{"application/json": object{"schema": ref(o.Body)}}}
	}
	responses := object{fmt.Sprint(o.Good()): object{"description": http.StatusText(o.Good()), "content": object{"application/json": object{"schema": ref(o.Answer)}}}}
	failed := "Error"
	if o.V2() {
		failed = "ErrorV2"
	}
	for _, status := range failures(o.V2()) {
		responses[fmt.Sprint(status)] = object{"description": http.StatusText(status), "content": object{"application/json": object{"schema": ref(failed)}}}
	}
	d["responses"] = responses
	return d
}

func (o *Operation) parameters() []any {
	var all []any
	for part := range strings.SplitSeq(o.Path, "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			name = strings.TrimSuffix(name, "}")
			schema := object{"type": "string", "minLength": 1}
			if name == "knowledge_id" {
				schema = object{"type": "integer", "format": "int64"}
			}
			all = append(all, object{"name": name, "in": "path", "required": true, "schema": schema})
		}
	}
	for _, p := range o.Query {
		d := object{"name": p.Name, "in": "query", "schema": p.schema()}
		if p.Note != "" {
			d["description"] = p.Note
		}
		all = append(all, d)
	}
	return all
}

// schema is what a parameter's value can be.
func (p *Parameter) schema() object {
	s := object{"type": p.Type}
	switch {
	case p.Values != nil:
		s["enum"] = p.Values
	case p.Type == "string":
		s["minLength"] = 1
	case p.Type == "integer" && p.Min < p.Max:
		s["minimum"], s["maximum"] = p.Min, p.Max
	case p.Type == "integer":
		s["format"] = "int64"
	}
	if p.Default != "" {
		var value any
		if json.Unmarshal([]byte(p.Default), &value) != nil {
			value = p.Default
		}
		s["default"] = value
	}
	if p.Many {
		many := maps.Clone(s)
		delete(many, "default")
		s = object{"type": "array", "items": many, "minItems": 1}
	}
	return s
}
