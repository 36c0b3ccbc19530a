// Package serve is what the servers of a warehouse share: its open snapshots, its users and their
// logins, the audit. Over them it runs the statements of many users with Postgres' semantics. The
// protocol is in [callhouse/internal/postgres]; this package does not listen on an address.
package serve
