// Package sink keeps the warehouse: every byte on its disk is written here.
//
// Records come in through [Warehouse.Put], which returns once they are durable
// in the journal. [Warehouse.Commit] folds the journal into the Parquet files
// that it touches, builds a complete new snapshot beside the others, makes it
// durable and swaps the link current to it: all tables at once, or not at all.
// internal/layout says where what lies.
//
// This package is the warehouse as its users see it: open, put, commit, read. Its
// rooms are below it, and their arrows run one way: commit, verify and erase use
// snapshot and journal, snapshot uses table, and all use disk.
//
// The package knows nothing of the network and asks the service for nothing.
// It never changes a file that a committed snapshot holds, and it removes only
// names that it made itself.
package sink
