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
	row     []value.Value
}

// NewStatic returns a Source of rows.
func NewStatic(columns []value.Column, rows [][]any) *Static {
	return &Static{columns, rows, make([]value.Value, len(columns))}
}

// Texts returns a Source of rows of texts; on a narrow terminal the last column is wrapped.
func Texts(heads []string, rows [][]any) *Static {
	columns := make([]value.Column, len(heads))
	for i, h := range heads {
		columns[i] = value.Column{Name: h, Type: "VARCHAR", Kind: value.Text, Wrap: i == len(heads)-1}
	}
	return NewStatic(columns, rows)
}

// Columns implements Source.
func (s *Static) Columns() []value.Column { return s.columns }

// Values implements Source.
func (s *Static) Values(context.Context) ([]value.Value, error) {
	if len(s.rows) == 0 {
		return nil, io.EOF
	}
	for i, x := range s.rows[0] {
		s.row[i] = value.Of(x)
	}
	s.rows = s.rows[1:]
	return s.row, nil
}
