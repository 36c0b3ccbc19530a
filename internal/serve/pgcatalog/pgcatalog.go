// Package pgcatalog describes the warehouse's tables as Postgres does.
package pgcatalog

import "callhouse/internal/analytics"

// Dialect returns what statements may name beside the warehouse's tables.
func Dialect() *analytics.Dialect {
	return &analytics.Dialect{Definitions: "SET GLOBAL integer_division = true"}
}
