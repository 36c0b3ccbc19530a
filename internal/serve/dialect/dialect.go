// Package dialect translates the trees of statements written for Postgres into ones for DuckDB:
// relations and functions of the catalog (package pgcatalog), types that DuckDB lacks, operators,
// formats of dates. It changes DuckDB's own tree of a statement, so that what is checked is what
// runs. It runs nothing and does not depend on a warehouse.
package dialect

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"callhouse/internal/postgres/lexer"
	"callhouse/internal/serve/pgcatalog"
)

// Asked is a statement and its context.
type Asked struct {
	User    string
	Setting func(name string) (string, bool)
	Types   []uint32 // of the parameters, as declared by the client
	Found   []string // DuckDB's types of the parameters to cast to, if known; may be shorter
	Guess   Guess
	// Part returns the schema whose tables of calls have only the piece of a file that can contain
	// a call; empty: none. nil: unsupported.
	Part func(id string) (string, error)
	// Top returns the schema with a copy of a table's first or newest rows; empty: none. nil:
	// unsupported.
	Top     func(table string, isNewest bool) string
	Values  []any    // of the parameters, if known
	ByValue bool     // set by Rewrite: the result depends on a parameter's value
	Names   []string // set by Rewrite: Postgres' names of the columns; empty: DuckDB's

	changed bool
	at      func(any) string
	withs   map[string]bool // all names defined by WITH
	quotes  map[string]bool // quoted names; nil: not collected yet
	given   map[string]bool // names of columns; nil: not collected yet
	tree    any
	casts   map[int]node    // the statement's casts of parameters
	aliases map[string]kind // of the columns that it names
	refused error
}

type node = map[string]any

// Rewrite changes DuckDB's tree of a statement.
func (a *Asked) Rewrite(tree map[string]any, at func(any) string) (bool, error) {
	a.changed, a.at, a.withs, a.quotes, a.given, a.tree = false, at, map[string]bool{}, nil, nil, tree
	statements, _ := tree["statements"].([]any)
	if len(statements) != 1 {
		return false, nil
	}
	statement, _ := statements[0].(node)
	a.Names = a.names(statement["node"])
	a.findWiths(statement)
	a.systemColumns(statement, nil)
	a.casts, a.aliases, a.refused = map[int]node{}, map[string]kind{}, nil
	a.findAliases(statement["node"])
	a.findCasts(statement["node"])
	if a.Guess != None {
		a.guess(statement["node"])
	}
	a.top(statement["node"], false)
	a.walk(statement)
	return a.changed, a.refused
}

// findWiths collects the names of WITH.
func (a *Asked) findWiths(n any) {
	switch n := n.(type) {
	case []any:
		for _, kid := range n {
			a.findWiths(kid)
		}
	case node:
		if with, ok := n["cte_map"].(node); ok {
			entries, _ := with["map"].([]any)
			for _, e := range entries {
				if e, ok := e.(node); ok {
					a.withs[strings.ToLower(text(e["key"]))] = true
				}
			}
		}
		for _, kid := range n {
			a.findWiths(kid)
		}
	}
}

// walk rewrites a part of the tree, children first.
func (a *Asked) walk(n any) {
	switch n := n.(type) {
	case []any:
		for _, kid := range n {
			a.walk(kid)
		}
	case node:
		if text(n["class"]) == "CAST" {
			a.nestedCast(n)
		}
		a.fold(n)
		a.columns(n)
		a.nullsFirst(n)
		a.byKey(n)
		a.compared(n)
		a.sample(n)
		a.topOf(n)
		a.newestFirst(n)
		a.partOf(n)
		for key, kid := range n {
			if key != "cast_type" {
				a.walk(kid)
			}
		}
		switch text(n["type"]) {
		case "BASE_TABLE":
			a.relation(n)
		case "JOIN":
			innerCross(n)
		case "EXPRESSION_LIST":
			a.values(n)
		case "TABLE_FUNCTION":
			a.tableFunction(n)
		case "OPERATOR_CAST":
			a.cast(n)
		case "COLUMN_REF":
			a.column(n)
		case "FUNCTION":
			a.function(n)
		case "WINDOW_AGGREGATE":
			a.aggregate(n)
		case "VALUE_PARAMETER":
			a.parameter(n)
		case "SUBQUERY":
			a.anyOf(n)
		case "ARRAY_EXTRACT":
			if of, _ := n["children"].([]any); len(of) == 2 && isVector(of[0]) {
				of[1] = plus(of[1], 1)
				a.changed = true
			}
		}
	}
}

// UnsupportedError reports a statement that means something else in DuckDB.
type UnsupportedError struct {
	Message, Hint string
	Code          string // the SQLSTATE; empty: feature not supported
}

func (e *UnsupportedError) Error() string { return e.Message }

// sample refuses a sample together with WHERE, which DuckDB applies after sampling.
func (a *Asked) sample(n node) {
	if n["sample"] != nil && n["where_clause"] != nil {
		a.refused = &UnsupportedError{Message: "USING SAMPLE takes rows before WHERE looks at them, and most of these may be dropped",
			Hint: "sample a subquery: SELECT ... FROM (SELECT ... WHERE ...) USING SAMPLE 3"}
	}
}

// fold changes unquoted column names of a statement to lower case.
func (a *Asked) fold(n node) {
	small := func(name string) string {
		folded := strings.ToLower(name)
		if folded == name || a.isQuoted(name) {
			return name
		}
		a.changed = true
		return folded
	}
	items, _ := n["select_list"].([]any)
	for _, item := range items {
		if e, ok := item.(node); ok && text(e["alias"]) != "" {
			e["alias"] = small(text(e["alias"]))
		}
	}
	for _, list := range []string{"column_name_alias", "aliases"} { // of FROM (…) AS t(a), and of WITH t(a)
		names, _ := n[list].([]any)
		for i, name := range names {
			names[i] = small(text(name))
		}
	}
}

// says reports whether a word occurs in the statement.
func (a *Asked) says(word string) bool {
	for _, s := range lexer.Split(a.at(zero)) {
		for _, t := range s.Tokens {
			if t.Is(word) {
				return true
			}
		}
	}
	return false
}

// isQuoted reports whether a name occurs in quotes in the statement.
func (a *Asked) isQuoted(name string) bool {
	if a.quotes == nil {
		a.quotes = map[string]bool{}
		for _, s := range lexer.Split(a.at(zero)) {
			for _, t := range s.Tokens {
				if t.Kind == lexer.Quoted {
					a.quotes[t.Name()] = true
				}
			}
		}
	}
	return a.quotes[name]
}

// columns gives columns that are calls of our functions their Postgres names, to which other parts
// of the statement may refer, and turns a series into rows.
func (a *Asked) columns(n node) {
	items, _ := n["select_list"].([]any)
	for _, item := range items {
		e, _ := item.(node)
		name := strings.ToLower(text(e["function_name"]))
		if text(e["class"]) != "FUNCTION" {
			continue
		}
		if text(e["alias"]) == "" && (pgcatalog.Functions()[name] || name == "generate_series") {
			e["alias"] = name
		}
		if name == "generate_series" {
			inner := maps.Clone(e)
			inner["alias"] = ""
			a.put(e, call("", "unnest", inner))
		}
	}
}

// vectors are list columns of the catalog without nulls, with whether Postgres counts their
// elements from 0.
var vectors = map[string]bool{"indkey": true, "indclass": true, "indcollation": true, "indoption": true, "proargtypes": true,
	"conkey": false, "confkey": false}

func isVector(n any) bool { return vectors[lastName(n)] }

// anyOf replaces ANY over a list of the catalog by a function: DuckDB uses a subquery for ANY,
// which an outer join cannot contain.
func (a *Asked) anyOf(n node) {
	if text(n["subquery_type"]) != "ANY" || text(n["comparison_type"]) != "COMPARE_EQUAL" {
		return
	}
	if list := anyList(n); list != nil {
		if name := text(list["function_name"]); slices.Contains(lexer.Likes, name) {
			patterns, _ := list["children"].([]any)
			a.list(patterns[0])
			a.put(n, call(schemaOf, name, n["child"], patterns[0]))
			return
		}
		if _, ok := vectors[lastName(list)]; ok {
			a.put(n, call("", "list_contains", list, n["child"]))
		}
	}
}

// put replaces a node by another.
func (a *Asked) put(n, by node) {
	alias := n["alias"]
	clear(n)
	maps.Copy(n, by)
	if alias != nil && text(alias) != "" {
		n["alias"] = alias
	}
	a.changed = true
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

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
	sum := call("", "+", what, node{"class": "CONSTANT", "type": "VALUE_CONSTANT", "alias": "", "query_location": nowhere,
		"value": node{"type": node{"id": "INTEGER", "type_info": nil}, "is_null": false, "value": n}})
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
