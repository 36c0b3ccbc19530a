package analytics

import (
	"context"
	"fmt"
	"strings"

	"callhouse/internal/analytics/duck"
	sqlfiles "callhouse/sql"
)

// Table returns a table's rows, of the calls that p selects; of runs those that
// started within its bounds.
func (w *Warehouse) Table(ctx context.Context, name string, p Params) (*Rows, error) {
	f, ok := sqlfiles.View(name)
	if !ok {
		return nil, unknown("table", name, names(sqlfiles.ViewsByName()))
	}
	if err := w.Rights().May(name); err != nil {
		return nil, err
	}
	conn, err := w.Conn(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := w.table(ctx, conn, f, p)
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("read the table %s: %w", name, err)
	}
	return &Rows{rows: rows, conn: conn, columns: rows.Columns()}, nil
}

func (w *Warehouse) table(ctx context.Context, conn *duck.Conn, f *sqlfiles.File, p Params) (*duck.Rows, error) {
	start := ""
	for _, c := range []string{"call_start_at", "start_at", "started_at"} {
		if _, ok := f.Column(c); ok {
			start = c
			break
		}
	}
	terms := []string{"true"}
	if start != "" {
		terms = bounds(p, start)
	}
	if _, ofCall := f.Column("call_id"); ofCall && (p.Agent != "" || len(p.Where) > 0) {
		s, err := w.selection(ctx, conn, p)
		if err != nil {
			return nil, err
		}
		if f.Name == "calls" {
			terms = append(terms, s.ofCalls())
		} else {
			terms = append(terms, "call_id IN (SELECT call_id FROM calls WHERE "+s.ofCalls()+")")
		}
	}
	return conn.Query(ctx, "SELECT * FROM "+f.Name+" WHERE "+strings.Join(terms, " AND "))
}
