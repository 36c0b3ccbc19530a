// Package schema turns the JSON that the service sends into rows of tables, and
// back.
//
// tables.go declares every table of the warehouse. A line there says all that is
// particular to a column: its type and permanent id, where its value stands in the
// JSON of the API's two versions, what it means, and what may not be stored of it.
// The rest of the package loops over these declarations: it decodes JSON into an
// [Object], which is a row and the rows of its lists; compares, clones and masks it;
// writes its columns into Parquet files and reads them again; and rebuilds the JSON.
// What no column can hold goes to the column extra, so nothing that the service sent
// is lost. It is counted as drift, and never stops a run.
//
// Beside that stands what is particular to a [Call]: where it is in its life
// ([Call.Settle]), and what becomes of it when a later response says something
// else ([Merge]).
//
// The package does no input or output, reads no clock, and knows neither the
// network nor the disk.
package schema
