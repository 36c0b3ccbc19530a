package analytics

import (
	"context"
	"sort"

	"callhouse/internal/analytics/duck"
	"callhouse/internal/analytics/guard"
	"callhouse/internal/analytics/value"
)

// SQL runs one statement that reads, over the tables that Tables names. The
// values of args stand for its parameters.
func (w *Warehouse) SQL(ctx context.Context, text string, args ...any) (*Rows, error) {
	return w.runSQL(ctx, text, func(*duck.Stmt) ([]any, error) { return args, nil })
}

// View is a SELECT with a name, which statements may read as they read a table.
type View struct{ Name, SQL string }

func (v View) create() string { return "CREATE OR REPLACE TEMP VIEW " + v.Name + " AS " + v.SQL }

// Define makes the views known to the statements that follow. Each may read those before it. Their names must be plain words, and
// none of a table's.
func (w *Warehouse) Define(ctx context.Context, views []View) error {
	conn, err := w.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	for _, v := range views {
		if err := w.Reads(ctx, conn, v.SQL); err != nil {
			return err
		}
		if err := w.Defined(ctx, conn, v.SQL, func() error { return conn.Exec(ctx, v.create()) }); err != nil {
			return err
		}
	}
	w.views = views
	return nil
}

// ParamError says that a statement's parameters and the values given for them
// do not match.
type ParamError struct {
	Missing []string // parameters without a value
	Unused  []string // values without a parameter
}

func (e *ParamError) Error() string {
	if len(e.Missing) > 0 {
		return "the statement's parameter $" + e.Missing[0] + " has no value"
	}
	return "the statement has no parameter $" + e.Unused[0]
}

// SQLWith is SQL for a statement whose parameters have names, as in $agent. The
// values are texts, which DuckDB takes for what stands beside them: a number,
// a date. A *ParamError says that values and parameters do not match.
func (w *Warehouse) SQLWith(ctx context.Context, text string, values map[string]string) (*Rows, error) {
	return w.runSQL(ctx, text, func(stmt *duck.Stmt) ([]any, error) { return arguments(stmt, values) })
}

// arguments puts the values in the order of the statement's parameters.
func arguments(stmt *duck.Stmt, values map[string]string) ([]any, error) {
	var args []any
	e := new(ParamError)
	used := map[string]bool{}
	for _, name := range stmt.ParamNames() {
		v, ok := values[name]
		if !ok {
			e.Missing = append(e.Missing, name)
		}
		used[name] = true
		args = append(args, v)
	}
	for name := range values {
		if !used[name] {
			e.Unused = append(e.Unused, name)
		}
	}
	if len(e.Missing) > 0 || len(e.Unused) > 0 {
		sort.Strings(e.Unused)
		return nil, e
	}
	return args, nil
}

// runSQL runs one statement that reads, with what arguments returns for it.
func (w *Warehouse) runSQL(ctx context.Context, text string, arguments func(*duck.Stmt) ([]any, error)) (_ *Rows, err error) {
	conn, err := w.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			conn.Close()
		}
	}()
	for _, v := range w.views {
		if err := conn.Exec(ctx, v.create()); err != nil {
			return nil, err
		}
	}
	if err := w.Reads(ctx, conn, text); err != nil {
		return nil, err
	}
	var stmt *duck.Stmt
	err = w.Defined(ctx, conn, text, func() (err error) {
		stmt, err = conn.Prepare(ctx, text)
		return err
	})
	if err != nil {
		return nil, err
	}
	rows, err := query(ctx, stmt, arguments)
	if err != nil {
		stmt.Close()
		return nil, err
	}
	r := &Rows{rows: rows, conn: conn, columns: rows.Columns()}
	for i := range r.columns {
		r.columns[i].Null = "NULL"
	}
	if n := len(r.columns); stmt.Kind() == duck.Explains && n > 0 {
		r.columns[n-1].Kind = value.Drawing
	}
	return r, nil
}

func query(ctx context.Context, stmt *duck.Stmt, arguments func(*duck.Stmt) ([]any, error)) (*duck.Rows, error) {
	if stmt.Kind() == duck.Changes { // the tree said otherwise; nothing is run on one opinion
		return nil, guard.ErrNotReading
	}
	args, err := arguments(stmt)
	if err != nil {
		return nil, err
	}
	return stmt.Query(ctx, args...)
}
