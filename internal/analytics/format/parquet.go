package format

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/parquet-go/parquet-go"

	"callhouse/internal/schema/columnar"
)

const (
	atOnce        = 1 << 10   // rows written together
	maxDictionary = 256 << 10 // limit of a column's distinct texts in bytes; above it, no dictionary is built
)

// writeParquet writes a Parquet file without seeking.
func writeParquet(ctx context.Context, w *bufio.Writer, src Source, o Options) (Result, error) {
	cols := columnsOf(src.Columns())
	fields := make([]parquet.Field, len(cols))
	options := []parquet.WriterOption{parquet.Compression(&parquet.Zstd), parquet.DictionaryMaxBytes(maxDictionary),
		parquet.CreatedBy("callhouse", "", "")}
	for i, c := range cols {
		fields[i] = columnar.Field(c.name, parquet.Optional(c.node()))
		if c.typ.ID() == arrow.DECIMAL128 {
			options = append(options, parquet.SkipPageBounds(c.name)) // the library compares decimals as unsigned
		}
	}
	out := parquet.NewGenericWriter[any](w, append(options, parquet.NewSchema("answer", columnar.Ordered(fields)))...)
	held, rows, bytes := make([][]parquet.Value, len(cols)), 0, 0
	write := func() error {
		for i, c := range out.ColumnWriters() {
			if _, err := c.WriteRowValues(held[i]); err != nil {
				return fmt.Errorf("write column %s: %w", cols[i].name, err)
			}
			held[i] = held[i][:0]
		}
		return nil
	}
	r, err := each(ctx, src, func(row []any) error {
		for i, v := range row {
			cell, n, err := cols[i].cell(v, o.Location)
			if err != nil {
				return err
			}
			held[i] = append(held[i], parquetValue(cell, i))
			bytes += n
		}
		isFull := rows+1 >= batchRows || bytes >= batchBytes
		if rows++; !isFull && rows%atOnce > 0 {
			return nil
		}
		if err := write(); err != nil || !isFull {
			return err
		}
		rows, bytes = 0, 0
		return out.Flush()
	})
	if err == nil {
		err = write()
	}
	if err != nil {
		return r, err // without its end, no reader accepts it as complete
	}
	return r, out.Close()
}

// node returns the column's Parquet type.
func (c *typed) node() parquet.Node {
	switch t := c.typ.(type) {
	case *arrow.BooleanType:
		return parquet.Leaf(parquet.BooleanType)
	case *arrow.Int64Type:
		return parquet.Encoded(parquet.Leaf(parquet.Int64Type), &parquet.DeltaBinaryPacked)
	case *arrow.Uint64Type:
		return parquet.Uint(64)
	case *arrow.Float32Type:
		return parquet.Leaf(parquet.FloatType)
	case *arrow.Float64Type:
		return parquet.Leaf(parquet.DoubleType)
	case *arrow.Date32Type:
		return parquet.Date()
	case *arrow.TimestampType:
		return parquet.Encoded(parquet.TimestampAdjusted(parquet.Microsecond, t.TimeZone != ""), &parquet.DeltaBinaryPacked)
	case *arrow.Decimal128Type:
		return parquet.Decimal(int(t.Scale), int(t.Precision), parquet.FixedLenByteArrayType(decimalBytes))
	case *arrow.BinaryType:
		return parquet.Leaf(parquet.ByteArrayType)
	}
	return parquet.Encoded(parquet.String(), &parquet.RLEDictionary)
}

const decimalBytes = 16

// parquetValue converts a cell to Parquet.
func parquetValue(cell any, column int) parquet.Value {
	if cell == nil {
		return parquet.NullValue().Level(0, 0, column)
	}
	return plainValue(cell).Level(0, 1, column)
}

func plainValue(cell any) parquet.Value {
	switch v := cell.(type) {
	case bool:
		return parquet.BooleanValue(v)
	case int64:
		return parquet.Int64Value(v)
	case uint64:
		return parquet.Int64Value(int64(v)) // the type is unsigned
	case float32:
		return parquet.FloatValue(v)
	case float64:
		return parquet.DoubleValue(v)
	case arrow.Date32:
		return parquet.Int32Value(int32(v))
	case arrow.Timestamp:
		return parquet.Int64Value(int64(v))
	case decimal128.Num:
		text := binary.BigEndian.AppendUint64(make([]byte, 0, decimalBytes), uint64(v.HighBits()))
		return parquet.FixedLenByteArrayValue(binary.BigEndian.AppendUint64(text, v.LowBits()))
	case string:
		return parquet.ByteArrayValue([]byte(v))
	case []byte:
		return parquet.ByteArrayValue(v)
	}
	return parquet.NullValue()
}
