package operation

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
)

// failures returns the documented failure statuses of operations.
func failures(v2 bool) []int {
	if v2 {
		return []int{401, 403, 404, 409, 422, 429, 500, 503}
	}
	return []int{400, 401, 403, 404, 409, 429, 500, 503}
}

// Document returns the OpenAPI document of v3 or v2 as JSON.
func Document(v2 bool) []byte {
	title, version, prefix := "Callhouse sandbox", "3", "/v3/"
	if v2 {
		title, version, prefix = "Callhouse sandbox, deprecated API", "2", "/v2/"
	}
	paths, used := Object{}, Object{}
	all := All()
	for i := range all {
		o := &all[i]
		if o.V2() != v2 {
			continue
		}
		item, _ := paths[o.Path].(Object)
		if item == nil {
			item = Object{}
			paths[o.Path] = item
		}
		item[strings.ToLower(o.Method)] = o.describe()
		Use(used, item)
	}
	document := Object{
		"openapi": "3.1.0",
		"info": Object{
			"title": title, "version": version,
			"description": "A stand-in for the call service. x-from names the source of an operation; " +
				"rely only on operations of the contract.",
		},
		"servers":  []any{Object{"url": "/", "description": "location of this document; paths start with " + prefix}},
		"security": []any{Object{"key": []any{}}},
		"paths":    paths,
		"components": Object{
			"schemas":         used,
			"securitySchemes": Object{"key": Object{"type": "http", "scheme": "bearer", "description": "an organisation's API key"}},
		},
	}
	b, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		panic("sandbox: " + err.Error()) // built-in
	}
	return append(b, '\n')
}

// Use adds the schemas that a value refers to.
func Use(used Object, value any) {
	switch v := value.(type) {
	case Object:
		for key, value := range v {
			name, ok := value.(string)
			if key == "$ref" && ok {
				name = strings.TrimPrefix(name, prefix)
				if used[name] == nil {
					used[name] = Schemas()[name]
					Use(used, used[name])
				}
			}
			Use(used, value)
		}
	case []any:
		for _, value := range v {
			Use(used, value)
		}
	}
}

// describe returns the operation's OpenAPI object.
func (o *Operation) describe() Object {
	tag, _, _ := strings.Cut(strings.Trim(o.Path, "/"), "/{")
	tag = strings.Split(tag, "/")[1]
	d := Object{
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
		d["requestBody"] = Object{"required": true, "content": content(o.Body)}
	}
	responses := Object{fmt.Sprint(o.Good()): response(o.Good(), o.Answer)}
	failed := "Error"
	if o.V2() {
		failed = "ErrorV2"
	}
	for _, status := range failures(o.V2()) {
		responses[fmt.Sprint(status)] = response(status, failed)
	}
	d["responses"] = responses
	return d
}

func response(status int, schema string) Object {
	return Object{"description": http.StatusText(status), "content": content(schema)}
}

func content(schema string) Object {
	return Object{"application/json": Object{"schema": Ref(schema)}}
}

func (o *Operation) parameters() []any {
	var all []any
	for part := range strings.SplitSeq(o.Path, "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			name = strings.TrimSuffix(name, "}")
			schema := Object{"type": "string", "minLength": 1}
			if name == "knowledge_id" {
				schema = Object{"type": "integer", "format": "int64"}
			}
			all = append(all, Object{"name": name, "in": "path", "required": true, "schema": schema})
		}
	}
	for _, p := range o.Query {
		d := Object{"name": p.Name, "in": "query", "schema": p.schema()}
		if p.Note != "" {
			d["description"] = p.Note
		}
		all = append(all, d)
	}
	return all
}

// schema returns the schema of a parameter's value.
func (p *Parameter) schema() Object {
	s := Object{"type": p.Type}
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
		s = Object{"type": "array", "items": many, "minItems": 1}
	}
	return s
}
