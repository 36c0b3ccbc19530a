package dialect

import (
	"strings"

	"callhouse/internal/serve/pgcatalog"
)

// topOf makes a SELECT of a view's first or newest rows read a copy of them. Such a SELECT has only
// columns and constants, no condition, and either no order or the time first, newest first.
func (a *Asked) topOf(n node) {
	limited, isNewest := false, false
	var orders []any
	for _, m := range listOf(n, "modifiers") {
		of := asNode(m)
		switch word(of, "type") {
		case "LIMIT_MODIFIER":
			most, isKnown := constantNumber(of["limit"])
			skipped, isKnownToo := constantNumber(of["offset"])
			limited = isKnown && (isKnownToo || of["offset"] == nil) && most >= 0 && skipped >= 0 && most+skipped <= pgcatalog.TopRows
		case "ORDER_MODIFIER":
			orders = listOf(of, "orders")
			isNewest = true
		default:
			return
		}
	}
	from := a.plainTable(n)
	if a.Top == nil || !limited || from == nil {
		return
	}
	table := small(from, "table_name")
	if isNewest && !a.newestBy(n, orders, pgcatalog.Times[table]) {
		return
	}
	if schema := a.Top(table, isNewest); schema != "" {
		from["schema_name"] = schema
		a.changed = true
	}
}

// plainTable returns the only table of a SELECT without conditions; nil if it is not such a SELECT.
func (a *Asked) plainTable(n node) node {
	if word(n, "type") != "SELECT_NODE" || word(n, "aggregate_handling") != "STANDARD_HANDLING" || len(listOf(n, "group_sets")) > 0 ||
		n["where_clause"] != nil || n["having"] != nil || n["sample"] != nil || n["qualify"] != nil {
		return nil
	}
	for _, item := range selectOf(n) {
		if !isPlain(asNode(item)) {
			return nil
		}
	}
	from := kidOf(n, "from_table")
	if from["sample"] != nil || !isEmpty(from["column_name_alias"]) {
		return nil
	}
	switch word(from, "type") {
	case "BASE_TABLE":
		name, schema := small(from, "table_name"), small(from, "schema_name")
		isView := schema == "public" || schema == "" && !a.withs[name]
		if pgcatalog.Times[name] != "" && isView && word(from, "catalog_name") == "" && from["at_clause"] == nil {
			return from
		}
	case "SUBQUERY":
		inner := kidOf(from["subquery"], "node")
		if isEmpty(inner["modifiers"]) && !renames(inner) {
			return a.plainTable(inner)
		}
	}
	return nil
}

// isPlain reports whether an item of a SELECT is one value per row: a column, a constant, a cast of
// these, or a star.
func isPlain(item node) bool {
	switch classOf(item) {
	case "CONSTANT":
		return true
	case "COLUMN_REF":
		return len(pathOf(item)) < 3 // otherwise it also names a schema
	case "CAST":
		return isPlain(kidOf(item, "child"))
	case "STAR":
		return item["columns"] != true && item["expr"] == nil && isEmpty(item["replace_list"]) && isEmpty(item["rename_list"])
	}
	return false
}

// renames reports whether a SELECT renames columns.
func renames(n node) bool {
	for _, item := range selectOf(n) {
		e := asNode(item)
		isStar := classOf(e) == "STAR"
		if !isStar && (lastName(e) == "" || aliasOf(e) != "" && !strings.EqualFold(aliasOf(e), lastName(e))) {
			return true
		}
	}
	return false
}

// newestBy reports whether rows are sorted by columns only, first by the time, newest first.
func (a *Asked) newestBy(n node, orders []any, time string) bool {
	for i, o := range orders {
		order := asNode(o)
		by := kidOf(order, "expression")
		names := pathOf(by)
		if len(names) != 1 && len(names) != 2 {
			return false
		}
		if i == 0 && (lastName(by) != time || word(order, "type") != "DESCENDING") {
			return false
		}
	}
	for _, item := range selectOf(n) { // no other item may have the name of the time column
		if e := asNode(item); strings.EqualFold(aliasOf(e), time) && lastName(e) != time {
			return false
		}
	}
	return len(orders) > 0
}

func isEmpty(list any) bool {
	switch list := list.(type) {
	case []any:
		return len(list) == 0
	case node:
		return len(list) == 0
	}
	return list == nil
}
