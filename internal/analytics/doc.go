// Package analytics answers questions about a warehouse: it runs the named reports, and SQL, on one
// snapshot opened by package database.
//
// The .sql files of package sqlfiles define the terms (a connected call, a local day) and the
// figures of each report; this package binds them to zones, bounds, groups and conditions. It
// prints nothing; package format writes the rows.
package analytics
