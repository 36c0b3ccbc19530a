// Package serve runs the statements of many people at once over snapshots that are lent to them,
// in the way of Postgres. The protocol stands before it ([callhouse/internal/postgres]); it
// listens on no address itself.
package serve
