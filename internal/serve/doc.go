// Package serve runs the statements of many users over lent snapshots with Postgres' semantics. The
// protocol is in [callhouse/internal/postgres]; this package does not listen on an address.
package serve
