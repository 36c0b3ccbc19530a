package format

import (
	"context"

	"callhouse/internal/analytics/value"
)

// only is a source with some of its columns.
type only struct {
	Source
	at  []int
	row []value.Value
}

// Only returns src with the columns at some indexes, in their order.
func Only(src Source, at []int) Source { return &only{src, at, make([]value.Value, len(at))} }

// Columns implements Source.
func (o *only) Columns() []value.Column {
	out := make([]value.Column, len(o.at))
	for i, at := range o.at {
		out[i] = o.Source.Columns()[at]
	}
	return out
}

// Values implements Source.
func (o *only) Values(ctx context.Context) ([]value.Value, error) {
	row, err := o.Source.Values(ctx)
	if err != nil {
		return nil, err
	}
	for i, at := range o.at {
		o.row[i] = row[at]
	}
	return o.row, nil
}
