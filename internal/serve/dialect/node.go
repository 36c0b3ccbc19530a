package dialect

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"strings"
)

// node is a part of a tree, as in DuckDB's JSON. The functions below read its members; a missing
// member has the zero value.
type node = map[string]any

func asNode(n any) node {
	e, _ := n.(node)
	return e
}

// childOf returns the part at the end of a path of members.
func childOf(n any, path ...string) node {
	for _, name := range path {
		n = asNode(n)[name]
	}
	return asNode(n)
}

// listOf returns a member that is a list.
func listOf(n any, name string) []any {
	list, _ := asNode(n)[name].([]any)
	return list
}

// word returns a member that is a text; small returns it in lower case.
func word(n any, name string) string { return text(asNode(n)[name]) }

func small(n any, name string) string { return strings.ToLower(word(n, name)) }

// Members that many kinds of nodes have.
func classOf(n any) string    { return word(n, "class") }
func aliasOf(n any) string    { return word(n, "alias") }
func argsOf(n any) []any      { return listOf(n, "children") }
func selectOf(n any) []any    { return listOf(n, "select_list") }
func pathOf(n any) []any      { return listOf(n, "column_names") } // of a column: its name, preceded by its schema and table, if given
func callee(n any) string     { return small(n, "function_name") }
func isOperator(n any) bool   { return asNode(n)["is_operator"] == true }
func isNull(n any) bool       { return childOf(n, "value")["is_null"] == true }
func castTarget(n any) string { return word(childOf(n, "cast_type"), "id") }

// nodes yields the nodes in a part of a tree, inner ones first.
func nodes(n any) iter.Seq[node] {
	return func(yield func(node) bool) { eachNode(n, yield) }
}

func eachNode(n any, yield func(node) bool) bool {
	switch n := n.(type) {
	case []any:
		for _, child := range n {
			if !eachNode(child, yield) {
				return false
			}
		}
	case node:
		for _, child := range n {
			if !eachNode(child, yield) {
				return false
			}
		}
		return yield(n)
	}
	return true
}

// bare returns a copy of a node without its alias.
func bare(n node) node {
	n = maps.Clone(n)
	n["alias"] = ""
	return n
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

// lastName returns a column's name without qualifiers; empty: no column.
func lastName(n any) string {
	names := listOf(n, "column_names")
	if len(names) == 0 {
		return ""
	}
	return strings.ToLower(text(names[len(names)-1]))
}

// unbound returns the name, in lower case, of a type unknown to DuckDB.
func unbound(t node) string {
	if word(t, "id") != "UNBOUND" {
		return ""
	}
	return small(childOf(t, "type_info"), "name")
}

// constantText returns the text of a constant.
func constantText(n any) (string, bool) {
	c := asNode(n)
	if word(c, "type") != "VALUE_CONSTANT" {
		return "", false
	}
	v := childOf(c, "value")
	s, ok := v["value"].(string)
	return s, ok && word(childOf(v, "type"), "id") == "VARCHAR"
}

func isParameter(n any) bool { return word(n, "type") == "VALUE_PARAMETER" }

// constant returns the tree of a text.
func constant(s string) node {
	return node{"class": "CONSTANT", "type": "VALUE_CONSTANT", "alias": "", "query_location": nowhere,
		"value": node{"type": node{"id": "VARCHAR", "type_info": nil}, "is_null": false, "value": s}}
}

// zero is the location of the beginning of the text.
const zero = json.Number("0")

// number returns a number of a tree.
func number(v any) int {
	n, _ := v.(json.Number)
	i, _ := n.Int64()
	return int(i)
}

// nowhere is the location of nodes that are not in the text.
const nowhere = uint64(1<<64 - 1)

// call returns the tree of a call of one of our functions.
func call(schema, name string, args ...any) node {
	if args == nil {
		args = []any{}
	}
	return node{"class": "FUNCTION", "type": "FUNCTION", "alias": "", "query_location": nowhere, "function_name": name,
		"schema": schema, "children": args,
		"filter": nil, "order_bys": node{"type": "ORDER_MODIFIER", "orders": []any{}}, "distinct": false, "is_operator": false,
		"export_state": false, "catalog": ""}
}

// plus returns the tree of a sum with a constant.
func plus(what any, n int) node {
	sum := call("", "+", what, integer(n))
	sum["is_operator"] = true
	return sum
}

// castTo returns the tree of a cast to a DuckDB type.
func castTo(what node, name string) node {
	return node{"class": "CAST", "type": "OPERATOR_CAST", "alias": "", "query_location": nowhere, "child": what,
		"cast_type": typeOf(name), "try_cast": false}
}

func typeOf(name string) node {
	var width, scale int
	if n, _ := fmt.Sscanf(name, "DECIMAL(%d,%d)", &width, &scale); n == 2 && !strings.HasSuffix(name, "]") {
		return node{"id": "DECIMAL",
			"type_info": node{"type": "DECIMAL_TYPE_INFO", "alias": "", "extension_info": nil, "width": width, "scale": scale}}
	}
	if inner, ok := strings.CutSuffix(name, "[]"); ok {
		return node{"id": "LIST", "type_info": node{"type": "LIST_TYPE_INFO", "alias": "", "extension_info": nil, "child_type": typeOf(inner)}}
	}
	if name == "JSON" {
		return node{"id": "VARCHAR", "type_info": node{"type": "GENERIC_TYPE_INFO", "alias": "JSON", "extension_info": nil}}
	}
	return node{"id": name, "type_info": nil}
}

// integer returns the tree of a number.
func integer(i int) node {
	n := constant("")
	n["value"] = node{"type": node{"id": "INTEGER", "type_info": nil}, "is_null": false, "value": i}
	return n
}
