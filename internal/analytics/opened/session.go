package opened

import (
	"context"
	"time"

	"callhouse/internal/analytics/duck"
	"callhouse/internal/analytics/guard"
	"callhouse/internal/analytics/stored"
)

// Dialect lets statements be written otherwise than for DuckDB: what they may name
// beside the warehouse's tables, and how their trees are changed before they are judged.
type Dialect struct {
	Definitions string // statements that make what they may name
	Also        guard.Also
}

// Session is a connection of a warehouse on which somebody's statements run, one at a time.
type Session struct {
	db    *DB
	conn  *duck.Conn
	named bool // the connection has the names of agents
}

// mostRow is how large a row may be that a session answers with: it is copied a few times on
// its way, in memory that DuckDB's limit says nothing of.
const mostRow = 32 << 20

// Session returns a new session.
func (db *DB) Session(ctx context.Context) (*Session, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	if err := db.DefineAll(ctx, conn); err != nil {
		conn.Close()
		return nil, err
	}
	conn.MostRow = mostRow
	return &Session{db: db, conn: conn}, nil
}

// Close ends the session. What it prepared must be closed.
func (s *Session) Close() { s.conn.Close() }

// Zone has the session's statements write and cut times in a zone. Local days stay those
// of the warehouse's zone.
func (s *Session) Zone(ctx context.Context, loc *time.Location) error {
	if err := s.conn.Exec(ctx, "SET TimeZone = "+stored.Quote(loc.String())); err != nil {
		if ctx.Err() != nil {
			return err
		}
		return &ZoneError{Name: loc.String(), Err: err}
	}
	return nil
}

// Prepare plans one statement that reads, after rewrite has changed its tree.
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
	if !s.named {
		if s.named, err = s.db.nameAgents(ctx, s.conn, text, usual().wordsOf(text)); err != nil {
			return nil, err
		}
	}
	stmt, err := s.conn.Prepare(ctx, text)
	if err != nil {
		return nil, err
	}
	if stmt.Kind() == duck.Changes || stmt.Kind() == duck.Explains && check.NoPlans { // the tree said otherwise; nothing is run on one opinion
		stmt.Close()
		return nil, guard.ErrNotReading
	}
	return stmt, nil
}
