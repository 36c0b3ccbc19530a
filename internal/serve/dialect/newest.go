package dialect

import (
	"slices"
	"strings"

	"callhouse/internal/serve/pgcatalog"
)

// times are the columns by which files are ordered.
var times = []string{"start_at", "call_start_at", "end_at", "local_start", "local_date",
	"week", "local_month", "month", "first_seen_at", "fetched_at"}

// newestFirst makes a SELECT of the newest rows read the newest files first.
func (a *Asked) newestFirst(n node) {
	isLimited, isNewest := false, false
	for _, m := range listOf(n, "modifiers") {
		of := asNode(m)
		isLimited = isLimited || word(of, "type") == "LIMIT_MODIFIER"
		if orders := listOf(of, "orders"); len(orders) > 0 {
			first := asNode(orders[0])
			isNewest = word(first, "type") == "DESCENDING" && slices.Contains(times, a.sortedBy(n, first["expression"]))
		}
	}
	if isLimited && isNewest {
		a.readNewest(n["from_table"])
	}
}

// sortedBy returns the column that an expression of ORDER BY refers to; empty: none.
func (a *Asked) sortedBy(n node, by any) string {
	items := selectOf(n)
	v := kidOf(by, "value")
	if i := number(v["value"]); v != nil && i > 0 && i <= len(items) {
		return lastName(items[i-1])
	}
	name := lastName(by)
	for _, item := range items {
		if name != "" && strings.EqualFold(aliasOf(item), name) {
			return lastName(item)
		}
	}
	return name
}

// readNewest replaces the tables in a FROM.
func (a *Asked) readNewest(from any) {
	n := asNode(from)
	switch word(n, "type") {
	case "BASE_TABLE":
		name, schema := small(n, "table_name"), small(n, "schema_name")
		if pgcatalog.Newest[name] != "" && (schema == "public" || schema == "" && !a.withs[name]) {
			n["schema_name"] = pgcatalog.NewestSchema
			a.changed = true
		}
	case "JOIN":
		a.readNewest(n["left"])
		a.readNewest(n["right"])
	case "SUBQUERY":
		a.readNewest(kidOf(n, "subquery", "node")["from_table"])
	}
}
