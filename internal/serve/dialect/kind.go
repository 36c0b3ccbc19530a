package dialect

import (
	"strings"
	"sync"
)

// kind is the known part of an expression's type before DuckDB binds it.
type kind uint8

const (
	unknown kind = iota
	int4
	int8
	numeric
	float8
	interval
	instant // with or without a zone
	date
	other
)

// kinds maps DuckDB's types.
var kinds = map[string]kind{"TINYINT": int4, "SMALLINT": int4, "INTEGER": int4, "UINTEGER": int8, "BIGINT": int8, "HUGEINT": numeric,
	"DECIMAL": numeric, "FLOAT": float8, "DOUBLE": float8,
	"INTERVAL": interval, "TIMESTAMP": instant, "TIMESTAMP WITH TIME ZONE": instant, "DATE": date, "VARCHAR": other, "BOOLEAN": other}

// columnKinds are the kinds of the warehouse's columns whose name has one kind everywhere.
var columnKinds = sync.OnceValue(func() map[string]kind {
	out := map[string]kind{}
	for name, types := range columnTypes() {
		for _, t := range types {
			base, _, _ := strings.Cut(t, "(")
			add(out, name, kinds[base])
		}
	}
	return out
})

// add records the kind of a name; a conflict makes it unknown.
func add(to map[string]kind, name string, k kind) {
	if before, ok := to[name]; ok && before != k {
		k = unknown
	}
	to[name] = k
}

// findAliases records the kinds of the columns that the statement names.
func (a *Statement) findAliases(tree any) {
	for n := range nodes(tree) {
		a.nameColumns(n)
		for _, item := range selectOf(n) {
			if alias := small(item, "alias"); alias != "" {
				k := a.kindOf(item)
				if of, ok := columnKinds()[alias]; ok && of != k {
					k = unknown
				}
				add(a.aliases, alias, k)
			}
		}
	}
}

// nameColumns records the kinds of columns named outside their query: AS t(a), WITH t(a).
func (a *Statement) nameColumns(n node) {
	names := listOf(n, "column_name_alias")
	of := childOf(n, "function")
	if word(n, "type") == "TABLE_FUNCTION" && callee(of) == "generate_series" {
		if len(names) == 0 {
			names = []any{n["alias"]}
		}
		k := a.common(argsOf(of)[:1])
		if k == date || k == other { // a text
			k = instant
		} else if !isShortSeries(of) {
			k = unknown
		}
		add(a.aliases, strings.ToLower(text(names[0])), k)
		return
	}
	query := childOf(n["subquery"], "node")
	if list, ok := n["aliases"].([]any); ok {
		names, query = list, childOf(n["query"], "node")
	}
	for query["left"] != nil {
		query = childOf(query, "left")
	}
	items := selectOf(query)
	for i, name := range names {
		if i < len(items) {
			add(a.aliases, strings.ToLower(text(name)), a.kindOf(items[i]))
		}
	}
}

// kindOf returns the kind of an expression.
func (a *Statement) kindOf(of any) kind {
	n := asNode(of)
	switch classOf(n) {
	case "CONSTANT":
		return kinds[word(childOf(n, "value", "type"), "id")]
	case "CAST":
		return kinds[castTarget(n)]
	case "COLUMN_REF":
		name := lastName(n)
		if k, ok := a.aliases[name]; ok {
			return k
		}
		return columnKinds()[name]
	case "CASE":
		return a.common(branches(n))
	case "OPERATOR":
		if children := argsOf(n); word(n, "type") == "OPERATOR_COALESCE" {
			return a.common(children)
		}
	case "SUBQUERY":
		if items := selectOf(childOf(n, "subquery", "node")); len(items) == 1 && word(n, "subquery_type") == "SCALAR" {
			return a.kindOf(items[0])
		}
	case "FUNCTION", "WINDOW":
		return a.kindOfCall(n)
	}
	return unknown
}

// common returns the kind shared by the expressions, ignoring nulls.
func (a *Statement) common(of []any) kind {
	k := unknown
	for _, n := range of {
		if n == nil || isNull(n) {
			continue
		}
		if other := a.kindOf(n); k == unknown || k == other {
			k = other
		} else {
			return unknown
		}
	}
	return k
}

// answers maps functions to the kinds of their results.
var answers = map[string]kind{"count": int8, "count_star": int8, "row_number": int8, "rank": int8,
	"length": int4, "char_length": int4, "position": int4, "strpos": int4,
	"now": instant, "current_timestamp": instant, "date_trunc": instant, "get_current_timestamp": instant, "to_timestamp": instant,
	"current_date": date, "sum_of_intervals": interval, "avg_of_intervals": interval,
	"age": interval, "make_interval": interval, "date_part": float8,
	"stddev": float8, "stddev_samp": float8, "stddev_pop": float8, "sqrt": float8, "random": float8,
	"concat": other, "string_agg": other, "upper": other, "lower": other, "to_char": other}

// kindOfCall returns the kind of the result of a function or operator.
func (a *Statement) kindOfCall(n node) kind {
	args := argsOf(n)
	name := callee(n)
	if isOperator(n) && len(args) == 2 {
		return operation(name, a.kindOf(args[0]), a.kindOf(args[1]))
	}
	if len(args) == 0 {
		return answers[name]
	}
	switch first := a.kindOf(args[0]); name {
	case "min", "max", "nullif", "abs", "-", "lag", "lead", "first_value", "last_value", "greatest", "least":
		return first
	case "round", "ceil", "floor", "trunc":
		if first == float8 || first == numeric {
			return first
		}
	case "sum":
		return map[kind]kind{int4: int8, int8: numeric, numeric: numeric, float8: float8, interval: interval}[first]
	case "avg":
		return map[kind]kind{int4: float8, int8: float8, float8: float8, interval: interval}[first]
	}
	return answers[name]
}

// operation returns the kind of an operator's result for two kinds.
func operation(name string, left, right kind) kind {
	isTime := func(k kind) bool { return k == instant || k == date }
	switch {
	case name == "-" && left == instant && isTime(right), name == "-" && isTime(left) && right == instant:
		return interval
	case left == interval && strings.Contains("*/", name), right == interval && name == "*":
		return interval
	case left == unknown, right == unknown:
		return unknown
	case strings.Contains("+-", name) && isTime(left) && right == interval, name == "+" && left == interval && isTime(right):
		return instant
	case left == interval, right == interval:
		return interval
	case strings.Contains("+-", name) && left == date && right <= int8:
		return date
	case strings.Contains("+-*/%", name) && left <= float8 && right <= float8:
		if name == "/" && (left == numeric || right == numeric) {
			return float8
		}
		return max(left, right)
	}
	return unknown
}
