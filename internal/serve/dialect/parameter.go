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
	if text(n["type"]) != "VALUE_PARAMETER" {
		return 0, false
	}
	number, err := strconv.Atoi(text(n["identifier"]))
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
	parameter := maps.Clone(n)
	parameter["alias"] = ""
	a.put(n, castTo(parameter, to))
}

// findCasts collects the types to which a statement casts parameters.
func (a *Asked) findCasts(n any) {
	switch n := n.(type) {
	case []any:
		for _, kid := range n {
			a.findCasts(kid)
		}
	case node:
		if number, ok := a.parameterOf(asNode(n["child"])); ok && text(n["class"]) == "CAST" {
			a.casts[number], _ = n["cast_type"].(node)
		}
		for _, kid := range n {
			a.findCasts(kid)
		}
	}
}

// CastTo returns the DuckDB type to which the statement casts a parameter; empty: none.
func (a *Asked) CastTo(parameter int) string { return nameOf(a.casts[parameter]) }

// nameOf returns DuckDB's name of a type; empty: none.
func nameOf(t node) string {
	id := text(t["id"])
	switch info, _ := t["type_info"].(node); id {
	case "UNBOUND":
		return instead[unbound(t)]
	case "DECIMAL":
		return "DECIMAL(38,18)"
	case "LIST":
		inner, _ := info["child_type"].(node)
		return nameOf(inner) + "[]"
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
		switch text(n["class"]) {
		case "FUNCTION", "WINDOW":
			a.guessOperands(n)
		case "CASE":
			a.asTexts(branches(n))
		case "OPERATOR":
			if kind := text(n["type"]); kind == "OPERATOR_COALESCE" || kind == "ARRAY_CONSTRUCTOR" {
				kids, _ := n["children"].([]any)
				a.asTexts(kids)
			}
		}
		switch text(n["type"]) {
		case "SUBQUERY":
			a.guessAny(n)
		case "SELECT_NODE":
			items, _ := n["select_list"].([]any)
			a.rows([][]any{items}, nil)
		case "SET_OPERATION_NODE":
			selects := a.selects(n)
			var rows [][]any
			for _, s := range selects {
				items, _ := s["select_list"].([]any)
				rows = append(rows, items)
			}
			a.rows(rows, selects)
		case "EXPRESSION_LIST":
			var rows [][]any
			values, _ := n["values"].([]any)
			for _, row := range values {
				cells, _ := row.([]any)
				rows = append(rows, cells)
			}
			a.rows(rows, nil)
		}
		if text(n["type"]) == "SET_OPERATION_NODE" {
			a.eachPart(n, a.guessWithin)
			return
		}
		a.guessWithin(n)
	}
}

// guessWithin applies guess to a node's children.
func (a *Asked) guessWithin(n any) {
	of, _ := n.(node)
	if text(of["type"]) == "SET_OPERATION_NODE" { // whose columns are those of the whole
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
		if of := asNode(part); text(of["type"]) == "SET_OPERATION_NODE" {
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
		typed := slices.IndexFunc(cells, func(c any) bool { return !isLoose(c) && text(asNode(c)["class"]) != "STAR" })
		if typed < 0 || len(cells) < len(rows) {
			continue
		}
		model := cells[typed]
		if class := text(asNode(model)["class"]); of != nil && class != "CONSTANT" && class != "CAST" {
			model = column1(of[typed], model)
		}
		for _, c := range cells {
			a.like(asNode(c), model)
		}
	}
}

// column1 is a subquery of one column of a SELECT without rows.
func column1(of node, item any) node {
	one := maps.Clone(of)
	none := constant("0")
	none["value"] = node{"type": node{"id": "INTEGER", "type_info": nil}, "is_null": false, "value": 0}
	one["select_list"] = []any{item}
	one["modifiers"] = []any{node{"type": "LIMIT_MODIFIER", "limit": none, "offset": nil}}
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
	of, _ := n["subquery"].(node)
	query, _ := of["node"].(node)
	items, _ := query["select_list"].([]any)
	if text(n["subquery_type"]) != "ANY" || len(items) != 1 {
		return nil
	}
	list, _ := asNode(items[0])["children"].([]any)
	if text(asNode(items[0])["function_name"]) != "unnest" || len(list) != 1 {
		return nil
	}
	return asNode(list[0])
}

// branches returns the results of a CASE.
func branches(n node) (out []any) {
	checks, _ := n["case_checks"].([]any)
	for _, check := range checks {
		c, _ := check.(node)
		out = append(out, c["then_expr"])
	}
	return append(out, n["else_expr"])
}

// isLoose reports whether an expression has no type of its own: a parameter, a text or NULL.
func isLoose(n any) bool {
	e, _ := n.(node)
	v, _ := e["value"].(node)
	_, isText := constantText(n)
	return text(e["type"]) == "VALUE_PARAMETER" || isText || v["is_null"] == true
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

func asNode(n any) node {
	e, _ := n.(node)
	return e
}

// isTyped reports whether the client declares a type to which parameter casts.
func (a *Asked) isTyped(number int) bool {
	oid := a.typeOf(number)
	return oid != 0 && cell.ByOID(oid).OID != cell.Text.OID
}

// asText makes a parameter a text, unless the client declares or the statement casts another type.
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
	v, _ := asNode(other)["value"].(node)
	if t, _ := v["type"].(node); text(t["id"]) == "DECIMAL" { // whose precision is that of its digits
		a.castParameter(n, "DECIMAL(38,18)")
		return
	}
	parameter, model := maps.Clone(n), maps.Clone(asNode(other))
	parameter["alias"], model["alias"] = "", ""
	a.put(n, node{"class": "CASE", "type": "CASE_EXPR", "alias": "", "query_location": nowhere, "else_expr": model,
		"case_checks": []any{node{"when_expr": castTo(constant("true"), "BOOLEAN"), "then_expr": parameter}}})
}

// ofTexts are functions of any type, in which an untyped parameter is a text.
var ofTexts = []string{"min", "max", "nullif", "greatest", "least", "first", "any_value", "mode",
	"array_agg", "list", "string_agg", "concat", "concat_ws", "to_json", "length", "lag", "lead", "date_trunc", "||"}

// ofNumbers are functions of any numeric type.
var ofNumbers = []string{"abs", "round", "ceil", "floor", "sqrt", "power", "exp", "ln", "sign", "trunc"}

// guessOperands types the parameters of a function or operator.
func (a *Asked) guessOperands(n node) {
	name := strings.ToLower(text(n["function_name"]))
	args, _ := n["children"].([]any)
	isOperator, _ := n["is_operator"].(bool)
	switch {
	case name == "nullif", name == "greatest", name == "least": // arguments share one type
		a.asTexts(args)
	case slices.Contains(ofTexts, name):
		for _, arg := range args {
			a.asText(arg)
		}
	case slices.Contains(ofNumbers, name) && len(args) > 0:
		a.asNumber(args[0])
	case isOperator && len(args) == 2 && a.Guess == Likely && strings.Contains("+-*/%^", name):
		for i, arg := range args {
			t, _ := asNode(args[1-i])["cast_type"].(node)
			switch {
			case text(t["id"]) == "INTERVAL" && strings.Contains("*/", name):
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

func isParameter(n any) bool { return text(asNode(n)["type"]) == "VALUE_PARAMETER" }
