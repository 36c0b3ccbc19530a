package format

import (
	"bufio"
	"context"
	"fmt"
	"math/big"
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

// batches is implemented by the writers of both Arrow formats.
type batches interface {
	Write(rec arrow.RecordBatch) error
	Close() error
}

// writeArrow writes an Arrow IPC file, or stream.
func writeArrow(ctx context.Context, w *bufio.Writer, src Source, o Options, f Format) (Result, error) {
	cols := columnsOf(src.Columns())
	schema := schemaOf(cols)
	if f == Arrows {
		return writeBatches(ctx, src, o, cols, schema, ipc.NewWriter(w, ipc.WithSchema(schema)))
	}
	file, err := ipc.NewFileWriter(w, ipc.WithSchema(schema))
	if err != nil {
		return Result{}, fmt.Errorf("write arrow: %w", err)
	}
	return writeBatches(ctx, src, o, cols, schema, file)
}

func writeBatches(ctx context.Context, src Source, o Options, cols []typed, schema *arrow.Schema, out batches) (Result, error) {
	b := array.NewRecordBuilder(memory.NewGoAllocator(), schema)
	defer b.Release()
	rows, bytes := 0, 0
	flush := func() error {
		if rows == 0 {
			return nil
		}
		rec := b.NewRecordBatch()
		defer rec.Release()
		rows, bytes = 0, 0
		return out.Write(rec)
	}
	r, err := each(ctx, src, func(row []any) error {
		for i, v := range row {
			v, n, err := cols[i].cell(v, o.Location)
			if err != nil {
				return err
			}
			add(b.Field(i), v)
			bytes += n
		}
		if rows++; rows < batchRows && bytes < batchBytes {
			return nil
		}
		return flush()
	})
	if err == nil {
		err = flush()
	}
	if err != nil {
		return r, err // without its end, no reader accepts it as complete
	}
	return r, out.Close()
}

// typed is a column of these formats.
type typed struct {
	name string
	typ  arrow.DataType
	json bool // nested values, written as JSON
}

func columnsOf(columns []value.Column) []typed {
	out := make([]typed, len(columns))
	for i, name := range uniqueNames(columns) {
		out[i] = typed{name: name, typ: typeOf(columns[i]), json: columns[i].Kind == value.Nested}
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

// typeOf returns the type that holds every value of a column exactly, or text if there is none or
// readers rarely support it.
func typeOf(c value.Column) arrow.DataType {
	switch c.Type {
	case "BOOLEAN":
		return arrow.FixedWidthTypes.Boolean
	case "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER":
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
	case "HUGEINT": // sums of whole numbers; more than 38 digits are refused
		return &arrow.Decimal128Type{Precision: 38}
	}
	if c.Kind == value.Exact {
		t := &arrow.Decimal128Type{}
		if n, _ := fmt.Sscanf(c.Type, "DECIMAL(%d,%d)", &t.Precision, &t.Scale); n == 2 {
			return t
		}
	}
	if c.Kind == value.Bytes {
		return arrow.BinaryTypes.Binary
	}
	return arrow.BinaryTypes.String
}

// cell converts a value to the column's type and returns the bytes of text it takes. Cells are nil,
// bool, int64, uint64, float32, float64, arrow.Date32, arrow.Timestamp, decimal128.Num, string or
// []byte.
func (c *typed) cell(v any, loc *time.Location) (cell any, bytes int, err error) {
	ok := true
	switch c.typ.ID() {
	case arrow.BOOL:
		_, ok = v.(bool)
	case arrow.INT64:
		_, ok = v.(int64)
	case arrow.UINT64:
		switch n := v.(type) {
		case uint64:
		case int64:
			v = uint64(n)
		default:
			ok = false
		}
	case arrow.FLOAT32:
		_, ok = v.(float32)
	case arrow.FLOAT64:
		_, ok = v.(float64)
	case arrow.DATE32:
		var day value.Date
		if day, ok = v.(value.Date); ok {
			v = arrow.Date32FromTime(time.Time(day))
		}
	case arrow.TIMESTAMP:
		switch at := v.(type) {
		case time.Time:
			v = arrow.Timestamp(at.UnixMicro())
		case value.LocalTime:
			v = arrow.Timestamp(time.Time(at).UnixMicro())
		default:
			ok = false
		}
	case arrow.DECIMAL128:
		if v != nil {
			v, err = decimal(v)
		}
	case arrow.BINARY:
		var b []byte
		b, ok = v.([]byte)
		bytes = len(b)
	default:
		if v != nil {
			text := c.text(v, loc)
			v, bytes = text, len(text)
		}
	}
	if !ok && v != nil {
		err = fmt.Errorf("%v cannot be written as %s; cast it, e.g. CAST(x AS VARCHAR)", v, c.typ)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("write column %s: %w", c.name, err)
	}
	return v, bytes, nil
}

// add appends a cell.
func add(to array.Builder, cell any) {
	if cell == nil {
		to.AppendNull()
		return
	}
	switch b := to.(type) {
	case *array.BooleanBuilder:
		b.Append(cell.(bool))
	case *array.Int64Builder:
		b.Append(cell.(int64))
	case *array.Uint64Builder:
		b.Append(cell.(uint64))
	case *array.Float32Builder:
		b.Append(cell.(float32))
	case *array.Float64Builder:
		b.Append(cell.(float64))
	case *array.Date32Builder:
		b.Append(cell.(arrow.Date32))
	case *array.TimestampBuilder:
		b.Append(cell.(arrow.Timestamp))
	case *array.Decimal128Builder:
		b.Append(cell.(decimal128.Num))
	case *array.BinaryBuilder:
		b.Append(cell.([]byte))
	case *array.StringBuilder:
		b.Append(cell.(string))
	}
}

func (c *typed) text(v any, loc *time.Location) string {
	if s, ok := v.(string); ok {
		return s
	}
	if c.json {
		return string(value.AppendJSON(nil, v, loc))
	}
	return string(value.AppendText(nil, v, loc))
}

func decimal(v any) (any, error) {
	var units *big.Int
	switch v := v.(type) {
	case value.Decimal:
		units = v.Units
	case *big.Int:
		units = v
	case int64:
		units = big.NewInt(v)
	default:
		return nil, fmt.Errorf("%v is not a decimal", v)
	}
	if n := decimal128.FromBigInt(units); n.FitsInPrecision(38) && units.BitLen() < 128 {
		return n, nil
	}
	return nil, fmt.Errorf("%v has more than 38 digits", units)
}
