package format

import (
	"bufio"
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/parquet-go/parquet-go"

	"callhouse/internal/analytics/value"
	"callhouse/internal/schema"
)

// maxDictionary is the limit of a column's distinct texts in bytes, above which it has no dictionary.
const maxDictionary = 256 << 10

// writeParquet writes a Parquet file without seeking; each batch is a row group.
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
	rows := []parquet.Row{make(parquet.Row, len(cols))}
	write := func(row []value.Value, texts [][]byte) error {
		for i := range row {
			rows[0][i] = parquet.NullValue().Level(0, 0, i)
			if row[i].Kind != value.Null {
				rows[0][i] = cols[i].parquet(&row[i], texts[i]).Level(0, 1, i)
			}
		}
		_, err := out.WriteRows(rows)
		return err
	}
	return writeBatches(ctx, src, o, cols, write, out.Flush, out)
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

// parquet returns a value that is not null; text is what convert returned for it.
func (c *typed) parquet(v *value.Value, text []byte) parquet.Value {
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
		return parquet.FixedLenByteArrayValue(v.AppendBits(nil))
	}
	return parquet.ByteArrayValue(text)
}
