package analytics

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"callhouse/internal/analytics/duck"
	"callhouse/internal/analytics/value"
)

// ErrNotReading says that a statement may change something.
var ErrNotReading = errors.New("only statements that read are run: SELECT, FROM, WITH, VALUES, DESCRIBE, SHOW, SUMMARIZE, EXPLAIN")

// SQL runs one statement that reads, over the tables that Tables names. The
// values of args stand for its parameters.
func (w *Warehouse) SQL(ctx context.Context, text string, args ...any) (*Rows, error) {
	conn, err := w.connect(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := w.sql(ctx, conn, text, args)
	if err != nil {
		conn.Close()
		return nil, err
	}
	return rows, nil
}

func (w *Warehouse) sql(ctx context.Context, conn *duck.Conn, text string, args []any) (*Rows, error) {
	stmt, err := conn.Prepare(ctx, text)
	if err != nil {
		return nil, err
	}
	if err := w.reads(ctx, conn, stmt, text); err != nil {
		stmt.Close()
		return nil, err
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

// What may stand between the beginning of a text and the statement that EXPLAIN
// is about: spaces, comments, its options.
var explainRE = regexp.MustCompile(`(?is)^(?:\s|--[^\n]*\n|/\*.*?\*/)*EXPLAIN\b(?:\s|--[^\n]*\n|/\*.*?\*/)*` +
	`(?:ANALY[ZS]E\b(?:\s|--[^\n]*\n|/\*.*?\*/)*)?(?:\([^()]*\))?`)

// reads returns nil for a statement that cannot change anything. EXPLAIN
// ANALYZE runs what it explains, so that is looked at on its own.
func (w *Warehouse) reads(ctx context.Context, conn *duck.Conn, stmt *duck.Stmt, text string) error {
	switch stmt.Kind() {
	case duck.Reads:
		return nil
	case duck.Explains:
		at := explainRE.FindStringIndex(text)
		if at == nil {
			return ErrNotReading
		}
		inner, err := conn.Prepare(ctx, text[at[1]:])
		if err != nil {
			return fmt.Errorf("explain: %w", err)
		}
		defer inner.Close()
		if inner.Kind() == duck.Reads {
			return nil
		}
	}
	return ErrNotReading
}
