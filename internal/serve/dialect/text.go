package dialect

import (
	"strings"
)

// bounds maps the spellings of word boundaries in patterns.
var bounds = strings.NewReplacer(`\\`, `\\`, `\m`, `\b`, `\M`, `\b`, `\y`, `\b`)

// pattern converts a pattern to DuckDB's syntax.
func (a *Statement) pattern(of any) {
	if s, ok := constantText(of); ok && bounds.Replace(s) != s {
		asNode(of)["value"].(node)["value"] = bounds.Replace(s)
		a.changed = true
	}
}

// substr counts characters as Postgres does, even before the beginning of the text.
func (a *Statement) substr(n node, args []any) {
	if len(args) < 2 || number(childOf(args[1], "value")["value"]) > 0 {
		return
	}
	if k := a.kindOf(args[1]); k == int4 || k == int8 {
		a.put(n, call(schemaOf, "substr_from", args...))
	}
}

// aggregated converts the list collected by an aggregate to JSON.
func (a *Statement) aggregated(n node) {
	inner := bare(n)
	inner["function_name"], inner["schema"], inner["catalog"] = "list", "", ""
	a.put(n, call("", "to_json", inner))
}

// unnested turns JSON elements into rows.
func (a *Statement) unnested(n node, name string, args []any) {
	var list node
	switch strings.TrimPrefix(strings.TrimPrefix(name, "jsonb_"), "json_") {
	case "array_elements":
		list = call("", "json_extract", args[0], constant("$[*]"))
	case "array_elements_text":
		list = call("", "json_extract_string", args[0], constant("$[*]"))
	default:
		list = call("", "json_keys", args[0])
	}
	a.put(n, call("", "unnest", list))
}
