package dialect

import (
	"strings"

	"callhouse/internal/serve/pgcatalog"
)

// topOf makes a SELECT of a view's first or newest rows read a copy of them. Such a SELECT has only
// columns and constants, no condition, and either no order or first the time, newest first.
func (a *Asked) topOf(n node) {
	modifiers, _ := n["modifiers"].([]any)
	limited, isNewest := false, false
	var orders []any
	for _, m := range modifiers {
		of := asNode(m)
		switch text(of["type"]) {
		case "LIMIT_MODIFIER":
			most, isKnown := constantNumber(of["limit"])
			skipped, isKnownToo := constantNumber(of["offset"])
			limited = isKnown && (isKnownToo || of["offset"] == nil) && most >= 0 && skipped >= 0 && most+skipped <= pgcatalog.TopRows
		case "ORDER_MODIFIER":
			orders, _ = of["orders"].([]any)
			isNewest = true
		default:
			return
		}
	}
	from := a.plainTable(n)
	if a.Top == nil || !limited || from == nil {
		return
	}
	table := strings.ToLower(text(from["table_name"]))
	if isNewest && !a.newestBy(n, orders, pgcatalog.Newest[table]) {
		return
	}
	if schema := a.Top(table, isNewest); schema != "" {
		from["schema_name"] = schema
		a.changed = true
	}
}

// plainTable returns the only table of a SELECT without conditions; nil: not one.
func (a *Asked) plainTable(n node) node {
	groups, _ := n["group_sets"].([]any)
	if text(n["type"]) != "SELECT_NODE" || text(n["aggregate_handling"]) != "STANDARD_HANDLING" || len(groups) > 0 ||
		n["where_clause"] != nil || n["having"] != nil || n["sample"] != nil || n["qualify"] != nil {
		return nil
	}
	items, _ := n["select_list"].([]any)
	for _, item := range items {
		if !isPlain(asNode(item)) {
			return nil
		}
	}
	from := asNode(n["from_table"])
	if from["sample"] != nil || !isEmpty(from["column_name_alias"]) {
		return nil
	}
	switch text(from["type"]) {
	case "BASE_TABLE":
		name, schema := strings.ToLower(text(from["table_name"])), strings.ToLower(text(from["schema_name"]))
		isView := schema == "public" || schema == "" && !a.withs[name]
		if pgcatalog.Newest[name] != "" && isView && text(from["catalog_name"]) == "" && from["at_clause"] == nil {
			return from
		}
	case "SUBQUERY":
		inner := asNode(asNode(from["subquery"])["node"])
		if isEmpty(inner["modifiers"]) && !renames(inner) {
			return a.plainTable(inner)
		}
	}
	return nil
}

// isPlain reports whether an item of a SELECT is one value per row: a column, a constant, a cast of
// these, or a star.
func isPlain(item node) bool {
	switch text(item["class"]) {
	case "CONSTANT":
		return true
	case "COLUMN_REF":
		names, _ := item["column_names"].([]any)
		return len(names) < 3 // otherwise it names a schema
	case "CAST":
		return isPlain(asNode(item["child"]))
	case "STAR":
		isColumns, _ := item["columns"].(bool)
		return !isColumns && item["expr"] == nil && isEmpty(item["replace_list"]) && isEmpty(item["rename_list"])
	}
	return false
}

// renames reports whether a SELECT renames columns.
func renames(n node) bool {
	items, _ := n["select_list"].([]any)
	for _, item := range items {
		e := asNode(item)
		isStar := text(e["class"]) == "STAR"
		if !isStar && (lastName(e) == "" || text(e["alias"]) != "" && !strings.EqualFold(text(e["alias"]), lastName(e))) {
			return true
		}
	}
	return false
}

// newestBy reports whether rows are sorted by columns only, first by the time, newest first.
func (a *Asked) newestBy(n node, orders []any, time string) bool {
	items, _ := n["select_list"].([]any)
	for i, o := range orders {
		order := asNode(o)
		by := asNode(order["expression"])
		names, _ := by["column_names"].([]any)
		if len(names) != 1 && len(names) != 2 {
			return false
		}
		if i == 0 && (lastName(by) != time || text(order["type"]) != "DESCENDING") {
			return false
		}
	}
	for _, item := range items { // the time's name is not used for another column
		if e := asNode(item); strings.EqualFold(text(e["alias"]), time) && lastName(e) != time {
			return false
		}
	}
	return len(orders) > 0
}

// constantNumber returns the value of a whole-number constant.
func constantNumber(n any) (int, bool) {
	v := asNode(asNode(n)["value"])
	kind := text(asNode(v["type"])["id"])
	return number(v["value"]), text(asNode(n)["type"]) == "VALUE_CONSTANT" && (kind == "INTEGER" || kind == "BIGINT")
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
