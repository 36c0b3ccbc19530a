package format

import (
	"context"
	"io"

	"callhouse/internal/analytics/value"
)

// Static is a Source over rows in memory.
type Static struct {
	columns []value.Column
	rows    [][]any
}

// NewStatic returns a Source of rows.
func NewStatic(columns []value.Column, rows [][]any) *Static {
	return &Static{columns: columns, rows: rows}
}

// Columns implements Source.
func (s *Static) Columns() []value.Column { return s.columns }

// Next implements Source.
func (s *Static) Next(context.Context) ([]any, error) {
	if len(s.rows) == 0 {
		return nil, io.EOF
	}
	row := s.rows[0]
	s.rows = s.rows[1:]
	return row, nil
}

// Skip implements Source.
func (s *Static) Skip(context.Context) (int, error) {
	n := len(s.rows)
	s.rows = nil
	return n, nil
}
