// Package opened opens one snapshot of a warehouse in a DuckDB in memory: it resolves the link
// current once, defines the tables, views and macros that statements name, proves files before
// they are read, and shuts the database for statements that somebody else wrote.
//
// It only reads what the sink has published, and it knows no report.
package opened
