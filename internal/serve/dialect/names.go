package dialect

import (
	"strconv"
	"strings"

	"callhouse/internal/serve/pgcatalog"
)

// names returns Postgres' names of a statement's unnamed columns; nil if they include a star.
func (a *Asked) names(n any) []string {
	of, _ := n.(node)
	if text(of["type"]) == "SET_OPERATION_NODE" {
		if left, ok := of["left"]; ok {
			return a.names(left)
		}
		if kids, _ := of["children"].([]any); len(kids) > 0 {
			return a.names(kids[0])
		}
	}
	items, _ := of["select_list"].([]any)
	var out []string
	for _, item := range items {
		e, _ := item.(node)
		if text(e["class"]) == "STAR" {
			return nil
		}
		out = append(out, a.name(e))
	}
	return out
}

// name returns Postgres' name of an expression, "" if DuckDB's is the same.
func (a *Asked) name(e node) string {
	if text(e["alias"]) != "" {
		return ""
	}
	switch text(e["class"]) {
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
		if last, ok := e["else_expr"].(node); ok && text(last["class"]) != "CONSTANT" {
			if names, _ := last["column_names"].([]any); len(names) > 0 {
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

// calledNames maps functions to their names in Postgres.
var calledNames = map[string]string{"count_star": "count", "quantile_cont": "percentile_cont", "quantile_disc": "percentile_disc",
	"trim": "btrim", "list_value": "array", "struct_pack": "row"}

// callName returns the name of a call.
func (a *Asked) callName(e node) string {
	if isOperator, _ := e["is_operator"].(bool); isOperator {
		return "?column?"
	}
	name := strings.ToLower(text(e["function_name"]))
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

// castNameOf returns the name of a cast: that of its operand, or else of the type.
func (a *Asked) castNameOf(e node) string {
	child, _ := e["child"].(node)
	t, _ := e["cast_type"].(node)
	if text(child["class"]) == "CAST" {
		if inner := text(asNode(child["child"])["class"]); inner == "CONSTANT" || inner == "CAST" {
			return castName(t)
		}
	}
	if of := a.name(child); of != "?column?" {
		if names, _ := child["column_names"].([]any); of == "" && len(names) > 0 {
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
	switch text(e["subquery_type"]) {
	case "EXISTS", "NOT_EXISTS":
		return "exists"
	case "ANY", "ALL":
		return "?column?"
	}
	inner, _ := e["subquery"].(node)
	if names := a.names(inner["node"]); len(names) == 1 && text(e["subquery_type"]) == "SCALAR" && names[0] != "" {
		return names[0]
	}
	return ""
}

func (a *Asked) operatorName(e node) string {
	switch text(e["type"]) {
	case "OPERATOR_COALESCE":
		return "coalesce"
	case "ARRAY_CONSTRUCTOR":
		return "array"
	case "ARRAY_EXTRACT", "ARRAY_SLICE":
		if kids, _ := e["children"].([]any); len(kids) > 0 {
			if of, _ := kids[0].(node); text(of["class"]) != "COLUMN_REF" {
				return a.name(of)
			}
		}
		return ""
	}
	return "?column?"
}

// isWord are words that look like columns but are replaced by texts.
var isWord = map[string]bool{"current_user": true, "session_user": true, "user": true, "current_role": true,
	"current_catalog": true, "current_schema": true}

// castName returns Postgres' name of a constant with a cast.
func castName(t node) string {
	if name := unbound(t); name != "" {
		return name
	}
	switch id := text(t["id"]); id {
	case "LIST":
		info, _ := t["type_info"].(node)
		inner, _ := info["child_type"].(node)
		return castName(inner)
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

// otherCase refuses a quoted name that differs from a column only in case: DuckDB would use that
// column. Names that the statement defines are allowed.
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

// findGiven collects the column names that a statement defines.
func (a *Asked) findGiven(n any) {
	switch n := n.(type) {
	case []any:
		for _, kid := range n {
			a.findGiven(kid)
		}
	case node:
		if alias := text(n["alias"]); alias != "" {
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
