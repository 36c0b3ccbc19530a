package dialect

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"callhouse/internal/postgres/cell"
)

// Guess controls how Rewrite types parameters whose type neither the client nor DuckDB knows.
type Guess uint8

const (
	// None leaves them to DuckDB, which uses the types of the values: the types of result columns
	// are then unknown in advance.
	None Guess = iota
	// Likely types them as Postgres does: text in output, the type of the other operand in
	// arithmetic.
	Likely
	// Texts is Likely without arithmetic, for operands of another type, such as an interval added
	// to an instant.
	Texts
)

// parameterOf returns the number of a parameter.
func (a *Asked) parameterOf(n node) (number int, ok bool) {
	if word(n, "type") != "VALUE_PARAMETER" {
		return 0, false
	}
	number, err := strconv.Atoi(word(n, "identifier"))
	return number, err == nil && number > 0
}

// typeOf returns the client's declared type of a parameter; 0: none.
func (a *Asked) typeOf(parameter int) uint32 {
	if parameter > len(a.Types) || a.Types[parameter-1] == 705 { // unknown
		return 0
	}
	return a.Types[parameter-1]
}

// parameter casts a parameter to its type, so that the types of columns do not depend on values.
func (a *Asked) parameter(n node) {
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
	switch t := cell.ByOID(oid); t.Name {
	case "text", "numeric", "bytea": // of any length, or with another text form than DuckDB's
	case "oid":
		a.castParameter(n, "UINTEGER")
	default:
		a.castParameter(n, t.DuckDB())
	}
}

func (a *Asked) castParameter(n node, to string) {
	a.put(n, castTo(bare(n), to))
}

// findCasts collects the types to which a statement casts parameters.
func (a *Asked) findCasts(tree any) {
	for n := range nodes(tree) {
		if number, ok := a.parameterOf(kidOf(n, "child")); ok && classOf(n) == "CAST" {
			a.casts[number], _ = n["cast_type"].(node)
		}
	}
}

// CastTo returns the DuckDB type to which the statement casts a parameter; empty: none.
func (a *Asked) CastTo(parameter int) string { return nameOf(a.casts[parameter]) }

// nameOf returns DuckDB's name of a type; empty: none.
func nameOf(t node) string {
	id := word(t, "id")
	switch info := kidOf(t, "type_info"); id {
	case "UNBOUND":
		return standIns[unbound(t)]
	case "DECIMAL":
		return "DECIMAL(38,18)"
	case "LIST":
		return nameOf(kidOf(info, "child_type")) + "[]"
	}
	return id
}

// guess casts untyped parameters where DuckDB cannot infer the type.
func (a *Asked) guess(n any) {
	switch n := n.(type) {
	case []any:
		for _, kid := range n {
			a.guess(kid)
		}
	case node:
		switch classOf(n) {
		case "FUNCTION", "WINDOW":
			a.guessOperands(n)
		case "CASE":
			a.asTexts(branches(n))
		case "OPERATOR":
			if kind := word(n, "type"); kind == "OPERATOR_COALESCE" || kind == "ARRAY_CONSTRUCTOR" {
				a.asTexts(argsOf(n))
			}
		}
		switch word(n, "type") {
		case "SUBQUERY":
			a.guessAny(n)
		case "SELECT_NODE":
			a.rows([][]any{selectOf(n)}, nil)
		case "SET_OPERATION_NODE":
			selects := a.selects(n)
			var rows [][]any
			for _, s := range selects {
				rows = append(rows, selectOf(s))
			}
			a.rows(rows, selects)
		case "EXPRESSION_LIST":
			var rows [][]any
			for _, row := range listOf(n, "values") {
				cells, _ := row.([]any)
				rows = append(rows, cells)
			}
			a.rows(rows, nil)
		}
		if word(n, "type") == "SET_OPERATION_NODE" {
			a.eachPart(n, a.guessWithin)
			return
		}
		a.guessWithin(n)
	}
}

// guessWithin applies guess to a node's children.
func (a *Asked) guessWithin(n any) {
	of := asNode(n)
	if word(of, "type") == "SET_OPERATION_NODE" { // its columns are those of the whole
		a.eachPart(of, a.guessWithin)
		return
	}
	for key, kid := range of {
		if key != "cast_type" {
			a.guess(kid)
		}
	}
}

// selects returns the SELECTs of a UNION.
func (a *Asked) selects(n node) (out []node) {
	a.eachPart(n, func(part any) {
		if of := asNode(part); word(of, "type") == "SET_OPERATION_NODE" {
			out = append(out, a.selects(of)...)
		} else if of["select_list"] != nil {
			out = append(out, of)
		}
	})
	return out
}

// rows gives the parameters in each column of some rows one type: that of another row, or text. of
// are the SELECTs of the rows, in a UNION.
func (a *Asked) rows(rows [][]any, of []node) {
	for column := 0; len(rows) > 0 && column < len(rows[0]); column++ {
		var cells []any
		for _, row := range rows {
			if column < len(row) {
				cells = append(cells, row[column])
			}
		}
		a.asTexts(cells)
		typed := slices.IndexFunc(cells, func(c any) bool { return !isLoose(c) && classOf(c) != "STAR" })
		if typed < 0 || len(cells) < len(rows) {
			continue
		}
		model := cells[typed]
		if class := classOf(model); of != nil && class != "CONSTANT" && class != "CAST" {
			model = column1(of[typed], model)
		}
		for _, c := range cells {
			a.like(asNode(c), model)
		}
	}
}

// column1 returns a subquery of one column of a SELECT without rows.
func column1(of node, item any) node {
	one := maps.Clone(of)
	one["select_list"] = []any{item}
	one["modifiers"] = []any{node{"type": "LIMIT_MODIFIER", "limit": integer(0), "offset": nil}}
	return node{"class": "SUBQUERY", "type": "SUBQUERY", "alias": "", "query_location": nowhere, "subquery_type": "SCALAR",
		"subquery": node{"node": one, "named_param_map": []any{}}, "child": nil, "comparison_type": "INVALID"}
}

// guessAny makes a parameter compared by ANY a list of the other operand's type.
func (a *Asked) guessAny(n node) {
	if list := anyList(n); list != nil && !isParameter(n["child"]) {
		a.like(list, call("", "list_value", n["child"]))
	}
}

// anyList returns the list operand of ANY.
func anyList(n node) node {
	items := selectOf(kidOf(n, "subquery", "node"))
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

// isLoose reports whether an expression has no type of its own: a parameter, a text or NULL.
func isLoose(n any) bool {
	e := asNode(n)
	_, isText := constantText(n)
	return word(e, "type") == "VALUE_PARAMETER" || isText || isNull(e)
}

// asTexts makes parameters texts unless one of the expressions has another type.
func (a *Asked) asTexts(of []any) {
	for _, n := range of {
		if number, ok := a.parameterOf(asNode(n)); !isLoose(n) || ok && a.isTyped(number) {
			return
		}
	}
	for _, n := range of {
		a.asText(n)
	}
}

// isTyped reports whether the client declares a type to which parameter casts.
func (a *Asked) isTyped(number int) bool {
	oid := a.typeOf(number)
	return oid != 0 && cell.ByOID(oid).OID != cell.Text.OID
}

// asText makes a parameter a text, unless the client declares another type or the statement casts
// it to one.
func (a *Asked) asText(n any) {
	number, ok := a.parameterOf(asNode(n))
	switch {
	case !ok:
	case a.typeOf(number) == 0 && a.casts[number] != nil:
		a.castParameter(asNode(n), "VARCHAR")
		asNode(n)["cast_type"] = a.casts[number]
	case !a.isTyped(number):
		a.castParameter(asNode(n), "VARCHAR")
	case cell.ByOID(a.typeOf(number)).Name == "numeric":
		a.castParameter(asNode(n), "DECIMAL(38,18)")
	}
}

// like gives a parameter the type of another expression.
func (a *Asked) like(n node, other any) {
	if number, ok := a.parameterOf(n); !ok || a.typeOf(number) != 0 {
		return
	}
	if t := kidOf(other, "value", "type"); word(t, "id") == "DECIMAL" { // its type is as short as its digits
		a.castParameter(n, "DECIMAL(38,18)")
		return
	}
	a.put(n, node{"class": "CASE", "type": "CASE_EXPR", "alias": "", "query_location": nowhere, "else_expr": bare(asNode(other)),
		"case_checks": []any{node{"when_expr": castTo(constant("true"), "BOOLEAN"), "then_expr": bare(n)}}})
}

// ofTexts are functions of any type, in which an untyped parameter is a text.
var ofTexts = []string{"min", "max", "nullif", "greatest", "least", "first", "any_value", "mode",
	"array_agg", "list", "string_agg", "concat", "concat_ws", "to_json", "length", "lag", "lead", "date_trunc", "||"}

// ofNumbers are functions of any numeric type.
var ofNumbers = []string{"abs", "round", "ceil", "floor", "sqrt", "power", "exp", "ln", "sign", "trunc"}

// guessOperands types the parameters of a function or operator.
func (a *Asked) guessOperands(n node) {
	name := callee(n)
	args := argsOf(n)
	switch {
	case name == "nullif", name == "greatest", name == "least": // arguments share one type
		a.asTexts(args)
	case slices.Contains(ofTexts, name):
		for _, arg := range args {
			a.asText(arg)
		}
	case slices.Contains(ofNumbers, name) && len(args) > 0:
		a.asNumber(args[0])
	case isOperator(n) && len(args) == 2 && a.Guess == Likely && strings.Contains("+-*/%^", name):
		for i, arg := range args {
			switch {
			case castTarget(args[1-i]) == "INTERVAL" && strings.Contains("*/", name):
				a.asNumber(arg)
			case !isParameter(args[1-i]):
				a.like(asNode(arg), args[1-i])
			}
		}
	case name == "generate_series" && len(args) > 1:
		for _, arg := range args[1:] {
			a.like(asNode(arg), args[0])
		}
	}
}

// asNumber makes a parameter a number.
func (a *Asked) asNumber(n any) {
	if number, ok := a.parameterOf(asNode(n)); ok && (!a.isTyped(number) || cell.ByOID(a.typeOf(number)).Name == "numeric") {
		a.castParameter(asNode(n), "DOUBLE")
	}
}
