// Package dialect makes DuckDB look like Postgres to a client: the relations of pg_catalog and
// information_schema and the functions that tools call, as SQL, and a rewriter of statements. It maps
// relations and functions of the catalog, types that DuckDB lacks, operators, date formats. It changes
// DuckDB's own tree of a statement, so that the checked statement is the one that runs. It runs nothing
// and does not depend on a warehouse.
package dialect

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"callhouse/internal/postgres"
)

// Sets is DuckDB's type of a column that changes a setting: its name, its value, and whether it ends with
// the transaction.
const Sets = `STRUCT("setting_name" VARCHAR, "setting_value" VARCHAR, "setting_local" BOOLEAN)`

// Statement is a statement and its context.
type Statement struct {
	User     string
	Settings postgres.SessionSettings
	Types    []uint32 // of the parameters, as declared by the client
	Found    []string // DuckDB's types of the parameters to cast to, if known; may be shorter
	// Set by Rewrite:
	Names   []string // Postgres' names of the columns; empty: DuckDB's
	Reads   bool     // its tree holds values of settings
	Changes bool     // columns of the type Sets change settings

	changed bool
	at      func(any) string
	withs   map[string]bool   // all names defined by WITH
	tables  map[string]string // the tables by alias; of "" the only one
	quotes  map[string]bool   // quoted names; nil: not collected yet
	casts   map[int]node      // the statement's casts of parameters
	aliases map[string]kind   // of the columns that it names
	refused error
}

// Rewrite changes DuckDB's tree of a statement.
func (a *Statement) Rewrite(tree map[string]any, at func(any) string) (bool, error) {
	a.changed, a.at, a.withs, a.tables, a.quotes = false, at, map[string]bool{}, map[string]string{}, nil
	statements := listOf(tree, "statements")
	if len(statements) != 1 {
		return false, nil
	}
	statement := asNode(statements[0])
	a.Names = a.names(statement["node"])
	a.findNames(statement)
	a.casts, a.aliases, a.refused = map[int]node{}, map[string]kind{}, nil
	a.findAliases(statement["node"])
	a.findCasts(statement["node"])
	for n := range nodes(statement["node"]) {
		a.guess(n)
	}
	a.top(statement["node"], false)
	a.setConfig(statement["node"])
	a.walk(statement)
	return a.changed, a.refused
}

// findNames collects the names of WITH, and the tables with their aliases.
func (a *Statement) findNames(tree any) {
	for n := range nodes(tree) {
		if name := small(n, "table_name"); word(n, "type") == "BASE_TABLE" {
			a.tables[cmp.Or(small(n, "alias"), name)] = name
			if before, has := a.tables[""]; has && before != name {
				name = ""
			}
			a.tables[""] = name
		}
		for _, with := range listOf(childOf(n, "cte_map"), "map") {
			a.withs[small(with, "key")] = true
		}
	}
}

// walk rewrites a part of the tree, children first.
func (a *Statement) walk(n any) {
	switch n := n.(type) {
	case []any:
		for _, child := range n {
			a.walk(child)
		}
	case node:
		if classOf(n) == "CAST" {
			a.nestedCast(n)
		}
		a.fold(n)
		a.columns(n)
		a.nullsFirst(n)
		a.compared(n)
		for key, child := range n {
			if key != "cast_type" {
				a.walk(child)
			}
		}
		switch word(n, "type") {
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
			if of := argsOf(n); len(of) == 2 && isVector(of[0]) {
				of[1] = plus(of[1], 1)
				a.changed = true
			}
		}
	}
}

// UnsupportedError reports a statement with a different meaning in DuckDB.
type UnsupportedError struct {
	Message, Hint string
	Code          string // the SQLSTATE; empty: feature not supported
}

func (e *UnsupportedError) Error() string { return e.Message }

// refuse refuses the statement.
func (a *Statement) refuse(message, hint string) {
	a.refused = &UnsupportedError{Message: message + " is not supported", Hint: hint}
}

// fold changes unquoted column names of a statement to lower case.
func (a *Statement) fold(n node) {
	small := func(name string) string {
		folded := strings.ToLower(name)
		if folded == name || a.isQuoted(name) {
			return name
		}
		a.changed = true
		return folded
	}
	for _, item := range selectOf(n) {
		if e, ok := item.(node); ok && aliasOf(e) != "" {
			e["alias"] = small(aliasOf(e))
		}
	}
	for _, list := range []string{"column_name_alias", "aliases"} { // of FROM (…) AS t(a), and of WITH t(a)
		names := listOf(n, list)
		for i, name := range names {
			names[i] = small(text(name))
		}
	}
}

// says reports whether a word occurs in the statement.
func (a *Statement) says(word string) bool {
	for _, s := range postgres.Split(a.at(zero)) {
		for _, t := range s.Tokens {
			if t.Is(word) {
				return true
			}
		}
	}
	return false
}

// spelled reports whether the text of an expression begins in one of several ways, ignoring case.
// It distinguishes spellings that DuckDB's parser treats as equal and Postgres does not.
func (a *Statement) spelled(n node, ways ...string) bool {
	at := strings.ToLower(a.at(n["query_location"]))
	return slices.ContainsFunc(ways, func(way string) bool { return strings.HasPrefix(at, way) })
}

// isQuoted reports whether a name occurs in quotes anywhere in the statement.
func (a *Statement) isQuoted(name string) bool {
	if a.quotes == nil {
		a.quotes = map[string]bool{}
		for _, s := range postgres.Split(a.at(zero)) {
			for _, t := range s.Tokens {
				if t.Kind == postgres.Quoted {
					a.quotes[t.Name()] = true
				}
			}
		}
	}
	return a.quotes[name]
}

// columns gives columns that are calls of our functions their Postgres names, since other parts of
// the statement may refer to these, and turns the series in them into rows.
func (a *Statement) columns(n node) {
	for _, item := range selectOf(n) {
		e := asNode(item)
		name := callee(e)
		if name == "regexp_matches" {
			a.refuse("regexp_matches as a column", "write substring(x FROM 'pattern'), or regexp_extract_all(x, 'pattern') for all matches")
		}
		if classOf(e) == "FUNCTION" && aliasOf(e) == "" && (Functions()[name] || name == "generate_series") {
			e["alias"] = name
		}
		if column := lastName(e); aliasOf(e) == "" && (column == "tableoid" || column == "xmin") {
			e["alias"] = column
		}
		a.seriesIn(item)
	}
}

// seriesIn turns the series in an expression into rows. Subqueries have columns of their own.
func (a *Statement) seriesIn(n any) {
	switch n := n.(type) {
	case []any:
		for _, child := range n {
			a.seriesIn(child)
		}
	case node:
		if classOf(n) == "SUBQUERY" {
			return
		}
		for _, child := range n {
			a.seriesIn(child)
		}
		if callee(n) == "generate_series" {
			list := bare(n)
			if a.common(argsOf(n)) == int4 {
				list = castTo(list, "INTEGER[]") // DuckDB's numbers are bigint
			}
			a.put(n, call("", "unnest", list))
		}
	}
}

// series gives a series of times the types that Postgres gives it: dates are instants.
func (a *Statement) series(n node, args []any) {
	_, isText := constantText(args[len(args)-1])
	if len(args) != 3 || !isText && a.kindOf(args[2]) != interval {
		return
	}
	if isText {
		args[2] = castTo(asNode(args[2]), "INTERVAL")
	}
	for i, arg := range args[:2] {
		_, isText := constantText(arg)
		switch of := castTarget(args[1-i]); {
		case isText && of == "TIMESTAMP":
			args[i] = castTo(asNode(arg), of)
		case isText, a.kindOf(arg) == date:
			args[i] = castTo(asNode(arg), "TIMESTAMP WITH TIME ZONE")
		}
	}
	a.changed = true
}

// vectors are list columns of the catalog without nulls. The value is whether Postgres counts their
// elements from 0.
var vectors = map[string]bool{"indkey": true, "indclass": true, "indcollation": true, "indoption": true, "proargtypes": true,
	"conkey": false, "confkey": false}

func isVector(n any) bool { return vectors[lastName(n)] }

// anyOf replaces ANY over a list of the catalog by a function: DuckDB uses a subquery for ANY,
// which an outer join cannot contain.
func (a *Statement) anyOf(n node) {
	if word(n, "subquery_type") != "ANY" || word(n, "comparison_type") != "COMPARE_EQUAL" {
		return
	}
	if list := anyList(n); list != nil {
		if _, ok := vectors[lastName(list)]; ok {
			a.put(n, call("", "list_contains", list, n["child"]))
		}
	}
}

// put replaces a node by another.
func (a *Statement) put(n, by node) {
	alias := n["alias"]
	clear(n)
	maps.Copy(n, by)
	if alias != nil && text(alias) != "" {
		n["alias"] = alias
	}
	a.changed = true
}
