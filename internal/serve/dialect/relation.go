package dialect

import (
	"encoding/json"
	"fmt"
	"strings"
)

// systemColumn fills in a column that all of Postgres' tables have, of a relation of the catalog.
func (a *Statement) systemColumn(n node, names []any) bool {
	of := a.tables[""]
	if len(names) > 1 {
		of = a.tables[strings.ToLower(text(names[len(names)-2]))]
	}
	name := lastName(n)
	switch {
	case !Relations()[of] || name != "tableoid" && name != "xmin":
		return false
	case name == "xmin":
		a.put(n, call(schemaOf, "txid_current"))
	default:
		a.put(n, oidOf("relation", constant(of)))
	}
	return true
}

// relation maps names of the catalog to our schema, and drops the database and the schema public.
func (a *Statement) relation(n node) {
	catalog, schema, name := small(n, "catalog_name"), small(n, "schema_name"),
		small(n, "table_name")
	if catalog == databaseName {
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
	if !Relations()[ours] {
		return
	}
	n["schema_name"], n["table_name"] = schemaOf, ours
	if aliasOf(n) == "" {
		n["alias"] = name
	}
	a.changed = true
}

// innerCross gives cross joins within another join a condition. DuckDB serializes a cross join as a
// comma without parentheses, which binds weaker than the surrounding join.
func innerCross(n node) {
	if word(n, "ref_type") == "CROSS" {
		return
	}
	for _, side := range []string{"left", "right"} {
		if child := asNode(n[side]); word(child, "type") == "JOIN" && word(child, "ref_type") == "CROSS" {
			child["ref_type"], child["condition"] = "REGULAR", castTo(constant("true"), "BOOLEAN")
			innerCross(child)
		}
	}
}

// values gives the columns of VALUES their Postgres names.
func (a *Statement) values(n node) {
	rows := listOf(n, "values")
	if names := listOf(n, "expected_names"); len(names) > 0 || len(rows) == 0 {
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
func (a *Statement) tableFunction(n node) {
	of := childOf(n, "function")
	name, args, isNamed := callee(of), argsOf(of), len(listOf(n, "column_name_alias")) > 0
	switch {
	case name == "pg_partition_ancestors": // no relation has ancestors
		n["function"] = call("", "unnest", castTo(call("", "list_value"), "UINTEGER[]"))
		if !isNamed {
			n["column_name_alias"] = []any{"relid"}
		}
		a.nameRows(n, name)
	case name == "string_split", word(of, "schema") == schemaOf && Functions()[name] && !tableFunctions()[name]:
		n["function"] = call("", "unnest", call("", "list_value", of)) // its single value as a row
		a.nameRows(n, name)
	case isShortSeries(of):
		n["function"] = call("", "unnest", castTo(of, "INTEGER[]")) // DuckDB returns bigint
		a.nameRows(n, name)
	case name == "generate_subscripts":
		n["function"] = call("", "unnest", call(schemaOf, "subscripts", args...))
		a.nameRows(n, name)
	case !isNamed && len(args) == 1 && strings.HasPrefix(word(args[0], "function_name"), "json_extract") &&
		(aliasOf(n) == "" || a.says("value")):
		n["column_name_alias"] = []any{"value"}
		a.nameRows(n, "value")
	case !isNamed && aliasOf(n) != "" && (name == "generate_series" || name == "unnest" || name == "generate_subscripts"):
		a.nameRows(n, name)
	}
}

// nameRows names the rows of a function and their one column, unless the statement does.
func (a *Statement) nameRows(n node, name string) {
	if aliasOf(n) == "" {
		n["alias"] = name
	}
	if len(listOf(n, "column_name_alias")) == 0 {
		n["column_name_alias"] = []any{aliasOf(n)}
	}
	a.changed = true
}

// isShortSeries reports whether a series has integers and is short enough for a list.
func isShortSeries(of node) bool {
	for _, arg := range argsOf(of) {
		v := childOf(arg, "value")
		number, ok := v["value"].(json.Number)
		if i, err := number.Int64(); !ok || err != nil || word(childOf(v, "type"), "id") != "INTEGER" || i < -shortSeries || i > shortSeries {
			return false
		}
	}
	return strings.EqualFold(word(of, "function_name"), "generate_series")
}

const shortSeries = 10_000

// databaseName is the name of the database for clients.
const databaseName = "callhouse"

// column drops the schema of a column, and replaces words that only look like columns.
func (a *Statement) column(n node) {
	names := pathOf(n)
	if a.systemColumn(n, names) {
		return
	}
	for len(names) > 2 {
		first := strings.ToLower(text(names[0]))
		if first != "public" && first != "pg_catalog" && first != "information_schema" && first != databaseName {
			return
		}
		names = names[1:]
		n["column_names"] = names
		a.changed = true
	}
	if len(names) != 1 || a.spelled(n, `"`) {
		return
	}
	switch strings.ToLower(text(names[0])) {
	case "current_user", "session_user", "user", "current_role":
		a.put(n, constant(a.User))
	case "current_catalog":
		a.put(n, constant(databaseName))
	case "current_schema":
		a.put(n, constant("public"))
	}
}
