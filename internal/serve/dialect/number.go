package dialect

import (
	"fmt"
	"regexp"
	"strings"
)

// sum gives a sum its Postgres type: DuckDB's sum of integers has a wider type and is divided like
// an integer.
func (a *Statement) sum(n node) {
	args := argsOf(n)
	if len(args) != 1 {
		return
	}
	inner := bare(n)
	switch a.kindOf(args[0]) {
	case int4:
		a.put(n, castTo(inner, "BIGINT"))
	case int8, unknown:
		a.put(n, call(schemaOf, "as_numeric", inner))
	case interval:
		a.put(n, call(schemaOf, "sum_of_intervals", a.each(n, "months", args[0]), a.each(n, "days", args[0]), a.each(n, "micros", args[0])))
	}
}

// average computes the average of intervals from sums of their parts: DuckDB's own is off by
// milliseconds beyond some thousand rows.
func (a *Statement) average(n node) {
	args := argsOf(n)
	if len(args) != 1 || a.kindOf(args[0]) != interval || n["distinct"] == true {
		return
	}
	count := bare(n)
	count["function_name"] = "count"
	a.put(n, call(schemaOf, "avg_of_intervals", a.each(n, "months", args[0]), a.each(n, "days", args[0]), a.each(n, "micros", args[0]), count))
}

// each returns the sum of a part of the intervals, with the filter and window of the call.
func (a *Statement) each(n node, part string, of any) node {
	sum := bare(n)
	sum["function_name"], sum["children"] = "sum", []any{call(schemaOf, "interval_"+part, of)}
	return sum
}

// extract makes EXTRACT numeric and date_part double, as in Postgres.
func (a *Statement) extract(n node, args []any) {
	inner := bare(n)
	field, _ := constantText(args[0])
	exact := a.spelled(n, "extract")
	by := castTo(inner, "DECIMAL(18,0)")
	switch field = strings.ToLower(field); field {
	case "second", "seconds", "millisecond", "milliseconds": // DuckDB truncates these to integers
		inner["children"] = []any{constant("microseconds"), args[1]}
		by = call(schemaOf, "of_micros_"+strings.TrimSuffix(field, "s"), inner)
	case "epoch":
		by = castTo(inner, "DECIMAL(20,6)")
	case "julian":
		by = inner
	}
	if !exact {
		by = castTo(by, "DOUBLE")
	}
	a.put(n, by)
}

// roundTo rounds numerics, and doubles by their shortest text, to the places that Postgres prints.
func (a *Statement) roundTo(n node, args []any) {
	v := childOf(args[1], "value")
	places := number(v["value"])
	if word(childOf(v, "type"), "id") != "INTEGER" || places < 0 || places > 15 {
		return
	}
	of := args[0]
	switch a.kindOf(of) {
	case int4, int8, numeric:
	default:
		of = castTo(castTo(asNode(of), "VARCHAR"), "DECIMAL(38,15)")
	}
	a.put(n, castTo(call("", "round", of, args[1]), fmt.Sprintf("DECIMAL(38,%d)", places)))
}

var shortRE = regexp.MustCompile(`\(\s*18\s*,\s*3\s*\)`)

// toNumeric casts to numeric: a double by its shortest text, as Postgres does; without precision
// DuckDB would keep three places.
func (a *Statement) toNumeric(n, t node) {
	info := childOf(t, "type_info")
	if word(t, "id") == "DECIMAL" && a.kindOf(n["child"]) == float8 {
		n["child"] = castTo(childOf(n, "child"), "VARCHAR")
		a.changed = true
	}
	if word(t, "id") != "DECIMAL" || number(info["width"]) != 18 || number(info["scale"]) != 3 || shortRE.MatchString(a.at(zero)) {
		return
	}
	info["width"], info["scale"] = 38, 15
	a.changed = true
	if isParameter(n["child"]) {
		return
	}
	switch a.kindOf(n["child"]) {
	case int4, int8:
		info["scale"] = 0
	case numeric:
		info["scale"] = 18
	case unknown:
		n["child"] = castTo(childOf(n, "child"), "VARCHAR")
	}
}

// nullsFirst sorts nulls like Postgres unless the statement specifies their order.
func (a *Statement) nullsFirst(n node) {
	if word(n, "type") == "DESCENDING" && word(n, "null_order") == "ORDER_DEFAULT" {
		n["null_order"] = "NULLS FIRST"
		a.changed = true
	}
}
