package columnar

import (
	"fmt"
	"slices"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"callhouse/internal/schema"
	"callhouse/internal/schema/decimal"
)

// RowReader converts the rows of one file back into calls, turns, items and runs. It matches the
// file's columns with the table's by field id, or by name if the file has no field ids. So it can
// read files with fewer columns (the missing ones are null or zero), in another order, with more
// columns (which it skips), or of an older version, with instants in milliseconds and decimals with
// fewer places.
type RowReader struct {
	table  *schema.Table
	leaves []leaf
	plain  bool // its rows have the table's layout
	lacks  *schema.Lacking
}

// leaf is a column of a file.
type leaf struct {
	to     int  // its position in table.Columns, or -1
	millis bool // an instant in milliseconds
	places int  // decimal places
	known  bool // the table has the column, or had it in an older version
}

// NewRowReader returns a reader for files of the given schema. It fails if a column cannot be read
// as the type that the table declares, or if the table's first column, its key, is missing.
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

// fit reports whether a column of a file can be read as type t, and records how.
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

// Unknown returns the columns of the file that this program does not know; a later version wrote
// them.
func (r *RowReader) Unknown(file *parquet.Schema) (names []string) {
	for i, f := range file.Fields() {
		if !r.leaves[i].known {
			names = append(names, f.Name())
		}
	}
	return names
}

// Has reports whether the file has a column of the table.
func (r *RowReader) Has(column int) bool {
	return slices.ContainsFunc(r.leaves, func(l leaf) bool { return l.to == column })
}

// Millis returns the instant v of the file's column at position leaf, in milliseconds.
func (r *RowReader) Millis(leaf int, v parquet.Value) int64 {
	if r.leaves[leaf].millis {
		return v.Int64()
	}
	return schema.MillisOf(v).V
}

// today converts a value of the file to the form of the current version.
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

// Same reports whether a row of the file equals a row in the current form, in all columns that the
// file has.
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

// Lacks returns the table's columns that the file lacks, or nil.
func (r *RowReader) Lacks() *schema.Lacking { return r.lacks }

// Object fills o from a row of a resource's table. Its lists are emptied.
func (r *RowReader) Object(row parquet.Row, of *schema.Resource, o *schema.Object) error {
	o.Begin(of)
	o.Took(r.lacks)
	return r.Read(row, o.Row)
}

// Add adds a row of a list. Its texts alias the row's values.
func (r *RowReader) Add(row parquet.Row, to *schema.Rows) error { return r.Read(row, to.Add()) }

// Read fills a row of the table, which has nulls, from a row of the file. Texts alias the row's
// values: clone those that must outlive the reader's buffers.
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
