// Package schema declares the stored data: the tables of a warehouse, and their rows.
//
// tables.go declares the tables of calls. Each line is a column: its type and permanent id, the
// place of its value in the JSON of the API's two versions, its description, and what of it may not
// be stored. The other packages loop over these declarations. A [Resource] is the tables of one
// kind of object. An [Object] is one of its objects: a row, and the rows of its lists. This package
// also compares objects and has the rows of runs.
//
// The package does not read the service's JSON or any file: see wire and columnar. It does no input
// or output.
package schema
