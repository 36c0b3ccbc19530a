package format

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"callhouse/internal/analytics/value"
)

// A batch (in Parquet a row group) is written once it has batchRows rows or batchBytes bytes of
// text, which bounds the memory.
const (
	batchRows  = 64 << 10
	batchBytes = 16 << 20
)

// writeArrow writes an Arrow IPC file.
func writeArrow(ctx context.Context, w *bufio.Writer, src Source, o Options) (Result, error) {
	cols := columnsOf(src.Columns())
	schema := schemaOf(cols)
	out, err := ipc.NewFileWriter(w, ipc.WithSchema(schema))
	if err != nil {
		return Result{}, fmt.Errorf("write arrow: %w", err)
	}
	b := array.NewRecordBuilder(memory.NewGoAllocator(), schema)
	defer b.Release()
	row := func(values []value.Value, texts [][]byte) error {
		for i := range values {
			add(b.Field(i), &values[i], texts[i])
		}
		return nil
	}
	return writeBatches(ctx, src, o, cols, row, func() error {
		batch := b.NewRecordBatch()
		defer batch.Release()
		return out.Write(batch)
	}, out)
}

// writeBatches writes all rows, and flushes after each batch. After an error the file has no end, so no
// reader accepts it as complete.
func writeBatches(ctx context.Context, src Source, o Options, cols []typed,
	write func(row []value.Value, texts [][]byte) error, flush func() error, end io.Closer) (Result, error) {
	rows, bytes, texts := 0, 0, make([][]byte, len(cols))
	r, err := each(ctx, src, func(row []value.Value) (err error) {
		for i := range row {
			if texts[i], err = cols[i].convert(&row[i], o.Location); err != nil {
				return err
			}
			bytes += len(texts[i])
		}
		if err := write(row, texts); err != nil {
			return err
		}
		if rows++; rows < batchRows && bytes < batchBytes {
			return nil
		}
		rows, bytes = 0, 0
		return flush()
	})
	if err == nil && rows > 0 {
		err = flush()
	}
	if err != nil {
		return r, err
	}
	for _, c := range cols {
		if c.rounded > 0 {
			r.Notes = append(r.Notes, fmt.Sprintf("%s: numbers with more digits than a DOUBLE holds: %d; csv and json have all", c.name, c.rounded))
		}
	}
	return r, end.Close()
}

// typed is a column of these formats.
type typed struct {
	name string
	kind value.Kind
	typ  arrow.DataType
	text []byte // of the latest value
	// rounded counts decimals with more digits than their DOUBLE.
	rounded int
}

func columnsOf(columns []value.Column) []typed {
	out := make([]typed, len(columns))
	for i, name := range uniqueNames(columns) {
		out[i] = typed{name: name, kind: columns[i].Kind, typ: typeOf(columns[i])}
	}
	return out
}

func schemaOf(cols []typed) *arrow.Schema {
	fields := make([]arrow.Field, len(cols))
	for i, c := range cols {
		fields[i] = arrow.Field{Name: c.name, Type: c.typ, Nullable: true}
	}
	return arrow.NewSchema(fields, nil)
}

// wideDecimal is the precision above which decimals become DOUBLE: pandas and others convert wider ones
// to other numbers, or cannot read them.
const wideDecimal = 18

// typeOf returns the type that holds every value of a column exactly, or text if there is no such
// type or readers rarely support it. Wide decimals are rounded if they have more than 15 digits.
func typeOf(c value.Column) arrow.DataType {
	switch c.Type {
	case "BOOLEAN":
		return arrow.FixedWidthTypes.Boolean
	case "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "HUGEINT": // sums of whole numbers are HUGEINT
		return arrow.PrimitiveTypes.Int64
	case "UBIGINT":
		return arrow.PrimitiveTypes.Uint64
	case "FLOAT":
		return arrow.PrimitiveTypes.Float32
	case "DOUBLE":
		return arrow.PrimitiveTypes.Float64
	case "DATE":
		return arrow.FixedWidthTypes.Date32
	case "TIMESTAMP":
		return &arrow.TimestampType{Unit: arrow.Microsecond}
	case "TIMESTAMP WITH TIME ZONE":
		return &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}
	}
	if c.Kind == value.Exact {
		t := &arrow.Decimal128Type{}
		if n, _ := fmt.Sscanf(c.Type, "DECIMAL(%d,%d)", &t.Precision, &t.Scale); n == 2 && t.Precision <= wideDecimal {
			return t
		}
		return arrow.PrimitiveTypes.Float64
	}
	if c.Kind == value.Bytes {
		return arrow.BinaryTypes.Binary
	}
	return arrow.BinaryTypes.String
}

// Type returns DuckDB's name of the type that a column has in the format.
func (f Format) Type(c value.Column) string {
	if f == Parquet || f == Arrow {
		switch typeOf(c).ID() {
		case arrow.INT64:
			return "BIGINT"
		case arrow.FLOAT64:
			return "DOUBLE"
		case arrow.STRING:
			return "VARCHAR"
		}
	}
	return c.Type
}

// convert checks that the column's type can hold the value. If that type is text, it returns the text, which is valid
// until the next call.
func (c *typed) convert(v *value.Value, loc *time.Location) (text []byte, err error) {
	c.text = c.text[:0]
	switch id := c.typ.ID(); {
	case v.Kind == value.Null:
	case id == arrow.STRING && c.kind.Nested():
		c.text = v.AppendJSON(c.text, loc)
	case id == arrow.STRING:
		c.text = v.AppendText(c.text, loc)
	case v.Kind != c.kind:
		err = fmt.Errorf("write column %s: %v cannot be written as %s; cast it, e.g. CAST(x AS VARCHAR)", c.name, v, c.typ)
	case id == arrow.FLOAT64 && v.Kind == value.Exact:
		if strconv.FormatFloat(v.Float(), 'f', -1, 64) != string(v.AppendNumber(nil, 0)) {
			c.rounded++
		}
	case id == arrow.BINARY:
		c.text = append(c.text, v.Text...)
	case id == arrow.INT64 && v.High != int64(v.Low)>>63:
		err = fmt.Errorf("write column %s: %v does not fit BIGINT; cast it, e.g. CAST(x AS VARCHAR)", c.name, v.Big())
	}
	return c.text, err
}

// add appends a converted value.
func add(to array.Builder, v *value.Value, text []byte) {
	if v.Kind == value.Null {
		to.AppendNull()
		return
	}
	switch b := to.(type) {
	case *array.BooleanBuilder:
		b.Append(v.Low != 0)
	case *array.Int64Builder:
		b.Append(v.Int())
	case *array.Uint64Builder:
		b.Append(v.Low)
	case *array.Float32Builder:
		b.Append(float32(v.Float()))
	case *array.Float64Builder:
		b.Append(v.Float())
	case *array.Date32Builder:
		b.Append(arrow.Date32(v.Int()))
	case *array.TimestampBuilder:
		b.Append(arrow.Timestamp(v.Int()))
	case *array.Decimal128Builder:
		b.Append(decimal128.New(v.High, v.Low))
	case *array.BinaryBuilder:
		b.Append(text)
	case *array.StringBuilder:
		b.BinaryBuilder.Append(text)
	}
}
