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
	instant // a date, or a time with or without a zone
	other
)

// kinds maps DuckDB's types.
var kinds = map[string]kind{"TINYINT": int4, "SMALLINT": int4, "INTEGER": int4, "UINTEGER": int8, "BIGINT": int8, "HUGEINT": numeric,
	"DECIMAL": numeric, "FLOAT": float8, "DOUBLE": float8,
	"TIMESTAMP": instant, "TIMESTAMP WITH TIME ZONE": instant, "DATE": instant, "VARCHAR": other, "BOOLEAN": other}

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
var answers = map[string]kind{"count": int8, "count_star": int8, "row_number": int8, "rank": int8, "length": int4, "char_length": int4,
	"position": int4, "strpos": int4, "now": instant, "current_timestamp": instant, "date_trunc": instant,
	"get_current_timestamp": instant, "to_timestamp": instant, "current_date": instant, "date_part": float8,
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
		return map[kind]kind{int4: int8, int8: numeric, numeric: numeric, float8: float8}[first]
	case "avg":
		return map[kind]kind{int4: float8, int8: float8, float8: float8}[first]
	}
	return answers[name]
}

// operation returns the kind of an operator's result for two kinds.
func operation(name string, left, right kind) kind {
	switch {
	case left == instant && right != instant && strings.Contains("+-", name): // a time and a span
		return instant
	case left == unknown, right == unknown, left > float8, right > float8, !strings.Contains("+-*/%", name):
		return unknown
	case name == "/" && (left == numeric || right == numeric):
		return float8
	}
	return max(left, right)
}
