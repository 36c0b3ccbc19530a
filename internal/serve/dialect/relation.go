package dialect

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"callhouse/internal/serve/pgcatalog"
)

// lastName returns a column's name without qualifiers; empty: no column.
func lastName(n any) string {
	c, _ := n.(node)
	names, _ := c["column_names"].([]any)
	if len(names) == 0 {
		return ""
	}
	return strings.ToLower(text(names[len(names)-1]))
}

// systemColumn are columns of every Postgres table.
var systemColumn = map[string]bool{"tableoid": true, "xmin": true}

// systemColumns fills in the hidden columns of the catalog's relations. above are the relations of
// the outer queries by alias.
func (a *Asked) systemColumns(n any, above map[string]string) {
	switch n := n.(type) {
	case []any:
		for _, kid := range n {
			a.systemColumns(kid, above)
		}
	case node:
		if from, ok := n["from_table"]; ok {
			scope := maps.Clone(above)
			if scope == nil {
				scope = map[string]string{}
			}
			relations(from, scope)
			above = scope
		}
		items, _ := n["select_list"].([]any)
		for _, item := range items {
			if name := lastName(item); systemColumn[name] && text(item.(node)["alias"]) == "" {
				item.(node)["alias"] = name
			}
		}
		if systemColumn[lastName(n)] && a.systemColumnOf(n, above) {
			return
		}
		for _, kid := range n {
			a.systemColumns(kid, above)
		}
	}
}

// systemColumnOf fills in one such column of a catalog relation.
func (a *Asked) systemColumnOf(n node, above map[string]string) bool {
	names, _ := n["column_names"].([]any)
	of := ""
	if len(names) > 1 {
		of = above[strings.ToLower(text(names[len(names)-2]))]
	} else if len(above) == 1 {
		for _, of = range above { // the only one
		}
	}
	if !pgcatalog.Relations()[of] {
		return false
	}
	by := oidOf("relation", constant(of))
	if lastName(n) == "xmin" {
		by = call(schemaOf, "txid_current")
	}
	a.put(n, by)
	return true
}

// relations adds the tables of a FROM to a scope.
func relations(from any, scope map[string]string) {
	n, _ := from.(node)
	switch text(n["type"]) {
	case "JOIN":
		relations(n["left"], scope)
		relations(n["right"], scope)
	case "BASE_TABLE":
		name := strings.ToLower(text(n["table_name"]))
		alias := strings.ToLower(text(n["alias"]))
		if alias == "" {
			alias = name
		}
		scope[alias] = name
	case "SUBQUERY", "TABLE_FUNCTION":
		scope[strings.ToLower(text(n["alias"]))] = ""
	}
}

// relation maps names of the catalog to our schema, and drops the database and the schema public.
func (a *Asked) relation(n node) {
	catalog, schema, name := strings.ToLower(text(n["catalog_name"])), strings.ToLower(text(n["schema_name"])),
		strings.ToLower(text(n["table_name"]))
	if catalog == database {
		n["catalog_name"], catalog = "", ""
		a.changed = true
	}
	if catalog != "" {
		return
	}
	ours := ""
	switch {
	case schema == "public":
		n["schema_name"] = ""
		a.changed = true
	case schema == "information_schema":
		ours = "info_" + name
	case schema == "pg_catalog", schema == "" && !a.withs[name] && strings.HasPrefix(name, "pg_"):
		ours = name
	}
	if !pgcatalog.Relations()[ours] {
		return
	}
	n["schema_name"], n["table_name"] = pgcatalog.Schema, ours
	if text(n["alias"]) == "" {
		n["alias"] = name
	}
	a.changed = true
}

// innerCross gives cross joins within another join a condition. DuckDB serializes a cross join as a
// comma without parentheses, which binds weaker than the surrounding join.
func innerCross(n node) {
	if text(n["ref_type"]) == "CROSS" {
		return
	}
	for _, side := range []string{"left", "right"} {
		if kid := asNode(n[side]); text(kid["type"]) == "JOIN" && text(kid["ref_type"]) == "CROSS" {
			kid["ref_type"], kid["condition"] = "REGULAR", castTo(constant("true"), "BOOLEAN")
			innerCross(kid)
		}
	}
}

// values gives the columns of VALUES their Postgres names.
func (a *Asked) values(n node) {
	rows, _ := n["values"].([]any)
	if names, _ := n["expected_names"].([]any); len(names) > 0 || len(rows) == 0 {
		return
	}
	cells, _ := rows[0].([]any)
	var names []any
	for i := range cells {
		names = append(names, fmt.Sprint("column", i+1))
	}
	n["expected_names"] = names
	a.changed = true
}

// tableFunction names the single column of a table function after its alias, as Postgres does.
func (a *Asked) tableFunction(n node) {
	of, _ := n["function"].(node)
	columns, _ := n["column_name_alias"].([]any)
	alias := text(n["alias"])
	if strings.EqualFold(text(of["function_name"]), "pg_partition_ancestors") { // there are no partitions
		n["function"] = call("", "unnest", castTo(call("", "list_value"), "UINTEGER[]"))
		a.changed = true
	}
	if name := strings.ToLower(text(of["function_name"])); name == "string_split" || text(of["schema"]) == schemaOf &&
		pgcatalog.Functions()[name] && !pgcatalog.TableFunctions()[name] {
		if alias == "" {
			n["alias"], alias = name, name
		}
		if len(columns) == 0 {
			n["column_name_alias"] = []any{alias}
		}
		n["function"] = call("", "unnest", call("", "list_value", of)) // its single value as a row
		a.changed = true
		return
	}
	if isShortSeries(of) {
		n["function"] = call("", "unnest", castTo(of, "INTEGER[]")) // DuckDB returns bigint
		if alias == "" {
			n["alias"], alias = "generate_series", "generate_series"
		}
		if len(columns) == 0 {
			n["column_name_alias"] = []any{alias}
		}
		a.changed = true
		return
	}
	list, _ := of["children"].([]any)
	if len(columns) == 0 && len(list) == 1 && isElements(list[0]) && a.says("value") {
		n["column_name_alias"] = []any{"value"}
		if alias == "" {
			n["alias"] = "value"
		}
		a.changed = true
		return
	}
	if len(columns) > 0 || alias == "" {
		return
	}
	switch strings.ToLower(text(of["function_name"])) {
	case "generate_series", "unnest", "generate_subscripts":
		n["column_name_alias"] = []any{alias}
		a.changed = true
	}
}

// isElements reports whether an expression is the elements of a JSON array.
func isElements(n any) bool {
	return strings.HasPrefix(text(asNode(n)["function_name"]), "json_extract")
}

// isShortSeries reports whether a series has integers and is short enough for a list.
func isShortSeries(of node) bool {
	args, _ := of["children"].([]any)
	for _, arg := range args {
		c, _ := arg.(node)
		v, _ := c["value"].(node)
		t, _ := v["type"].(node)
		number, ok := v["value"].(json.Number)
		if i, err := number.Int64(); !ok || err != nil || text(t["id"]) != "INTEGER" || i < -shortSeries || i > shortSeries {
			return false
		}
	}
	return strings.EqualFold(text(of["function_name"]), "generate_series")
}

const shortSeries = 10_000

// database is the name of the database for clients.
const database = "callhouse"

// column drops the schema of a column, and replaces words that only look like columns.
func (a *Asked) column(n node) {
	names, _ := n["column_names"].([]any)
	a.otherCase(n, names)
	for len(names) > 2 {
		first := strings.ToLower(text(names[0]))
		if first != "public" && first != "pg_catalog" && first != "information_schema" && first != database {
			return
		}
		names = names[1:]
		n["column_names"] = names
		a.changed = true
	}
	if len(names) != 1 || strings.HasPrefix(a.at(n["query_location"]), `"`) {
		return
	}
	switch strings.ToLower(text(names[0])) {
	case "current_user", "session_user", "user", "current_role":
		a.put(n, constant(a.User))
	case "current_catalog":
		a.put(n, constant(database))
	case "current_schema":
		a.put(n, constant("public"))
	}
}
