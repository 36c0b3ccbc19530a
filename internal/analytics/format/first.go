package format

import (
	"context"
	"errors"
	"io"
	"time"

	"callhouse/internal/analytics/value"
)

// First limits a source to its first rows.
type First struct {
	Source
	Rows  int64 // remaining rows; math.MaxInt64: all
	Bytes int64 // remaining bytes, as JSON; 0: no limit
	// More reports that Bytes cut off some rows.
	More bool
	json []byte
}

// Values implements Source.
func (f *First) Values(ctx context.Context) ([]value.Value, error) {
	if f.Rows == 0 || f.More {
		return nil, io.EOF
	}
	f.Rows--
	row, err := f.Source.Values(ctx)
	if err != nil || f.Bytes == 0 {
		return row, err
	}
	size := int64(0)
	for i, c := range f.Columns() {
		f.json = row[i].AppendJSON(f.json[:0], time.UTC)
		size += int64(len(c.Name) + len(f.json) + len(`"":,`))
	}
	if size >= f.Bytes {
		f.More = true
		return nil, io.EOF
	}
	f.Bytes -= size
	return row, nil
}

// Others counts the remaining rows.
func (f *First) Others(ctx context.Context) (n int64, err error) {
	if f.More {
		n = 1 // the row that did not fit
	}
	for f.Rows == 0 || f.More {
		if _, err := f.Source.Values(ctx); errors.Is(err, io.EOF) {
			return n, nil
		} else if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}
