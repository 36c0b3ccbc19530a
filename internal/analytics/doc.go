// Package analytics answers questions about a warehouse: it runs the named reports, and SQL, on
// one snapshot that package opened has opened.
//
// What a term means (a connected call, a local day) and what a report counts is defined in the
// .sql files of package sqlfiles; here they are bound to zones, bounds, groups and conditions.
// It prints nothing; package format writes the rows.
package analytics
