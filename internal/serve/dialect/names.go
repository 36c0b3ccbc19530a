package dialect

import (
	"strconv"
	"strings"

	"callhouse/internal/serve/pgcatalog"
)

// names returns what Postgres calls the columns of a statement that does not say so itself;
// nil where a star stands among them.
func (a *Asked) names(n any) []string {
	of := asNode(n)
	if word(of, "type") == "SET_OPERATION_NODE" {
		if left, ok := of["left"]; ok {
			return a.names(left)
		}
		if kids := listOf(of, "children"); len(kids) > 0 {
			return a.names(kids[0])
		}
	}
	var out []string
	for _, item := range listOf(of, "select_list") {
		e := asNode(item)
		if word(e, "class") == "STAR" {
			return nil
		}
		out = append(out, a.name(e))
	}
	return out
}

// name returns what Postgres calls an expression, "" where DuckDB calls it the same.
func (a *Asked) name(e node) string {
	if word(e, "alias") != "" {
		return ""
	}
	switch word(e, "class") {
	case "COLUMN_REF":
		if name := lastName(e); isWord[name] {
			return name
		}
		return ""
	case "FUNCTION", "WINDOW":
		return a.callName(e)
	case "CAST":
		return a.castNameOf(e)
	case "CASE":
		if last, ok := e["else_expr"].(node); ok && word(last, "class") != "CONSTANT" {
			if names := listOf(last, "column_names"); len(names) > 0 {
				return text(names[len(names)-1])
			}
			if of := a.name(last); of != "" && of != "?column?" {
				return of
			}
		}
		return "case"
	case "SUBQUERY":
		return a.subqueryName(e)
	case "OPERATOR":
		return a.operatorName(e)
	}
	return "?column?"
}

// calledNames are the names that functions have in Postgres.
var calledNames = map[string]string{"count_star": "count", "quantile_cont": "percentile_cont", "quantile_disc": "percentile_disc",
	"trim": "btrim", "list_value": "array", "struct_pack": "row"}

// callName returns the name of a call.
func (a *Asked) callName(e node) string {
	if isOperator := isSet(e, "is_operator"); isOperator {
		return "?column?"
	}
	name := small(e, "function_name")
	if by := calledNames[name]; by != "" {
		return by
	}
	spelled := strings.ToLower(a.at(e["query_location"]))
	switch {
	case name == "date_part" && strings.HasPrefix(spelled, "extract"):
		return "extract"
	case name == "regexp_full_match" && !strings.HasPrefix(spelled, name):
		return "?column?"
	}
	return name
}

// castNameOf returns the name of a cast: that of what is cast, or else of the type.
func (a *Asked) castNameOf(e node) string {
	child := kidOf(e, "child")
	t := kidOf(e, "cast_type")
	if word(child, "class") == "CAST" {
		if inner := word(kidOf(child, "child"), "class"); inner == "CONSTANT" || inner == "CAST" {
			return castName(t)
		}
	}
	if of := a.name(child); of != "?column?" {
		if names := listOf(child, "column_names"); of == "" && len(names) > 0 {
			return text(names[len(names)-1])
		}
		return of
	}
	spelled := strings.ToLower(a.at(e["query_location"]))
	if strings.HasPrefix(spelled, "::varchar") || strings.HasPrefix(spelled, "::character varying") {
		return "varchar"
	}
	return castName(t)
}

func (a *Asked) subqueryName(e node) string {
	switch word(e, "subquery_type") {
	case "EXISTS", "NOT_EXISTS":
		return "exists"
	case "ANY", "ALL":
		return "?column?"
	}
	if names := a.names(kidOf(e, "subquery")["node"]); len(names) == 1 && word(e, "subquery_type") == "SCALAR" && names[0] != "" {
		return names[0]
	}
	return ""
}

func (a *Asked) operatorName(e node) string {
	switch word(e, "type") {
	case "OPERATOR_COALESCE":
		return "coalesce"
	case "ARRAY_CONSTRUCTOR":
		return "array"
	case "ARRAY_EXTRACT", "ARRAY_SLICE":
		if kids := listOf(e, "children"); len(kids) > 0 {
			if of, _ := kids[0].(node); word(of, "class") != "COLUMN_REF" {
				return a.name(of)
			}
		}
		return ""
	}
	return "?column?"
}

// isWord are words that look like columns, and in whose place stands a text.
var isWord = map[string]bool{"current_user": true, "session_user": true, "user": true, "current_role": true,
	"current_catalog": true, "current_schema": true}

// castName returns what Postgres calls a constant that is cast.
func castName(t node) string {
	if name := unbound(t); name != "" {
		return name
	}
	switch id := word(t, "id"); id {
	case "LIST":
		return castName(kidOf(t, "type_info", "child_type"))
	case "VARCHAR":
		return "text"
	case "BIGINT":
		return "int8"
	case "INTEGER":
		return "int4"
	case "SMALLINT":
		return "int2"
	case "DOUBLE":
		return "float8"
	case "FLOAT":
		return "float4"
	case "BOOLEAN":
		return "bool"
	case "DECIMAL":
		return "numeric"
	case "TIMESTAMP WITH TIME ZONE":
		return "timestamptz"
	case "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS":
		return "timestamp"
	case "DATE", "TIME", "TIMESTAMP", "INTERVAL", "UUID":
		return strings.ToLower(id)
	}
	return ""
}

// otherCase refuses a name in quotes that is a column's in other letters: DuckDB takes it for that
// column. A name that the statement itself gives is whatever it says.
func (a *Asked) otherCase(n node, names []any) {
	name := text(names[len(names)-1])
	small := strings.ToLower(name)
	if name == small || pgcatalog.ColumnTypes()[small] == nil || !a.isQuoted(name) {
		return
	}
	if a.given == nil {
		a.given = map[string]bool{}
		a.findGiven(a.tree)
	}
	if !a.given[name] {
		a.refused = &UnsupportedError{Code: "42703", Message: "column " + strconv.Quote(name) + " does not exist",
			Hint: "the column is called " + small}
	}
}

// findGiven collects the names that a statement gives columns.
func (a *Asked) findGiven(n any) {
	switch n := n.(type) {
	case []any:
		for _, kid := range n {
			a.findGiven(kid)
		}
	case node:
		if alias := word(n, "alias"); alias != "" {
			a.given[alias] = true
		}
		for _, list := range []string{"column_name_alias", "aliases"} {
			names, _ := n[list].([]any)
			for _, name := range names {
				a.given[text(name)] = true
			}
		}
		for _, kid := range n {
			a.findGiven(kid)
		}
	}
}
