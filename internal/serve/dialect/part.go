package dialect

import (
	"cmp"
	"slices"
	"strings"

	"callhouse/internal/serve/pgcatalog"
)

// partOf makes a SELECT of one call read only the piece of a file with it.
func (a *Asked) partOf(n node) {
	from := asNode(n["from_table"])
	name, schema := strings.ToLower(text(from["table_name"])), strings.ToLower(text(from["schema_name"]))
	if a.Part == nil || text(from["type"]) != "BASE_TABLE" || !slices.Contains(pgcatalog.Parted, name) ||
		schema != "public" && schema != pgcatalog.NewestSchema && (schema != "" || a.withs[name]) {
		return
	}
	id := a.callOf(n["where_clause"], cmp.Or(strings.ToLower(text(from["alias"])), name))
	if id == "" || a.refused != nil {
		return
	}
	part, err := a.Part(id)
	if a.refused = err; part != "" {
		from["schema_name"] = part
		a.changed = true
	}
}

// callOf returns the id that a condition requires of a table's calls; empty: none, or not known
// yet.
func (a *Asked) callOf(where any, of string) string {
	n := asNode(where)
	switch text(n["type"]) {
	case "CONJUNCTION_AND":
		kids, _ := n["children"].([]any)
		for _, kid := range kids {
			if id := a.callOf(kid, of); id != "" {
				return id
			}
		}
	case "COMPARE_EQUAL":
		for _, sides := range [][2]any{{n["left"], n["right"]}, {n["right"], n["left"]}} {
			names, _ := asNode(sides[0])["column_names"].([]any)
			isOf := len(names) == 1 || len(names) > 1 && strings.EqualFold(text(names[len(names)-2]), of) // not another table's
			if isOf && lastName(sides[0]) == "call_id" {
				return a.textOf(sides[1])
			}
		}
	}
	return ""
}

// textOf returns the text of a constant or parameter.
func (a *Asked) textOf(n any) string {
	if t, _ := asNode(n)["cast_type"].(node); text(t["id"]) == "VARCHAR" {
		n = asNode(n)["child"]
	}
	if s, ok := constantText(n); ok {
		return s
	}
	i, ok := a.parameterOf(asNode(n))
	if !ok {
		return ""
	}
	a.ByValue = true
	if i > len(a.Values) {
		return ""
	}
	s, _ := a.Values[i-1].(string)
	return s
}
