// Package postgres speaks the Postgres protocol to clients: startup and passwords,
// the simple and the extended protocol, cursors, COPY TO STDOUT, cancel requests, and
// the statements that are about a session and not about data. What a query means it
// leaves to a [Backend]. It knows no warehouse, no file and no setting.
package postgres

import (
	"context"
	"time"

	"callhouse/internal/postgres/cell"
)

// Backend runs what clients ask.
type Backend interface {
	// Open begins a session for a user who was let in. settings are the session's,
	// as they are whenever they are asked for.
	Open(ctx context.Context, user string, settings Settings) (Session, error)
}

// Settings tells the value of a setting as SHOW does.
type Settings interface {
	Setting(name string) (value string, ok bool)
}

// Session is a client's. One statement is prepared or begun at a time.
type Session interface {
	// Begin fixes what the statements see until End.
	Begin(ctx context.Context) error
	End()
	// Prepare plans one statement that reads. types are those that the client says
	// its parameters have; 0 and what is missing are for the backend to find out.
	Prepare(ctx context.Context, text string, types []uint32) (Statement, error)
	// Zone returns the time zone with a name, for times as text, and has statements live in it.
	Zone(ctx context.Context, name string) (*time.Location, error)
	Close()
}

// Statement is a statement that is planned. It may be run in later transactions, too.
type Statement interface {
	Columns() []Column
	Params() []cell.Type
	Query(ctx context.Context, args []any) (Rows, error)
	Close()
}

// Column is a column of an answer.
type Column struct {
	Name string
	Type cell.Type
}

// Rows are the rows of an answer, as they are made.
type Rows interface {
	// Next returns the next row, or io.EOF. It lasts until the next call: a value may be
	// a pointer to a string, an int64 or a value.Micros.
	Next(ctx context.Context) ([]any, error)
	Close()
}
