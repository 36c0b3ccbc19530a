// Package schema declares the stored data: the tables of a warehouse, and their rows.
//
// tables.go declares the tables of calls. Each line is a column: its type and permanent id, the
// place of its value in the JSON of the API's two versions, its description, and whether it is
// withheld or masked. The other packages loop over these declarations. A [Resource] is the tables
// of one kind of object. An [Object] is one of its objects: a row, and the rows of its lists. This
// package also compares objects, and declares the rows of runs and the columns of Parquet files.
//
// The package reads neither the service's JSON nor files: see wire and sink. It does no input or
// output.
package schema
