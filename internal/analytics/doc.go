// Package analytics answers questions about a warehouse: it opens one snapshot
// in an in-memory DuckDB and runs the named reports and SQL on it.
//
// It only reads, and only what the sink has published: [Open] resolves the
// link current once, so that every answer of a [Warehouse] comes from one
// commit, whatever is committed meanwhile. What a notion means (a connected
// call, a local day) and what a report counts is written in the .sql files of
// the package sqlfiles; here they are bound to files, zones, bounds and groups.
// It prints nothing; package format writes the rows.
package analytics
