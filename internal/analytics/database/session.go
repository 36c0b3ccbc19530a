package database

import (
	"context"
	"time"

	"callhouse/internal/analytics/duck"
	"callhouse/internal/analytics/guard"
)

// Dialect supports statements that are not written for DuckDB: Also lists the further names that
// they may use. See guard.Rewrite for changing their trees.
type Dialect struct {
	Definitions string // statements that define the names of Also
	Also        guard.Also
}

// Session is a connection to a warehouse for untrusted statements, one at a time.
type Session struct {
	db   *DB
	conn *duck.Conn
}

// maxRow is the maximum size of a row in a session's answers. A row is copied several times on its
// way, in memory that DuckDB's limit does not cover.
const maxRow = 32 << 20

// Session returns a new session.
func (db *DB) Session(ctx context.Context) (*Session, error) {
	conn, err := db.SQLConn(ctx, AnyStatement)
	if err != nil {
		return nil, err
	}
	conn.MaxRow = maxRow
	return &Session{db: db, conn: conn}, nil
}

// Close ends the session. Its prepared statements must be closed first.
func (s *Session) Close() { s.conn.Close() }

// Zone sets the zone in which the session's statements format and truncate times. Local days stay
// those of the warehouse's zone.
func (s *Session) Zone(ctx context.Context, loc *time.Location) error {
	return setZone(ctx, s.conn, loc)
}

// Prepare plans one read-only statement, after rewrite has changed its tree.
func (s *Session) Prepare(ctx context.Context, text string, rewrite guard.Rewrite) (*duck.Stmt, error) {
	check := s.db.check()
	check.Shared, check.Rewrite = true, rewrite
	if s.db.dialect != nil {
		check.Also = &s.db.dialect.Also
	}
	text, err := check.Text(ctx, s.conn, text)
	if err != nil {
		return nil, err
	}
	stmt, err := s.conn.Prepare(ctx, text)
	if err != nil {
		return nil, err
	}
	if stmt.Kind() == duck.Changes || stmt.Kind() == duck.Explains && check.NoPlans { // the tree disagreed; only agreement counts
		stmt.Close()
		return nil, guard.ErrNotReading
	}
	return stmt, nil
}
