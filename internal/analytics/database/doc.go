// Package database opens one snapshot of a warehouse in a DuckDB in memory: it resolves the link
// current once, defines the tables, views and macros that statements name, explains errors over
// damaged files, and seals the database for untrusted statements.
//
// It only reads what the sink has published, and does not depend on reports.
package database
