// Package schema declares what is kept: the tables of a warehouse, and their rows.
//
// tables.go declares every table that is about calls. A line there says all that is
// particular to a column: its type and permanent id, where its value stands in the
// JSON of the API's two versions, what it means, and what may not be stored of it.
// The other packages loop over these declarations. A [Resource] is the tables that one
// kind of object becomes, and an [Object] is one of its objects: a row, and the rows of
// its lists. Two objects are compared here, and a run is a row, too.
//
// The package does not read what the service sends, and knows no files: see wire and
// columnar. It does no input or output.
package schema
