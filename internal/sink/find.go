package sink

import (
	"context"
	"errors"
	"io"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
)

// Find reads one call of a snapshot with all its turns and items; nil when the
// snapshot has no such call. The filters of the files say which of them to read.
func Find(ctx context.Context, s *layout.Snapshot, id string) (*schema.Call, error) {
	fsys, err := openToRead(s.Root())
	if err != nil {
		return nil, err
	}
	return find(ctx, fsys, s, id)
}

func find(ctx context.Context, fsys FS, s *layout.Snapshot, id string) (*schema.Call, error) {
	p := new(proofs)
	for _, f := range s.Manifest.FilesOf(schema.Calls.Name) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		call := new(schema.Call)
		n, err := p.rowsOf(fsys, s, f, id, nil, func(r *schema.RowReader, row parquet.Row) error { return r.Call(row.Clone(), call) })
		if err != nil {
			return nil, err
		}
		if n > 0 {
			return call, p.fill(fsys, s, f.Period, call)
		}
	}
	// A damaged filter may have hidden it.
	return nil, p.proveAll(fsys, s, &schema.Calls)
}

// fill reads the turns and items of a call.
func (p *proofs) fill(fsys FS, s *layout.Snapshot, period string, call *schema.Call) error {
	c := &commit{fsys: fsys, old: s}
	for i, table := range schema.CallResource.Lists {
		f := c.fileOf(table.Name, period)
		if f == nil {
			continue
		}
		_, err := p.rowsOf(fsys, s, f, string(call.ID()), call, func(r *schema.RowReader, row parquet.Row) error {
			call.Took(r)
			return r.Add(row.Clone(), &call.Lists[i])
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// rowsOf visits the rows of one call in a file, and returns how many there are.
// of is the call, where that is known, so that its start leads to them. What is
// read is proven before.
func (p *proofs) rowsOf(fsys FS, s *layout.Snapshot, f *layout.File, id string, of *schema.Call,
	visit func(*schema.RowReader, parquet.Row) error) (n int64, err error) {
	t, err := openTable(fsys, s.Path(f), tableOf(f.Table))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	for _, g := range t.groups {
		may, err := mayHoldCall(t, g, id, of)
		if err != nil {
			return n, &DamageError{Path: t.path, What: err.Error()}
		}
		if !may {
			continue
		}
		if err := p.prove(fsys, s, f); err != nil {
			return n, err
		}
		first, count, err := stretch(g, t.id, id)
		if err != nil {
			return n, &DamageError{Path: t.path, What: err.Error()}
		}
		if err := readRows(t, g, first, count, visit); err != nil {
			return n, err
		}
		n += count
	}
	return n, nil
}

// mayHoldCall asks the filter of a row group, or else its bounds.
func mayHoldCall(t *tableReader, g parquet.RowGroup, id string, of *schema.Call) (bool, error) {
	if filter := g.ColumnChunks()[t.id].BloomFilter(); filter != nil {
		return filter.Check(parquet.ByteArrayValue([]byte(id)))
	}
	at := column(t.columns, "call_start_at")
	if of == nil || !of.StartAt().OK || at < 0 {
		return true, nil
	}
	chunk, ok := g.ColumnChunks()[at].(*parquet.FileColumnChunk)
	if !ok {
		return true, nil
	}
	low, high, ok := chunk.Bounds()
	return !ok || t.reader.Millis(at, low) <= of.StartAt().V && of.StartAt().V <= t.reader.Millis(at, high), nil
}

// stretch returns where the rows of a call stand in a row group, one after the
// other, and how many.
func stretch(g parquet.RowGroup, column int, id string) (first, count int64, err error) {
	err = eachRow(g, []int{column}, func(at int64, row []parquet.Value) bool {
		if string(row[0].ByteArray()) != id {
			return count == 0
		}
		if count == 0 {
			first = at
		}
		count++
		return true
	})
	return first, count, err
}

// readRows visits count rows of a row group.
func readRows(t *tableReader, g parquet.RowGroup, first, count int64, visit func(*schema.RowReader, parquet.Row) error) (err error) {
	if count == 0 {
		return nil
	}
	rows := g.Rows()
	defer func() { err = errors.Join(err, rows.Close()) }()
	if err := rows.SeekToRow(first); err != nil {
		return &DamageError{Path: t.path, What: err.Error()}
	}
	buf := make([]parquet.Row, min(count, readAhead))
	for count > 0 {
		n, err := rows.ReadRows(buf[:min(count, int64(len(buf)))])
		if err != nil && !errors.Is(err, io.EOF) || n == 0 {
			return &DamageError{Path: t.path, What: "its rows end early"}
		}
		for _, row := range buf[:n] {
			if err := visit(t.reader, row); err != nil {
				return &DamageError{Path: t.path, What: err.Error()}
			}
		}
		count -= int64(n)
	}
	return nil
}
