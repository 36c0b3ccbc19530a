// Package postgres implements the server side of the Postgres protocol: startup and passwords, the
// simple and the extended protocol, cursors, COPY TO STDOUT, cancel requests, and statements about
// the session. It maps DuckDB's types to Postgres', encodes values as text and in binary, and decodes
// parameters. Queries are left to a [Backend]. The package does not depend on warehouses, files or
// settings.
package postgres

import (
	"context"
	"time"

	"callhouse/internal/analytics/value"
)

// Backend runs the clients' queries.
type Backend interface {
	// Open begins a session of an authenticated user. settings are the session's and always
	// current.
	Open(ctx context.Context, user string, settings SessionSettings) (Session, error)
}

// SessionSettings are the settings of a session.
type SessionSettings interface {
	// Setting returns the value of a setting, as SHOW does.
	Setting(name string) (value string, ok bool)
	// Set changes a setting as set_config does, and returns its new value.
	Set(ctx context.Context, name string, value *string, local bool) (string, error)
}

// Session is a client's session. One statement is prepared or begun at a time.
type Session interface {
	// Begin fixes what statements see until End.
	Begin(ctx context.Context) error
	End()
	// Prepare plans one reading statement. types are the client's types of the parameters; the
	// backend infers those that are 0 or missing.
	Prepare(ctx context.Context, text string, types []uint32) (Prepared, error)
	// Zone returns the named time zone, for times as text, and makes it the zone of statements.
	Zone(ctx context.Context, name string) (*time.Location, error)
}

// Prepared is a planned statement. It may also run in later transactions.
type Prepared interface {
	Columns() []Column
	Params() []Type
	Query(ctx context.Context, args []any) (Rows, error)
	Close()
}

// Column is a column of a result.
type Column struct {
	Name string
	Type Type
}

// Rows are the rows of a result, streamed.
type Rows interface {
	// Values returns the next row, or io.EOF. The row is valid until the next call.
	Values(ctx context.Context) ([]value.Value, error)
	Close()
}
