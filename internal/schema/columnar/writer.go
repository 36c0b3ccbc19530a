package columnar

import (
	"github.com/parquet-go/parquet-go"

	"callhouse/internal/schema"
)

// Vectors take the rows of one file of a table, a column at a time. They belong to one Parquet
// writer at a time, which must be made with their Schema. When it is closed without an error,
// another writer may use them.
type Vectors struct {
	cols   []vector
	schema *parquet.Schema
	bytes  int64 // size of the values since the row group began
}

// NewVectors returns vectors for a file of a table.
func NewVectors(t *schema.Table) *Vectors {
	vs := &Vectors{cols: make([]vector, len(t.Columns))}
	vs.schema = parquetSchema(t, func(i int, leaf parquet.Node) parquet.Node {
		v := &vs.cols[i]
		v.bytes = &vs.bytes
		v.required, v.shape = t.Columns[i].Required, shapeOf(leaf.Type().Kind())
		if v.reset(); v.shape == shapeBool {
			return leaf
		}
		return &vectorNode{leaf, &vectorType{leaf.Type(), v}}
	})
	return vs
}

// Schema returns the schema of the table, for the file's writer.
func (vs *Vectors) Schema() *parquet.Schema { return vs.schema }

// Begin begins a row group with its column writers.
func (vs *Vectors) Begin(columns []*parquet.ColumnWriter) {
	vs.bytes = 0
	for i := range vs.cols {
		vs.cols[i].w = columns[i]
	}
}

// Settle reports the last rows to the library. The row group may then be committed.
func (vs *Vectors) Settle() error {
	for i := range vs.cols {
		vs.cols[i].settle()
	}
	return vs.Err()
}

// Err returns the first error of the writer.
func (vs *Vectors) Err() error {
	for i := range vs.cols {
		if err := vs.cols[i].err; err != nil {
			return err
		}
	}
	return nil
}

// Bytes returns the size in bytes of the row group's values before encoding.
func (vs *Vectors) Bytes() int64 { return vs.bytes }

// AddRow adds a row of the table.
func (vs *Vectors) AddRow(row parquet.Row) {
	for i := range vs.cols {
		vs.cols[i].putValue(&row[i])
	}
}

// AddList adds the rows of one of an object's lists, a column at a time. Columns that repeat the
// object's own take their values from it.
func (vs *Vectors) AddList(o *schema.Object, list int) {
	rows := &o.Lists[list]
	cells := rows.Cells()
	for i, from := range o.Of.Repeats(list) {
		v := &vs.cols[i]
		switch from {
		default:
			v.repeat(&o.Row[from], rows.Len())
		case schema.OwnPlace:
			for n := range rows.Len() {
				v.putInt(int32(n))
			}
		case schema.OwnValue:
			for at := i; at < len(cells); at += len(vs.cols) {
				v.putValue(&cells[at])
			}
		}
	}
}
