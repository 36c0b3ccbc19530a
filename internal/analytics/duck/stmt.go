package duck

import (
	"context"
	"errors"
	"fmt"
	"time"

	bindings "github.com/duckdb/duckdb-go-bindings"

	"callhouse/internal/analytics/value"
)

// Errors of a statement's text, before DuckDB analyses its meaning.
var (
	ErrNoStatement    = errors.New("the text contains no statement")
	ErrManyStatements = errors.New("the text contains more than one statement")
)

// Kind is what a statement does.
type Kind uint8

const (
	Changes  Kind = iota // anything else, which may change something
	Reads                // SELECT, FROM, VALUES, WITH, DESCRIBE, SHOW, SUMMARIZE
	Explains             // EXPLAIN and EXPLAIN ANALYZE, which runs what it explains
)

// Stmt is a prepared statement.
type Stmt struct {
	conn *Conn
	stmt bindings.PreparedStatement
}

// Parse returns the syntax error of one statement, without planning it.
func (c *Conn) Parse(text string) error {
	all, err := c.extract(text)
	bindings.DestroyExtracted(&all)
	return err
}

// extract parses text, which must be one statement.
func (c *Conn) extract(text string) (bindings.ExtractedStatements, error) {
	var all bindings.ExtractedStatements
	n := bindings.ExtractStatements(c.conn, text, &all)
	if n == 0 {
		if msg := bindings.ExtractStatementsError(all); msg != "" {
			return all, parseError(msg)
		}
		return all, ErrNoStatement
	}
	if n > 1 {
		return all, ErrManyStatements
	}
	return all, nil
}

// Prepare parses and plans one statement. Planning some statements (EXPORT DATABASE) already changes something.
func (c *Conn) Prepare(ctx context.Context, text string) (*Stmt, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	defer c.watch(ctx)()
	all, err := c.extract(text)
	defer bindings.DestroyExtracted(&all)
	if err != nil {
		return nil, err
	}
	s := &Stmt{conn: c}
	if bindings.PrepareExtractedStatement(c.conn, all, 0, &s.stmt) == bindings.StateError {
		err := c.failed(ctx, bindings.PrepareError(s.stmt))
		s.Close()
		return nil, err
	}
	return s, nil
}

// Close frees the statement. Its rows must be closed first.
func (s *Stmt) Close() { bindings.DestroyPrepare(&s.stmt) }

// Kind returns what the statement does.
func (s *Stmt) Kind() Kind {
	switch bindings.PreparedStatementType(s.stmt) {
	case bindings.StatementTypeSelect:
		return Reads
	case bindings.StatementTypeExplain:
		return Explains
	}
	return Changes
}

// Params returns the number of parameters.
func (s *Stmt) Params() int { return int(bindings.NParams(s.stmt)) }

// ParamNames returns the parameters' names in order; unnamed ones are numbers, from 1.
func (s *Stmt) ParamNames() []string {
	names := make([]string, s.Params())
	for i := range names {
		names[i] = bindings.ParameterName(s.stmt, bindings.IdxT(i+1))
	}
	return names
}

// ParamTypes returns the types of the parameters, inferred from their context; empty if unknown.
func (s *Stmt) ParamTypes() []string {
	types := make([]string, s.Params())
	for i := range types {
		lt := bindings.ParamLogicalType(s.stmt, bindings.IdxT(i+1))
		if lt.Ptr == nil {
			continue
		}
		if t, err := typeOf(lt); err == nil && t.id != bindings.TypeSQLNull {
			types[i] = t.name
		}
		bindings.DestroyLogicalType(&lt)
	}
	return types
}

// Columns returns the columns of the result. ok is false if they depend on the parameters' values.
func (s *Stmt) Columns() (columns []value.Column, ok bool, err error) {
	for i := range bindings.PreparedStatementColumnCount(s.stmt) {
		lt := bindings.PreparedStatementColumnLogicalType(s.stmt, i)
		id := bindings.GetTypeId(lt)
		if lt.Ptr == nil || id == bindings.TypeInvalid || id == bindings.TypeAny {
			bindings.DestroyLogicalType(&lt)
			return nil, false, nil
		}
		c, _, err := column(bindings.PreparedStatementColumnName(s.stmt, i), lt)
		bindings.DestroyLogicalType(&lt)
		if err != nil {
			return nil, true, err
		}
		columns = append(columns, c)
	}
	return columns, len(columns) > 0, nil
}

// QueryReuse is Query for a statement that will be run again: closing the rows, which must precede
// the next run, does not close it.
func (s *Stmt) QueryReuse(ctx context.Context, args ...any) (*Rows, error) {
	rows, err := s.Query(ctx, args...)
	if err == nil {
		rows.reuse = true
	}
	return rows, err
}

// Query runs the statement and streams its result.
func (s *Stmt) Query(ctx context.Context, args ...any) (*Rows, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(args) != s.Params() {
		return nil, fmt.Errorf("the statement has %d parameters, got %d values", s.Params(), len(args))
	}
	for i, a := range args {
		if err := s.bind(i+1, a); err != nil {
			return nil, err
		}
	}
	defer s.conn.watch(ctx)()
	var pending bindings.PendingResult
	defer bindings.DestroyPending(&pending)
	if bindings.PendingPreparedStreaming(s.stmt, &pending) == bindings.StateError {
		return nil, s.conn.failed(ctx, bindings.PendingError(pending))
	}
	rows := &Rows{stmt: s}
	if bindings.ExecutePending(pending, &rows.res) == bindings.StateError {
		err := s.conn.failed(ctx, bindings.ResultError(&rows.res))
		bindings.DestroyResult(&rows.res)
		return nil, err
	}
	return rows, rows.describe()
}

func (s *Stmt) bind(i int, a any) error {
	at := bindings.IdxT(i)
	var state bindings.State
	switch a := a.(type) {
	case nil:
		state = bindings.BindNull(s.stmt, at)
	case bool:
		state = bindings.BindBoolean(s.stmt, at, a)
	case int:
		state = bindings.BindInt64(s.stmt, at, int64(a))
	case int64:
		state = bindings.BindInt64(s.stmt, at, a)
	case int32:
		state = bindings.BindInt32(s.stmt, at, a)
	case int16:
		state = bindings.BindInt16(s.stmt, at, a)
	case float32:
		state = bindings.BindFloat(s.stmt, at, a)
	case float64:
		state = bindings.BindDouble(s.stmt, at, a)
	case string:
		state = bindings.BindVarchar(s.stmt, at, a)
	case []byte:
		state = bindings.BindBlob(s.stmt, at, a)
	case time.Time:
		state = bindings.BindTimestampTZ(s.stmt, at, bindings.NewTimestamp(a.UnixMicro()))
	default:
		return fmt.Errorf("bind parameter %d: values of type %T are not supported", i, a)
	}
	if state == bindings.StateError {
		return fmt.Errorf("bind parameter %d: DuckDB rejects %v", i, a)
	}
	return nil
}
