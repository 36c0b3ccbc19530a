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
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"callhouse/internal/analytics/value"
)

// A batch, which in Parquet is a row group, is written when it has batchRows
// rows or batchBytes bytes of text: that bounds the memory.
const (
	batchRows  = 64 << 10
	batchBytes = 16 << 20
)

// batches is what these formats have in common.
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

// writeParquet writes a Parquet file, without ever going back in it.
func writeParquet(ctx context.Context, w *bufio.Writer, src Source, o Options) (Result, error) {
	cols := columnsOf(src.Columns())
	schema := schemaOf(cols)
	// The writer keeps what it is given, and counts what it writes.
	p, err := pqarrow.NewFileWriter(schema, w,
		parquet.NewWriterProperties(parquet.WithCompression(compress.Codecs.Zstd), parquet.WithCreatedBy("callhouse")),
		pqarrow.DefaultWriterProps())
	if err != nil {
		return Result{}, fmt.Errorf("write parquet: %w", err)
	}
	return writeBatches(ctx, src, o, cols, schema, p)
}

func writeBatches(ctx context.Context, src Source, o Options, cols []columnar, schema *arrow.Schema, out batches) (Result, error) {
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
			n, err := cols[i].add(b.Field(i), v, o.Location)
			if err != nil {
				return fmt.Errorf("write column %s: %w", cols[i].name, err)
			}
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
	if e := out.Close(); err == nil {
		err = e
	}
	return r, err
}

// columnar is a column of these formats.
type columnar struct {
	name string
	typ  arrow.DataType
	json bool // nested values, which become their JSON
}

func columnsOf(columns []value.Column) []columnar {
	out := make([]columnar, len(columns))
	for i, name := range uniqueNames(columns) {
		out[i] = columnar{name: name, typ: typeOf(columns[i]), json: columns[i].Kind == value.Nested}
	}
	return out
}

func schemaOf(cols []columnar) *arrow.Schema {
	fields := make([]arrow.Field, len(cols))
	for i, c := range cols {
		fields[i] = arrow.Field{Name: c.name, Type: c.typ, Nullable: true}
	}
	return arrow.NewSchema(fields, nil)
}

// typeOf returns the type that holds every value of a column exactly; where
// there is none, or it is rarely understood, that is text.
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

// add appends a value and returns the bytes of text that it takes.
func (c *columnar) add(to array.Builder, v any, loc *time.Location) (int, error) {
	if v == nil {
		to.AppendNull()
		return 0, nil
	}
	switch b := to.(type) {
	case *array.BooleanBuilder:
		if v, ok := v.(bool); ok {
			b.Append(v)
			return 0, nil
		}
	case *array.Int64Builder:
		if v, ok := v.(int64); ok {
			b.Append(v)
			return 0, nil
		}
	case *array.Uint64Builder:
		switch v := v.(type) {
		case uint64:
			b.Append(v)
			return 0, nil
		case int64:
			b.Append(uint64(v))
			return 0, nil
		}
	case *array.Float32Builder:
		if v, ok := v.(float32); ok {
			b.Append(v)
			return 0, nil
		}
	case *array.Float64Builder:
		if v, ok := v.(float64); ok {
			b.Append(v)
			return 0, nil
		}
	case *array.Date32Builder:
		if v, ok := v.(value.Date); ok {
			b.Append(arrow.Date32FromTime(time.Time(v)))
			return 0, nil
		}
	case *array.TimestampBuilder:
		switch v := v.(type) {
		case time.Time:
			b.Append(arrow.Timestamp(v.UnixMicro()))
			return 0, nil
		case value.LocalTime:
			b.Append(arrow.Timestamp(time.Time(v).UnixMicro()))
			return 0, nil
		}
	case *array.Decimal128Builder:
		return 0, appendDecimal(b, v)
	case *array.BinaryBuilder:
		if v, ok := v.([]byte); ok {
			b.Append(v)
			return len(v), nil
		}
	case *array.StringBuilder:
		text := c.text(v, loc)
		b.Append(text)
		return len(text), nil
	}
	return 0, fmt.Errorf("%v cannot be written as %s; cast it, as in CAST(x AS VARCHAR)", v, c.typ)
}

func (c *columnar) text(v any, loc *time.Location) string {
	if s, ok := v.(string); ok {
		return s
	}
	if c.json {
		return string(value.AppendJSON(nil, v, loc))
	}
	return string(value.AppendText(nil, v, loc))
}

func appendDecimal(b *array.Decimal128Builder, v any) error {
	var units *big.Int
	switch v := v.(type) {
	case value.Decimal:
		units = v.Units
	case *big.Int:
		units = v
	case int64:
		units = big.NewInt(v)
	default:
		return fmt.Errorf("%v is no decimal", v)
	}
	if n := decimal128.FromBigInt(units); n.FitsInPrecision(38) && units.BitLen() < 128 {
		b.Append(n)
		return nil
	}
	return fmt.Errorf("%v has more than 38 digits", units)
}
