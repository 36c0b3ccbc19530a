package columnar

import (
	"fmt"
	"slices"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"callhouse/internal/schema"
	"callhouse/internal/schema/decimal"
)

// RowReader turns the rows of one file back into calls, turns, items and runs.
// It knows which of the file's columns is which of the table's: by field id,
// or by name where the file carries no field ids. So it reads files that were
// written with fewer columns (the missing ones are null or zero), in another
// order, with more of them (which it skips), or by an older version, with
// instants in milliseconds and decimals of fewer places.
type RowReader struct {
	table  *schema.Table
	leaves []leaf
	plain  bool // its rows are the table's
	lacks  *schema.Lacking
}

// leaf is a column of a file.
type leaf struct {
	to     int  // its position in table.Columns, or -1
	millis bool // of an instant: it counts milliseconds
	places int  // of a decimal
	known  bool // it is of the table, or was in an older version
}

// NewRowReader returns a reader for files of the given schema. It refuses a
// file in which a column cannot be what the table declares, or which lacks the
// table's first column, its key.
func NewRowReader(file *parquet.Schema, t *schema.Table) (*RowReader, error) {
	r := &RowReader{table: t, plain: len(file.Fields()) == len(t.Columns)}
	keyed := false
	for i, f := range file.Fields() {
		if !f.Leaf() || f.Repeated() {
			return nil, fmt.Errorf("read %s: the column %s is nested or repeated", t.Name, f.Name())
		}
		l := leaf{to: columnOf(t, f)}
		if l.to < 0 {
			l.known = f.Name() == schema.Month
		} else if l.known = l.fit(f.Type(), t.Columns[l.to].Type); !l.known {
			return nil, fmt.Errorf("read %s: the column %s is %v in the file, not %v", t.Name, f.Name(), f.Type(), leafOf(&t.Columns[l.to]).Type())
		}
		keyed = keyed || l.to == 0
		r.plain = r.plain && l.to == i && !l.millis && (l.places == 0 || l.places == decimal.Places)
		r.leaves = append(r.leaves, l)
	}
	if !keyed {
		return nil, fmt.Errorf("read %s: the file has no column %s", t.Name, t.Columns[0].Name)
	}
	r.lacks = schema.NewLacking(t, r.Has)
	return r, nil
}

// fit says whether a column of a file can be read as one of type t, and notes how.
func (l *leaf) fit(is parquet.Type, t schema.Type) bool {
	logical := is.LogicalType()
	switch t {
	case schema.Timestamp:
		if logical == nil {
			return false
		}
		of, ok := logical.Value.(*format.TimestampType)
		if !ok || is.Kind() != parquet.Int64 {
			return false
		}
		switch of.Unit.Value.(type) {
		case *format.MilliSeconds:
			l.millis = true
			return true
		case *format.MicroSeconds:
			return true
		}
		return false
	case schema.Exact:
		if logical == nil {
			return false
		}
		of, ok := logical.Value.(*format.DecimalType)
		if !ok || of.Scale < 0 || of.Scale > decimal.Places {
			return false
		}
		l.places = int(of.Scale)
		return is.Kind() == parquet.Int64 || is.Kind() == parquet.FixedLenByteArray && is.Length() == decimal.Bytes && l.places == decimal.Places
	}
	return is.Kind() == leafOf(&schema.Column{Type: t}).Type().Kind()
}

// Unknown returns the columns of the file that this program does not know: a
// later one wrote it.
func (r *RowReader) Unknown(file *parquet.Schema) (names []string) {
	for i, f := range file.Fields() {
		if !r.leaves[i].known {
			names = append(names, f.Name())
		}
	}
	return names
}

// Has says whether the file has a column of the table.
func (r *RowReader) Has(column int) bool {
	return slices.ContainsFunc(r.leaves, func(l leaf) bool { return l.to == column })
}

// Millis returns an instant in milliseconds: a value of the file's column at
// position leaf.
func (r *RowReader) Millis(leaf int, v parquet.Value) int64 {
	if r.leaves[leaf].millis {
		return v.Int64()
	}
	return schema.MillisOf(v).V
}

// today returns a value of the file as today's files have it.
func (r *RowReader) today(v parquet.Value, col int) parquet.Value {
	switch l := &r.leaves[v.Column()]; {
	case v.IsNull():
	case l.millis:
		return schema.InstantValue(v.Int64())
	case r.table.Columns[col].Type == schema.Exact && v.Kind() == parquet.Int64:
		return schema.ExactValue(schema.Some(decimal.FromUnits(v.Int64(), l.places)))
	}
	return v
}

// Same says whether a row of the file is what a row as it is written today
// says, in all columns that the file has.
func (r *RowReader) Same(row, today parquet.Row) bool {
	for _, v := range row {
		col, err := r.column(v)
		if err != nil {
			return false
		}
		if col >= 0 && !schema.SameValue(r.table.Columns[col].Type, r.today(v, col), today[col]) {
			return false
		}
	}
	return true
}

// columnOf returns the position of a file's column in the table, or -1.
func columnOf(t *schema.Table, f parquet.Field) int {
	if f.ID() == 0 {
		return t.Column(f.Name())
	}
	for i := range t.Columns {
		if t.Columns[i].ID == f.ID() {
			return i
		}
	}
	return -1
}

// Lacks returns what the file lacks of the table, or nil.
func (r *RowReader) Lacks() *schema.Lacking { return r.lacks }

// Object fills o from a row of a resource's table. Its lists are emptied.
func (r *RowReader) Object(row parquet.Row, of *schema.Resource, o *schema.Object) error {
	o.Begin(of)
	o.Took(r.lacks)
	return r.Read(row, o.Row)
}

// Add adds a row of a list. Texts are those of the row's values.
func (r *RowReader) Add(row parquet.Row, to *schema.Rows) error { return r.Read(row, to.Add()) }

// Read fills a row of the table, which has nulls, from one of the file. Texts are those
// of the row's values: clone what is to outlive the reader's buffers.
func (r *RowReader) Read(from parquet.Row, to schema.Row) error {
	if r.plain && len(from) == len(to) {
		copy(to, from)
		return nil
	}
	for _, v := range from {
		col, err := r.column(v)
		if err != nil {
			return err
		}
		if col >= 0 {
			to[col] = r.today(v, col)
		}
	}
	return nil
}

// column returns the position in the table of a value's column, or -1.
func (r *RowReader) column(v parquet.Value) (int, error) {
	at := v.Column()
	if at < 0 || at >= len(r.leaves) {
		return 0, fmt.Errorf("read %s: a row has a value for column %d of %d", r.table.Name, at, len(r.leaves))
	}
	return r.leaves[at].to, nil
}
