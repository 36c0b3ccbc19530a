// Package serve is what the servers of a warehouse share: its open snapshots, its users and their
// logins, the audit. Over them it runs the statements of many users with Postgres' semantics. The
// protocol is in [callhouse/internal/postgres]; this package does not listen on an address.
package serve

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"callhouse/internal/analytics/database"
	"callhouse/internal/analytics/duck"
	"callhouse/internal/analytics/guard"
	"callhouse/internal/analytics/rights"
	"callhouse/internal/analytics/value"
	"callhouse/internal/postgres"
	"callhouse/internal/serve/dialect"
)

// Backend opens sessions over the warehouse for the Postgres protocol.
type Backend struct {
	Snapshots *Snapshots
	// Zone is the default time zone of sessions.
	Zone *time.Location
	// Rights returns a user's rights; nil: all users see everything.
	Rights func(user string) (rights.Rights, error)
}

// Open implements postgres.Backend.
func (b *Backend) Open(_ context.Context, user string, settings postgres.SessionSettings) (postgres.Session, error) {
	s := &session{backend: b, user: user, settings: settings, zone: b.Zone, statements: map[*statement]bool{}}
	if b.Rights != nil {
		var err error
		if s.rights, err = b.Rights(user); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// session is a client's access to the warehouse. From Begin to End it holds a snapshot, with the
// connections and statements prepared there.
type session struct {
	backend  *Backend
	user     string
	rights   rights.Rights
	settings postgres.SessionSettings
	zone     *time.Location

	at         *Snapshot
	release    func()
	conns      []*conn
	statements map[*statement]bool
}

// conn is a connection to a snapshot. It streams the rows of one statement at a time.
type conn struct {
	*database.Session
	zone *time.Location
	busy bool
}

// Begin implements postgres.Session.
func (s *session) Begin(ctx context.Context) (err error) {
	s.at, s.release, err = s.backend.Snapshots.Acquire(ctx, s.backend.Zone, s.rights)
	return explain(s.backend.Snapshots.Root, err)
}

// End implements postgres.Session.
func (s *session) End() {
	for st := range s.statements {
		st.unprepare()
	}
	s.at.keep(s.conns)
	s.conns = nil
	s.release()
}

// Zone implements postgres.Session.
func (s *session) Zone(ctx context.Context, name string) (*time.Location, error) {
	zone := s.backend.Zone
	if name != "" {
		var err error
		if zone, err = database.ZoneNamed(ctx, name); err != nil {
			return nil, &postgres.Error{Code: "22023", Message: `invalid value for parameter "TimeZone": "` + name + `"`}
		}
	}
	s.zone = zone
	return zone, nil
}

// idle returns a connection without a running statement, in the session's zone.
func (s *session) idle(ctx context.Context) (*conn, error) {
	for _, c := range s.conns {
		if !c.busy {
			return c, c.settle(ctx, s.zone)
		}
	}
	c, err := s.at.conn(ctx)
	if err != nil {
		return nil, err
	}
	s.conns = append(s.conns, c)
	return c, c.settle(ctx, s.zone)
}

func (c *conn) settle(ctx context.Context, zone *time.Location) error {
	if c.zone != nil && c.zone.String() == zone.String() {
		return nil
	}
	if err := c.Session.Zone(ctx, zone); err != nil {
		return err
	}
	c.zone = zone
	return nil
}

// statement is a statement of a session. It is prepared again in every snapshot in which it runs.
type statement struct {
	s         *session
	text      string
	types     []uint32 // of the parameters, as declared by the client
	found     []string // DuckDB's types of the parameters with a cast
	rewritten *dialect.Statement
	columns   []postgres.Column
	params    []postgres.Type

	conn   *conn
	stmt   *duck.Stmt // nil: not prepared in this snapshot
	zone   string     // in which it was prepared
	closed bool
}

// explain converts an error like the function explain, and checks whether the snapshot still works:
// after certain internal errors DuckDB refuses everything.
func (s *session) explain(err error) error {
	if err == nil { // called for every row, so skip the rest
		return nil
	}
	var d *duck.Error
	if errors.As(err, &d) && (d.Kind == "INTERNAL" || d.Kind == "FATAL") {
		s.at.Invalidate()
	}
	return explain(s.backend.Snapshots.Root, err)
}

// Prepare implements postgres.Session.
func (s *session) Prepare(ctx context.Context, text string, types []uint32) (postgres.Prepared, error) {
	st := &statement{s: s, text: text, types: types}
	s.statements[st] = true
	if err := st.describe(ctx); err != nil {
		st.Close()
		return nil, s.explain(err)
	}
	return st, nil
}

// describe prepares the statement and determines its columns and parameters.
func (st *statement) describe(ctx context.Context) error {
	columns, err := st.plan(ctx)
	if err != nil {
		return err
	}
	names := st.rewritten.Names
	for i, t := range st.stmt.ParamTypes() {
		if t == "" { // DuckDB forgets the type of a parameter that is cast and compared
			t = st.rewritten.CastTo(i + 1)
		}
		st.params = append(st.params, postgres.TypeOf(t))
	}
	if st.stmt.Kind() == duck.Explains {
		st.columns = []postgres.Column{planColumn}
		return nil
	}
	for i, c := range columns {
		name := c.Name
		if len(names) == len(columns) && names[i] != "" {
			name = names[i]
		}
		st.columns = append(st.columns, postgres.Column{Name: name, Type: typeOf(c.Type)})
	}
	return nil
}

// plan prepares the statement so that, if possible, no type depends on the values of parameters:
// for values of other types than inferred, DuckDB plans again, and columns may then have types
// other than those described. A parameter without a type is a text, if the statement then has a
// meaning.
func (st *statement) plan(ctx context.Context) ([]value.Column, error) {
	columns, known, err := st.try(ctx)
	if st.found = st.castable(err == nil); st.found != nil {
		if columns, known, err := st.try(ctx); err == nil && known {
			return columns, nil
		}
		st.found = nil
		columns, known, err = st.try(ctx)
	}
	if err == nil && !known {
		return st.describeWithNulls(ctx)
	}
	return columns, err
}

// try prepares the statement again. known is false if its columns depend on the values of
// parameters.
func (st *statement) try(ctx context.Context) (columns []value.Column, known bool, err error) {
	st.unprepare()
	if err = st.prepare(ctx); err != nil {
		return nil, false, err
	}
	columns, known, err = st.stmt.Columns()
	return columns, known || st.stmt.Params() == 0, err
}

// castable returns the types to cast parameters to: as inferred, or text for untyped ones; nil: there are no
// parameters. Of a statement that is not prepared all are untyped.
func (st *statement) castable(isPrepared bool) []string {
	types := make([]string, postgres.Params(st.text))
	if isPrepared {
		types = st.stmt.ParamTypes()
	}
	for i, t := range types {
		switch {
		case t != "" && t != "VARCHAR":
		case i < len(st.types) && postgres.TypeByOID(st.types[i]).OID != postgres.TextType.OID:
			types[i] = "" // as declared
		default:
			types[i] = "VARCHAR"
		}
	}
	if len(types) == 0 {
		return nil
	}
	return types
}

// prepare plans the statement on an idle connection.
func (st *statement) prepare(ctx context.Context) error {
	c, err := st.s.idle(ctx)
	if err != nil {
		return err
	}
	st.rewritten = &dialect.Statement{User: st.s.user, Settings: st.s.settings, Types: st.types, Found: st.found}
	stmt, err := c.Prepare(ctx, st.text, guard.Rewrite(st.rewritten.Rewrite))
	if err != nil {
		return err
	}
	st.conn, st.stmt, st.zone = c, stmt, st.s.zone.String()
	return nil
}

// unprepare frees the plan, unless its rows are being read.
func (st *statement) unprepare() {
	if st.stmt != nil {
		st.stmt.Close()
	}
	st.conn, st.stmt = nil, nil
}

// Columns implements postgres.Prepared.
func (st *statement) Columns() []postgres.Column { return st.columns }

// Params implements postgres.Prepared.
func (st *statement) Params() []postgres.Type { return append([]postgres.Type(nil), st.params...) }

// Close implements postgres.Prepared.
func (st *statement) Close() {
	if st.closed {
		return
	}
	st.closed = true
	delete(st.s.statements, st)
	if st.conn == nil || !st.conn.busy { // otherwise closing its rows frees it
		st.unprepare()
	}
}

// Query implements postgres.Prepared.
func (st *statement) Query(ctx context.Context, args []any) (postgres.Rows, error) {
	if st.stmt != nil && !st.conn.busy && (st.rewritten.Reads || st.zone != st.s.zone.String()) {
		st.unprepare() // the plan holds the zone and the settings of its time
	}
	if st.stmt == nil || st.conn.busy {
		old := st.stmt // its rows are being read; closing them closes it
		if err := st.prepare(ctx); err != nil {
			st.stmt = old
			return nil, st.s.explain(err)
		}
	}
	answer, err := st.stmt.QueryReuse(ctx, args...)
	if err != nil {
		return nil, st.s.explain(err)
	}
	isPlan := st.stmt.Kind() == duck.Explains
	if err := st.sameTypes(answer.Columns()); err != nil && !isPlan {
		answer.Close()
		return nil, err
	}
	st.conn.busy = true
	all := &rows{Rows: answer, st: st, stmt: st.stmt, conn: st.conn}
	if isPlan {
		return planRows{all}, nil
	}
	return all, nil
}

// typeOf returns the Postgres type of a column: of one that changes a setting, that of its value.
func typeOf(duck string) postgres.Type {
	if duck == dialect.Sets {
		return postgres.TextType
	}
	return postgres.TypeOf(duck)
}

// sameTypes checks that the columns have the described types.
func (st *statement) sameTypes(columns []value.Column) error {
	for i, c := range columns {
		is, described := typeOf(c.Type), st.columns[min(i, len(st.columns)-1)]
		if len(st.params) > 0 && c.Type != "NULL" && is.OID != described.Type.OID {
			return &postgres.Error{Code: "0A000", Message: fmt.Sprintf("column %q has type %s with these values, but was described as %s",
				described.Name, is.Name, described.Type.Name), Hint: "cast the parameters, e.g. $1::text"}
		}
	}
	return nil
}

// rows are the rows of a running statement.
type rows struct {
	*duck.Rows
	st   *statement
	stmt *duck.Stmt
	conn *conn
}

// Values implements postgres.Rows.
func (r *rows) Values(ctx context.Context) ([]value.Value, error) {
	row, err := r.Rows.Values(ctx)
	if err == nil && r.st.rewritten.Changes {
		err = r.set(ctx, row)
	}
	return row, r.st.s.explain(err)
}

// set changes the settings that the columns of a row name, and replaces these columns by the new values.
func (r *rows) set(ctx context.Context, row []value.Value) error {
	for i, c := range r.Columns() {
		if c.Type != dialect.Sets {
			continue
		}
		arguments := row[i].Nest.Values
		var setting *string
		if arguments[1].Kind != value.Null {
			text := strings.Clone(arguments[1].Text) // its memory is reused
			setting = &text
		}
		v, err := r.st.s.settings.Set(ctx, strings.Clone(arguments[0].Text), setting, arguments[2].Low != 0)
		if err != nil {
			return err
		}
		row[i] = value.Of(v)
	}
	return nil
}

// Close implements postgres.Rows.
func (r *rows) Close() {
	r.Rows.Close()
	r.conn.busy = false
	if r.st.stmt != r.stmt || r.st.closed {
		r.stmt.Close()
		if r.st.stmt == r.stmt {
			r.st.conn, r.st.stmt = nil, nil
		}
	}
}

// describeWithNulls returns the columns of a statement with null parameters, for columns that depend on
// parameters.
func (st *statement) describeWithNulls(ctx context.Context) ([]value.Column, error) {
	rows, err := st.stmt.QueryReuse(ctx, make([]any, st.stmt.Params())...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	return rows.Columns(), nil
}

// planColumn is the only column of a plan, with Postgres' name.
var planColumn = postgres.Column{Name: "QUERY PLAN", Type: postgres.TextType}

// planRows is the row of a plan.
type planRows struct{ *rows }

// Values implements postgres.Rows.
func (r planRows) Values(ctx context.Context) ([]value.Value, error) {
	row, err := r.rows.Values(ctx)
	if err != nil {
		return nil, err
	}
	return row[len(row)-1:], nil // the first column is the kind of plan
}
