package dialect

import (
	"strconv"
	"strings"

	"callhouse/internal/postgres"
)

// parameterOf returns the number of a parameter.
func (a *Statement) parameterOf(n node) (number int, ok bool) {
	if word(n, "type") != "VALUE_PARAMETER" {
		return 0, false
	}
	number, err := strconv.Atoi(word(n, "identifier"))
	return number, err == nil && number > 0
}

// typeOf returns the client's declared type of a parameter; 0: none.
func (a *Statement) typeOf(parameter int) uint32 {
	if parameter > len(a.Types) || a.Types[parameter-1] == 705 { // unknown
		return 0
	}
	return a.Types[parameter-1]
}

// parameter casts a parameter to its type, so that the types of columns do not depend on values.
func (a *Statement) parameter(n node) {
	number, ok := a.parameterOf(n)
	if !ok {
		return
	}
	if number <= len(a.Found) && a.Found[number-1] != "" {
		a.castParameter(n, a.Found[number-1])
		return
	}
	oid := a.typeOf(number)
	if oid == 0 {
		return
	}
	switch t := postgres.TypeByOID(oid); t.Name {
	case "text", "numeric", "bytea": // of any length, or with another text form than DuckDB's
	case "oid":
		a.castParameter(n, "UINTEGER")
	default:
		a.castParameter(n, t.DuckDB())
	}
}

func (a *Statement) castParameter(n node, to string) {
	a.put(n, castTo(bare(n), to))
}

// findCasts collects the types to which a statement casts parameters.
func (a *Statement) findCasts(tree any) {
	for n := range nodes(tree) {
		if number, ok := a.parameterOf(childOf(n, "child")); ok && classOf(n) == "CAST" {
			a.casts[number], _ = n["cast_type"].(node)
		}
	}
}

// CastTo returns the DuckDB type to which the statement casts a parameter; empty: none.
func (a *Statement) CastTo(parameter int) string { return nameOf(a.casts[parameter]) }

// nameOf returns DuckDB's name of a type; empty: none.
func nameOf(t node) string {
	id := word(t, "id")
	switch info := childOf(t, "type_info"); id {
	case "UNBOUND":
		return substitutes[unbound(t)]
	case "DECIMAL":
		return "DECIMAL(38,18)"
	case "LIST":
		return nameOf(childOf(info, "child_type")) + "[]"
	}
	return id
}

// guess gives parameters a type where DuckDB could not infer it: in arithmetic that of the other
// operand, if it is a number, and compared by ANY a list.
func (a *Statement) guess(n node) {
	a.guessAny(n)
	args := argsOf(n)
	if !isOperator(n) || len(args) != 2 || !strings.Contains("+-*/%^", callee(n)) {
		return
	}
	for i, arg := range args {
		if k := a.kindOf(args[1-i]); k != unknown && k <= float8 {
			a.like(asNode(arg), args[1-i])
		}
	}
}

// guessAny makes a parameter compared by ANY a list of the other operand's type.
func (a *Statement) guessAny(n node) {
	if list := anyList(n); list != nil && !isParameter(n["child"]) {
		a.like(list, call("", "list_value", n["child"]))
	}
}

// anyList returns the list operand of ANY.
func anyList(n node) node {
	items := selectOf(childOf(n, "subquery", "node"))
	if word(n, "subquery_type") != "ANY" || len(items) != 1 {
		return nil
	}
	list := argsOf(items[0])
	if word(items[0], "function_name") != "unnest" || len(list) != 1 {
		return nil
	}
	return asNode(list[0])
}

// branches returns the result expressions of a CASE.
func branches(n node) (out []any) {
	for _, check := range listOf(n, "case_checks") {
		out = append(out, asNode(check)["then_expr"])
	}
	return append(out, n["else_expr"])
}

// like gives a parameter the type of another expression.
func (a *Statement) like(n node, other any) {
	if number, ok := a.parameterOf(n); !ok || a.typeOf(number) != 0 {
		return
	}
	if t := childOf(other, "value", "type"); word(t, "id") == "DECIMAL" { // its type is as short as its digits
		a.castParameter(n, "DECIMAL(38,18)")
		return
	}
	a.put(n, node{"class": "CASE", "type": "CASE_EXPR", "alias": "", "query_location": nowhere, "else_expr": bare(asNode(other)),
		"case_checks": []any{node{"when_expr": castTo(constant("true"), "BOOLEAN"), "then_expr": bare(n)}}})
}
