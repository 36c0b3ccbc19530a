// Package sink stores the warehouse: it writes all of its bytes on the disk.
//
// [Warehouse.Put] returns once its records are durable in the journal. [Warehouse.Commit] folds the
// journal into the Parquet files that it affects, builds a complete new snapshot beside the others,
// makes it durable and swaps the link current to it: all tables at once, or none. internal/layout
// defines the layout on disk.
//
// This package is the warehouse's public interface: open, put, commit, read. Its subpackages depend
// on each other in one direction: commit, verify and erase use snapshot and journal, snapshot uses
// table, and all use disk.
//
// The package uses no network and requests nothing from the service. It never changes a file of a
// committed snapshot, and removes only names that it made itself.
package sink
