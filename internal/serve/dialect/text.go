package dialect

import (
	"regexp"
	"strings"
)

// bounds maps the spellings of word boundaries in patterns.
var bounds = strings.NewReplacer(`\\`, `\\`, `\m`, `\b`, `\M`, `\b`, `\y`, `\b`)

// pattern converts a pattern to DuckDB's syntax.
func (a *Asked) pattern(of any) {
	if s, ok := constantText(of); ok && bounds.Replace(s) != s {
		asNode(of)["value"].(node)["value"] = bounds.Replace(s)
		a.changed = true
	}
}

// regexpMatch returns the groups of a match, or the whole match.
func (a *Asked) regexpMatch(n node, args []any) {
	s, ok := constantText(args[1])
	if !ok {
		return
	}
	a.pattern(args[1])
	groups := 0
	if re, err := regexp.Compile(bounds.Replace(s)); err == nil {
		groups = re.NumSubexp()
	}
	options := args[2:]
	var found []any
	for i := range groups {
		found = append(found, call("", "regexp_extract", append([]any{args[0], args[1], integer(i + 1)}, options...)...))
	}
	if groups == 0 {
		found = []any{call("", "regexp_extract", append([]any{args[0], args[1], integer(0)}, options...)...)}
	}
	a.put(n, call(schemaOf, "if_found", call("", "regexp_matches", args...), call("", "list_value", found...)))
}

// substr counts characters as Postgres does, even before the beginning of the text.
func (a *Asked) substr(n node, args []any) {
	if len(args) < 2 || isPositive(args[1]) {
		return
	}
	if k := a.kindOf(args[1]); k == int4 || k == int8 {
		a.put(n, call(schemaOf, "substr_from", args...))
	}
}

func isPositive(n any) bool {
	return number(kidOf(n, "value")["value"]) > 0
}

// aggregated converts the list collected by an aggregate to JSON.
func (a *Asked) aggregated(n node) {
	inner := bare(n)
	inner["function_name"], inner["schema"], inner["catalog"] = "list", "", ""
	a.put(n, call("", "to_json", inner))
}

// unnested turns JSON elements into rows.
func (a *Asked) unnested(n node, name string, args []any) {
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
