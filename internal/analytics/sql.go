package analytics

import (
	"context"

	"callhouse/internal/analytics/duck"
	"callhouse/internal/analytics/value"
)

// SQL runs one statement that reads, over the tables that Tables names. The
// values of args stand for its parameters.
func (w *Warehouse) SQL(ctx context.Context, text string, args ...any) (*Rows, error) {
	conn, err := w.connect(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := runSQL(ctx, conn, text, args)
	if err != nil {
		conn.Close()
		return nil, err
	}
	return rows, nil
}

func runSQL(ctx context.Context, conn *duck.Conn, text string, args []any) (*Rows, error) {
	if err := reads(ctx, conn, text); err != nil {
		return nil, err
	}
	stmt, err := conn.Prepare(ctx, text)
	if err != nil {
		return nil, err
	}
	if stmt.Kind() == duck.Changes { // the tree said otherwise; nothing is run on one opinion
		stmt.Close()
		return nil, ErrNotReading
	}
	rows, err := stmt.Query(ctx, args...)
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
