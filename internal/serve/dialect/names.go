package dialect

import "cmp"

// names returns Postgres' names of a statement's unnamed columns; nil if they include a star.
func (a *Statement) names(n any) []string {
	of := asNode(n)
	if word(of, "type") == "SET_OPERATION_NODE" {
		if left, ok := of["left"]; ok {
			return a.names(left)
		}
		if children := argsOf(of); len(children) > 0 {
			return a.names(children[0])
		}
	}
	var out []string
	for _, item := range selectOf(of) {
		e := asNode(item)
		if classOf(e) == "STAR" {
			return nil
		}
		out = append(out, a.name(e))
	}
	return out
}

// name returns Postgres' name of an expression, "" if DuckDB's is the same.
func (a *Statement) name(e node) string {
	if aliasOf(e) != "" {
		return ""
	}
	switch classOf(e) {
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
		return cmp.Or(a.within(asNode(e["else_expr"])), "case")
	case "SUBQUERY":
		if names := a.names(childOf(e, "subquery")["node"]); word(e, "subquery_type") == "SCALAR" && len(names) == 1 {
			return names[0]
		}
	case "OPERATOR":
		if name := operatorNames[word(e, "type")]; name != "" {
			return name
		}
	}
	return "?column?"
}

// calledNames maps functions to their names in Postgres.
var calledNames = map[string]string{"count_star": "count", "quantile_cont": "percentile_cont", "quantile_disc": "percentile_disc",
	"trim": "btrim", "list_value": "array", "struct_pack": "row"}

var operatorNames = map[string]string{"OPERATOR_COALESCE": "coalesce", "ARRAY_CONSTRUCTOR": "array"}

// callName returns the name of a call.
func (a *Statement) callName(e node) string {
	if isOperator(e) {
		return "?column?"
	}
	name := callee(e)
	if by := calledNames[name]; by != "" {
		return by
	}
	switch {
	case name == "date_part" && a.spelled(e, "extract"):
		return "extract"
	case name == "regexp_full_match" && !a.spelled(e, name):
		return "?column?"
	}
	return name
}

// castNameOf returns the name of a cast: that of its operand, or else of the type.
func (a *Statement) castNameOf(e node) string {
	of := childOf(e, "child")
	for classOf(of) == "CAST" {
		of = childOf(of, "child")
	}
	return cmp.Or(a.within(of), castName(childOf(e, "cast_type")))
}

// within returns the name of an expression within another; "": none.
func (a *Statement) within(e node) string {
	if names := pathOf(e); len(names) > 0 {
		return text(names[len(names)-1])
	}
	if name := a.name(e); name != "?column?" {
		return name
	}
	return ""
}

// isWord are words that look like columns but are replaced by texts.
var isWord = map[string]bool{"current_user": true, "session_user": true, "user": true, "current_role": true,
	"current_catalog": true, "current_schema": true, "xmin": true, "tableoid": true}

// castName returns Postgres' name of a constant with a cast.
func castName(t node) string {
	if name := unbound(t); name != "" {
		return name
	}
	if word(t, "id") == "LIST" {
		return castName(childOf(t, "type_info", "child_type"))
	}
	return typeNames[word(t, "id")]
}

// typeNames are Postgres' names of DuckDB's types.
var typeNames = map[string]string{"VARCHAR": "text", "BIGINT": "int8", "INTEGER": "int4", "SMALLINT": "int2", "DOUBLE": "float8",
	"FLOAT": "float4", "BOOLEAN": "bool", "DECIMAL": "numeric", "TIMESTAMP WITH TIME ZONE": "timestamptz", "TIMESTAMP": "timestamp",
	"TIMESTAMP_S": "timestamp", "TIMESTAMP_MS": "timestamp", "TIMESTAMP_NS": "timestamp", "DATE": "date", "TIME": "time",
	"INTERVAL": "interval", "UUID": "uuid"}
