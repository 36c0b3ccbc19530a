package dialect

import (
	"cmp"
	"slices"
	"strings"

	"callhouse/internal/serve/pgcatalog"
)

// partOf makes a SELECT of one call read only the piece of a file that contains it.
func (a *Asked) partOf(n node) {
	from := kidOf(n, "from_table")
	name, schema := small(from, "table_name"), small(from, "schema_name")
	if a.Part == nil || word(from, "type") != "BASE_TABLE" || !slices.Contains(pgcatalog.Parted, name) ||
		schema != "public" && (schema != "" || a.withs[name]) {
		return
	}
	id := a.callOf(n["where_clause"], cmp.Or(small(from, "alias"), name))
	if id == "" || a.refused != nil {
		return
	}
	part, err := a.Part(id)
	if a.refused = err; part != "" {
		from["schema_name"] = part
		a.changed = true
	}
}

// callOf returns the id that a condition requires of a table's calls; empty: none, or not yet
// known.
func (a *Asked) callOf(where any, of string) string {
	n := asNode(where)
	switch word(n, "type") {
	case "CONJUNCTION_AND":
		for _, kid := range argsOf(n) {
			if id := a.callOf(kid, of); id != "" {
				return id
			}
		}
	case "COMPARE_EQUAL":
		for _, sides := range [][2]any{{n["left"], n["right"]}, {n["right"], n["left"]}} {
			table := tableOf(sides[0])
			if lastName(sides[0]) == "call_id" && (table == "" || strings.EqualFold(table, of)) { // and it is not another table's
				return a.textOf(sides[1])
			}
		}
	}
	return ""
}

// textOf returns the text of a constant or parameter.
func (a *Asked) textOf(n any) string {
	if t := kidOf(n, "cast_type"); word(t, "id") == "VARCHAR" {
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
