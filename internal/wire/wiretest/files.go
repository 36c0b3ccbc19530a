package wiretest

import (
	"bytes"
	"errors"
	"io"

	"github.com/parquet-go/parquet-go"
	"pgregory.net/rapid"

	"callhouse/internal/test"
)

// RoundTrip writes rows into a file of a schema, and returns the schema and the
// rows that are read from it.
func RoundTrip(t rapid.TB, s *parquet.Schema, rows ...parquet.Row) (*parquet.Schema, []parquet.Row) {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewGenericWriter[any](&b, s)
	_, err := w.WriteRows(rows)
	test.OK(t, errors.Join(err, w.Close()))
	f, err := parquet.OpenFile(bytes.NewReader(b.Bytes()), int64(b.Len()))
	test.OK(t, err)
	var out []parquet.Row
	for _, g := range f.RowGroups() {
		r := g.Rows()
		buf := make([]parquet.Row, 1)
		for {
			n, err := r.ReadRows(buf)
			if n == 1 {
				out = append(out, buf[0].Clone())
			}
			if errors.Is(err, io.EOF) {
				break
			}
			test.OK(t, err)
		}
		test.OK(t, r.Close())
	}
	return f.Schema(), out
}
