package snapshot

import (
	"context"
	"errors"
	"io"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/calls"
	"callhouse/internal/layout"
	"callhouse/internal/schema"
	"callhouse/internal/sink/disk"
	"callhouse/internal/sink/table"
)

// Find reads one call of a snapshot with all its turns and items; nil if the snapshot has no such
// call. The files' filters show which files to read.
func Find(ctx context.Context, s *layout.Snapshot, id string) (*calls.Call, error) {
	r, err := readOf(s)
	if err != nil {
		return nil, err
	}
	return r.Find(ctx, id)
}

// Find is the function Find for a reader.
func (r *Reader) Find(ctx context.Context, id string) (*calls.Call, error) {
	for _, f := range r.Files(schema.Calls.Name) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		call := new(calls.Call)
		n, err := r.rowsOf(f, id, nil, func(row parquet.Row) error { return call.Read(row.Clone()) })
		if err != nil {
			return nil, err
		}
		if n > 0 {
			return call, r.fill(f.Period, call)
		}
	}
	// A damaged filter may have hidden the call.
	for _, f := range r.Files(schema.Calls.Name) {
		if err := r.Prove(f); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// fill reads the turns and items of a call.
func (r *Reader) fill(period string, call *calls.Call) error {
	for i, list := range schema.CallResource.Lists {
		f := r.File(list.Name, period)
		if f == nil {
			continue
		}
		_, err := r.rowsOf(f, string(call.ID()), call, func(row parquet.Row) error {
			call.Lists[i].AddRow(row.Clone())
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// rowsOf visits the rows of one call in a file, and returns their number. of is the call, if known:
// its start narrows the search. Data is proven before it is read.
func (r *Reader) rowsOf(f *layout.File, id string, of *calls.Call,
	visit func(parquet.Row) error) (n int64, err error) {
	t, err := r.OpenAsIs(f)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	for _, g := range t.Groups {
		may, err := mayHoldCall(t, g, id, of)
		if err != nil {
			return n, &disk.DamageError{Path: t.Path, What: err.Error()}
		}
		if !may {
			continue
		}
		if err := r.Prove(f); err != nil {
			return n, err
		}
		first, count, err := rowRange(t, g, id)
		if err != nil {
			return n, err
		}
		if err := readRows(t, g, first, count, visit); err != nil {
			return n, err
		}
		n += count
	}
	return n, nil
}

// mayHoldCall checks the filter of a row group, or else its bounds.
func mayHoldCall(t *table.Reader, g parquet.RowGroup, id string, of *calls.Call) (bool, error) {
	if filter := g.ColumnChunks()[t.Column("call_id")].BloomFilter(); filter != nil {
		return filter.Check(parquet.ByteArrayValue([]byte(id)))
	}
	at := t.Column("call_start_at")
	if of == nil || !of.StartAt().OK || at < 0 {
		return true, nil
	}
	chunk, ok := g.ColumnChunks()[at].(*parquet.FileColumnChunk)
	if !ok {
		return true, nil
	}
	low, high, ok := chunk.Bounds()
	return !ok || schema.MillisOf(low).V <= of.StartAt().V && of.StartAt().V <= schema.MillisOf(high).V, nil
}

// rowRange returns the position of a call's first row in a row group, and the number of its rows,
// which are adjacent.
func rowRange(t *table.Reader, g parquet.RowGroup, id string) (first, count int64, err error) {
	err = t.EachOf(g, []string{"call_id"}, func(at int64, row []parquet.Value) bool {
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
func readRows(t *table.Reader, g parquet.RowGroup, first, count int64, visit func(parquet.Row) error) (err error) {
	if count == 0 {
		return nil
	}
	rows := g.Rows()
	defer func() { err = errors.Join(err, rows.Close()) }()
	if err := rows.SeekToRow(first); err != nil {
		return &disk.DamageError{Path: t.Path, What: err.Error()}
	}
	buf := make([]parquet.Row, min(count, table.ReadAhead))
	for count > 0 {
		n, err := rows.ReadRows(buf[:min(count, int64(len(buf)))])
		if err != nil && !errors.Is(err, io.EOF) || n == 0 {
			return &disk.DamageError{Path: t.Path, What: "its rows end early"}
		}
		for _, row := range buf[:n] {
			if err := visit(row); err != nil {
				return &disk.DamageError{Path: t.Path, What: err.Error()}
			}
		}
		count -= int64(n)
	}
	return nil
}
