package format

import (
	"bufio"
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/parquet-go/parquet-go"

	"callhouse/internal/analytics/value"
	"callhouse/internal/schema"
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
		fields[i] = schema.Field(c.name, parquet.Optional(c.node()))
		if c.typ.ID() == arrow.DECIMAL128 {
			options = append(options, parquet.SkipPageBounds(c.name)) // the library compares decimals as unsigned
		}
	}
	out := parquet.NewGenericWriter[any](w, append(options, parquet.NewSchema("answer", schema.Ordered(fields)))...)
	held, rows, bytes := make([][]parquet.Value, len(cols)), 0, 0
	write := func() error {
		for i, c := range out.ColumnWriters() {
			if _, err := c.WriteRowValues(held[i]); err != nil {
				return fmt.Errorf("write column %s: %w", cols[i].name, err)
			}
			held[i], cols[i].text = held[i][:0], cols[i].text[:0]
		}
		return nil
	}
	r, err := each(ctx, src, func(row []value.Value) error {
		for i := range row {
			text, err := cols[i].convert(&row[i], o.Location)
			if err != nil {
				return err
			}
			held[i] = append(held[i], cols[i].parquet(&row[i], text).Level(0, level(&row[i]), i))
			bytes += len(text)
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
	r.Notes = rounded(cols)
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

// parquet returns a converted value.
func (c *typed) parquet(v *value.Value, text []byte) parquet.Value {
	if v.Kind == value.Null {
		return parquet.NullValue()
	}
	switch c.typ.ID() {
	case arrow.BOOL:
		return parquet.BooleanValue(v.Low != 0)
	case arrow.INT64, arrow.UINT64, arrow.TIMESTAMP:
		return parquet.Int64Value(v.Int())
	case arrow.FLOAT32:
		return parquet.FloatValue(float32(v.Float()))
	case arrow.FLOAT64:
		return parquet.DoubleValue(v.Float())
	case arrow.DATE32:
		return parquet.Int32Value(int32(v.Int()))
	case arrow.DECIMAL128:
		c.text = v.AppendBits(c.text)
		return parquet.FixedLenByteArrayValue(c.text[len(c.text)-decimalBytes:])
	}
	return parquet.ByteArrayValue(text)
}

// level returns the definition level of a value.
func level(v *value.Value) int {
	if v.Kind == value.Null {
		return 0
	}
	return 1
}
