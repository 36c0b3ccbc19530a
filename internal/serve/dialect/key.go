package dialect

import (
	"slices"
	"strings"

	"callhouse/internal/serve/pgcatalog"
)

// byKey adds to GROUP BY the other columns of a table whose key is in it: they are constant in a
// group, and Postgres allows them.
func (a *Asked) byKey(n node) {
	groups := listOf(n, "group_expressions")
	sets := listOf(n, "group_sets")
	if len(groups) == 0 || len(sets) != 1 {
		return
	}
	set, _ := sets[0].([]any)
	scope := map[string]string{}
	relations(n["from_table"], scope)
	for alias, table := range scope {
		key := pgcatalog.Keys()[table]
		grouped := func(column string) bool {
			return slices.ContainsFunc(groups, func(g any) bool { return isColumn(g, alias, column, len(scope) == 1) })
		}
		if len(key) == 0 || slices.ContainsFunc(key, func(column string) bool { return !grouped(column) }) {
			continue
		}
		for _, list := range []any{n["select_list"], n["having"], n["modifiers"]} {
			eachColumn(list, func(c node) {
				if name := lastName(c); isColumn(c, alias, name, len(scope) == 1) && !grouped(name) && pgcatalog.Has(table, name) {
					column := node{"class": "COLUMN_REF", "type": "COLUMN_REF", "alias": "", "query_location": nowhere, "column_names": c["column_names"]}
					set = append(set, len(groups))
					groups = append(groups, column)
				}
			})
		}
	}
	if len(set) > len(sets[0].([]any)) {
		n["group_expressions"], n["group_sets"] = groups, []any{set}
		a.changed = true
	}
}

// isColumn reports whether an expression is a given column of a table. The alias is optional if
// there is only one table.
func isColumn(n any, alias, column string, isAlone bool) bool {
	if table := tableOf(n); table != "" {
		return lastName(n) == column && strings.EqualFold(table, alias)
	}
	return lastName(n) == column && isAlone
}

// eachColumn finds the columns in a part of a tree, except those of subqueries.
func eachColumn(n any, do func(node)) {
	switch n := n.(type) {
	case []any:
		for _, kid := range n {
			eachColumn(kid, do)
		}
	case node:
		if n["column_names"] != nil {
			do(n)
			return
		}
		for name, kid := range n {
			if name != "subquery" {
				eachColumn(kid, do)
			}
		}
	}
}
