// Package sink stores the warehouse: it writes all of its bytes on the disk.
//
// [Warehouse.Put] returns once its records are durable in the journal. [Warehouse.Commit] folds the
// journal into the Parquet files that it affects, builds a complete new snapshot next to the others,
// makes it durable and swaps the link current to it: all tables at once, or none. internal/layout
// defines the layout on disk.
//
// In the order of a record's way: journal.go and frame.go, intake.go (grouped by call), plan.go (which
// periods change), merge.go, datafile.go, builder.go (the new snapshot, made current). reader.go
// reads snapshots; verify*.go, repair*.go and forget*.go check, mend and erase.
//
// The package uses no network and requests nothing from the service. It never changes a file of a
// committed snapshot, and removes only names that it made itself.
package sink
