package dialect

import "callhouse/internal/postgres"

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
		if last, ok := e["else_expr"].(node); ok && classOf(last) != "CONSTANT" {
			if names := pathOf(last); len(names) > 0 {
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
	child := childOf(e, "child")
	t := childOf(e, "cast_type")
	if classOf(child) == "CAST" {
		if inner := classOf(childOf(child, "child")); inner == "CONSTANT" || inner == "CAST" {
			return castName(t)
		}
	}
	if of := a.name(child); of != "?column?" {
		if names := pathOf(child); of == "" && len(names) > 0 {
			return text(names[len(names)-1])
		}
		return of
	}
	if a.spelled(e, "::varchar", "::character varying") {
		return "varchar"
	}
	return castName(t)
}

func (a *Statement) subqueryName(e node) string {
	switch word(e, "subquery_type") {
	case "EXISTS", "NOT_EXISTS":
		return "exists"
	case "ANY", "ALL":
		return "?column?"
	}
	if names := a.names(childOf(e, "subquery")["node"]); len(names) == 1 && word(e, "subquery_type") == "SCALAR" && names[0] != "" {
		return names[0]
	}
	return ""
}

func (a *Statement) operatorName(e node) string {
	switch word(e, "type") {
	case "OPERATOR_COALESCE":
		return "coalesce"
	case "ARRAY_CONSTRUCTOR":
		return "array"
	case "ARRAY_EXTRACT", "ARRAY_SLICE":
		if children := argsOf(e); len(children) > 0 {
			if of := asNode(children[0]); classOf(of) != "COLUMN_REF" {
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
	if word(t, "id") == "LIST" {
		return castName(childOf(t, "type_info", "child_type"))
	}
	if word(t, "id") == "DECIMAL" {
		return "numeric"
	}
	return postgres.TypeOf(word(t, "id")).Name
}
