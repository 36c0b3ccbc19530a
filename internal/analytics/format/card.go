package format

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"callhouse/internal/analytics/value"
)

// WriteCard writes the non-null values of the first row of src as lines of name and value. On a
// narrow terminal a value is wrapped.
func WriteCard(ctx context.Context, w io.Writer, src Source, o Options) error {
	if o.Location == nil {
		o.Location = time.UTC
	}
	row, err := src.Values(ctx)
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return err
	}
	var columns []value.Column
	var cells []string
	for i, c := range src.Columns() {
		if row[i].Kind != value.Null {
			c.Label = strings.ReplaceAll(heading(c), "_", " ")
			columns, cells = append(columns, c), append(cells, value.Cell(row[i], c, o.Location))
		}
	}
	buf := bufio.NewWriter(w)
	writeRecords(buf, columns, [][]string{cells}, o.Width)
	return buf.Flush()
}
