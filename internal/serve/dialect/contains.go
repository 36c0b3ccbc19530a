package dialect

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// deepest is the maximum depth of the JSON operand of a containment.
const deepest = 8

// contains tests JSON containment by the paths of the operand: the recursion of DuckDB's own
// function is as deep as the value, which can end its process.
func (a *Asked) contains(n node, args []any) {
	info := kidOf(args[0], "cast_type", "type_info")
	sought, of := args[1], asNode(args[0])
	for classOf(sought) == "CAST" {
		sought = asNode(sought)["child"]
	}
	s, isText := constantText(sought)
	isJSON := aliasOf(info) == "JSON" || columnIs(args[0], "JSON") || isText && strings.HasPrefix(strings.TrimSpace(s), "{\"")
	parameter, isParameter := a.parameterOf(asNode(sought))
	switch {
	case !isJSON:
		return
	case isParameter:
		a.ByValue = true
		if s = "null"; parameter <= len(a.Values) {
			s, _ = a.Values[parameter-1].(string)
		}
	case !isText:
		a.refused = &UnsupportedError{Message: "@> of JSON is supported only with constants and parameters",
			Hint: "compare fields, e.g. x ->> 'a' = '1'"}
		return
	}
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		a.refused = &UnsupportedError{Message: "invalid input syntax for type json", Code: "22P02"}
		return
	}
	if aliasOf(info) != "JSON" {
		of = castTo(of, "JSON")
	}
	found, ok := a.within(of, v, deepest)
	if !ok {
		a.refused = &UnsupportedError{Message: "@> of JSON with more than 8 levels, or with lists of lists or of objects, is not supported",
			Hint: "compare fields, e.g. x ->> 'a' = '1'"}
		return
	}
	if isParameter { // a parameter must stay in the statement
		found = call(schemaOf, "unless_null", castTo(asNode(sought), "VARCHAR"), found)
	}
	a.put(n, call(schemaOf, "unless_null", of, found))
}

// within returns the condition that JSON contains a value. left is the remaining depth.
func (a *Asked) within(of node, v any, left int) (node, bool) {
	switch v := v.(type) {
	case map[string]any:
		all := call(schemaOf, "json_is_kind", of, constant("OBJECT"))
		for _, name := range slices.Sorted(maps.Keys(v)) {
			path := constant("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name))
			inner, ok := a.within(call("", "json_extract", of, path), v[name], left-1)
			if !ok {
				return nil, false
			}
			all = and(all, inner)
		}
		return all, left > 0
	case []any:
		all := call(schemaOf, "json_is_kind", of, constant("ARRAY"))
		for _, e := range v {
			kind, s := scalar(e)
			if kind == "" {
				return nil, false
			}
			all = and(all, call(schemaOf, "json_has", of, constant(kind), constant(s)))
		}
		return all, left > 0
	}
	kind, s := scalar(v)
	is := call(schemaOf, "json_is", of, constant(kind), constant(s))
	if left == deepest { // a list contains its elements only at the top level
		return or(is, call(schemaOf, "json_has", of, constant(kind), constant(s))), true
	}
	return is, true
}

// scalar returns the kind and text of a JSON value; empty if it has parts.
func scalar(v any) (kind, s string) {
	switch v := v.(type) {
	case nil:
		return "NULL", ""
	case bool:
		return "BOOLEAN", strconv.FormatBool(v)
	case json.Number:
		return "NUMBER", v.String()
	case string:
		return "VARCHAR", v
	}
	return "", ""
}
