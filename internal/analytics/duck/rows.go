package duck

import (
	"context"
	"errors"
	"fmt"
	"io"
	"unsafe"

	bindings "github.com/duckdb/duckdb-go-bindings"

	"callhouse/internal/analytics/value"
)

// Rows is a streamed result. It holds at most one chunk (2,048 rows).
type Rows struct {
	stmt    *Stmt
	reuse   bool // closing the rows does not close the statement
	res     bindings.Result
	columns []value.Column
	types   []*typ

	chunk   bindings.DataChunk
	vectors []vector
	row, n  int
	buf     []value.Value
	values  []any
	done    bool
}

// describe reads the names and types of the columns. If that fails, it frees the result.
func (r *Rows) describe() error {
	n := int(bindings.ColumnCount(&r.res))
	for i := range n {
		at := bindings.IdxT(i)
		name := bindings.ColumnName(&r.res, at)
		lt := bindings.ColumnLogicalType(&r.res, at)
		c, t, err := column(name, lt)
		bindings.DestroyLogicalType(&lt)
		if err != nil {
			bindings.DestroyResult(&r.res)
			return err
		}
		r.types = append(r.types, t)
		r.columns = append(r.columns, c)
	}
	r.vectors = make([]vector, n)
	r.buf = make([]value.Value, n)
	return nil
}

// column describes a column of a result.
func column(name string, lt bindings.LogicalType) (value.Column, *typ, error) {
	t, err := typeOf(lt)
	if err != nil {
		return value.Column{}, nil, &Error{Kind: "Type", Message: "column " + name + ": " + err.Error()}
	}
	c := value.Column{Name: name, Type: t.name, Kind: t.kind}
	if t.id == bindings.TypeStruct {
		for i, child := range t.children {
			c.Fields = append(c.Fields, value.Column{Name: t.names[i], Type: child.name, Kind: child.kind})
		}
	}
	return c, t, nil
}

// TooLarge is the kind of the error for a row larger than MaxRow.
const TooLarge = "Too Large"

// Columns returns the columns. The caller may change the slice's elements.
func (r *Rows) Columns() []value.Column { return r.columns }

// Next returns the next row as Go values ([value.Value.Go]), or io.EOF after the last. The slice is
// reused by the next call, the values are not.
func (r *Rows) Next(ctx context.Context) ([]any, error) {
	row, err := r.Values(ctx)
	r.values = value.GoAll(r.values[:0], row)
	return r.values, err
}

// Each calls visit with each remaining row, and closes r. A row is valid as with Next.
func (r *Rows) Each(ctx context.Context, visit func(row []any)) error {
	defer r.Close()
	for {
		row, err := r.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		visit(row)
	}
}

// Values returns the next row, or io.EOF after the last. It is valid until the next call and is not
// copied out of DuckDB's memory.
func (r *Rows) Values(ctx context.Context) ([]value.Value, error) {
	for r.row == r.n {
		if err := r.fetch(ctx); err != nil {
			return nil, err
		}
		if r.done {
			return nil, io.EOF
		}
	}
	if left := r.stmt.conn.MaxRow; left > 0 {
		for i := range r.vectors {
			if left -= r.vectors[i].size(r.row, left); left < 0 {
				return nil, &Error{Kind: TooLarge, Message: fmt.Sprintf("a row of more than %d MiB, by column %s", r.stmt.conn.MaxRow>>20,
					r.columns[i].Name)}
			}
		}
	}
	for i := range r.vectors {
		r.vectors[i].read(r.row, &r.buf[i])
	}
	r.row++
	return r.buf, nil
}

func (r *Rows) fetch(ctx context.Context) error {
	if r.done {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	defer r.stmt.conn.watch(ctx)()
	r.drop()
	r.chunk = bindings.FetchChunk(r.res)
	if r.chunk.Ptr == nil {
		if msg := bindings.ResultError(&r.res); msg != "" {
			return r.stmt.conn.failed(ctx, msg)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		r.done = true
		return nil
	}
	r.n = int(bindings.DataChunkGetSize(r.chunk))
	for i := range r.vectors {
		r.vectors[i].load(bindings.DataChunkGetVector(r.chunk, bindings.IdxT(i)), r.types[i])
	}
	return nil
}

// drop frees the chunk. No value may point into it any more.
func (r *Rows) drop() {
	clear(r.buf)
	bindings.DestroyDataChunk(&r.chunk)
	r.row, r.n = 0, 0
}

// Close frees the result and its statement, except one of [Stmt.QueryKept]. It may be called before the end.
func (r *Rows) Close() {
	r.drop()
	bindings.DestroyResult(&r.res)
	if !r.reuse {
		r.stmt.Close()
	}
}

// vector is a column of the current chunk: consecutive values of one type in DuckDB's memory.
type vector struct {
	t        *typ
	data     unsafe.Pointer
	valid    unsafe.Pointer // one bit per row, set: not null; nil: no nulls
	children []vector       // of nested types
}

func (v *vector) load(from bindings.Vector, t *typ) {
	v.t = t
	v.data = bindings.VectorGetData(from)
	v.valid = bindings.VectorGetValidity(from)
	if len(v.children) != len(t.children) {
		v.children = make([]vector, len(t.children))
	}
	for i, child := range t.children {
		switch t.id {
		case bindings.TypeArray:
			v.children[i].load(bindings.ArrayVectorGetChild(from), child)
		case bindings.TypeList, bindings.TypeMap:
			v.children[i].load(bindings.ListVectorGetChild(from), child)
		default:
			v.children[i].load(bindings.StructVectorGetChild(from, bindings.IdxT(i)), child)
		}
	}
}

func (v *vector) null(row int) bool {
	if v.valid == nil {
		return false
	}
	word := *(*uint64)(unsafe.Add(v.valid, row/64*8))
	return word>>(row%64)&1 == 0
}
