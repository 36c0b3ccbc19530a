package sink

import (
	"io"

	kzstd "github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
	"github.com/parquet-go/parquet-go/format"

	"callhouse/internal/schema"
)

const (
	// filterBits is the number of bits per call in the filter of call_id. One id in some hundred
	// thousand is a false positive, so a commit reads hardly any files without the night's new
	// calls. Look-ups benefit as well.
	filterBits = 40
	// longWord is the length from which a word of a dictionary counts towards a row group's size.
	longWord = 1 << 10
)

// codec compresses pages. The library's default level takes more processor time for little less size.
var pageCodec = &checkedZstd{}

// checked makes zstd frames with a checksum, which DuckDB verifies, unlike that of Parquet: a changed
// byte of a page is an error, never another value.
type checkedZstd struct{ zstd.Codec }

var pageEncoder, _ = kzstd.NewWriter(nil, kzstd.WithEncoderLevel(kzstd.SpeedDefault), kzstd.WithZeroFrames(true), kzstd.WithEncoderCRC(true))

// Encode overwrites dst, as the library expects.
func (*checkedZstd) Encode(dst, src []byte) ([]byte, error) {
	return pageEncoder.EncodeAll(src, dst[:0]), nil
}

// columns writes Parquet files of a table.
type columnWriter struct {
	*parquet.GenericWriter[any]
	table  *schema.Table
	levels []int  // by column: the definition level of a value
	words  []bool // by column: whether its values are in a dictionary
	room   []parquet.Value
	rows   int64
	bytes  int
}

// newColumns returns a writer of one file. A page ends when it has about pageBytes bytes before
// encoding.
func newColumnWriter(to io.Writer, t *schema.Table, pageBytes int, createdBy, version string) *columnWriter {
	w := &columnWriter{table: t}
	s := schema.ParquetSchema(t)
	options := []parquet.WriterOption{s, parquet.PageBufferSize(pageBytes), parquet.DataPageStatistics(false), parquet.Compression(pageCodec),
		parquet.DataPageVersion(1), // within the frame are then the levels, too
		parquet.CreatedBy(createdBy, version, "")}
	for i, f := range s.Fields() {
		c := &t.Columns[i]
		level := 1
		if c.Required {
			level = 0
		}
		w.levels = append(w.levels, level)
		w.words = append(w.words, f.Encoding() != nil && f.Encoding().Encoding() == format.RLEDictionary)
		if c.Unbounded() {
			options = append(options, parquet.SkipPageBounds(c.Name))
		}
	}
	if t == &schema.Calls {
		options = append(options, parquet.BloomFilters(parquet.SplitBlockFilter(filterBits, "call_id")))
	}
	w.GenericWriter = parquet.NewGenericWriter[any](to, options...)
	return w
}

// Held returns the number of rows in the open row group, and the size of their values in bytes.
func (w *columnWriter) Held() (rows int64, bytes int) { return w.rows, w.bytes }

// EndGroup writes the row group.
func (w *columnWriter) EndGroup() error {
	w.rows, w.bytes = 0, 0
	return w.Flush()
}

// AddRow adds a row of the table.
func (w *columnWriter) AddRow(row parquet.Row) error {
	for i := range row {
		w.put(i, &row[i])
		if err := w.write(i); err != nil {
			return err
		}
	}
	w.rows++
	return nil
}

// AddList adds the rows of one of an object's lists, a column at a time. Columns that repeat one of
// the object's take their values from there.
func (w *columnWriter) AddList(o *schema.Object, list int) error {
	rows := &o.Lists[list]
	cells := rows.Cells()
	for i, from := range o.Of.Repeats(list) {
		for n := range rows.Len() {
			switch from {
			default:
				w.put(i, &o.Row[from])
			case schema.OwnPlace:
				place := parquet.Int32Value(int32(n))
				w.put(i, &place)
			case schema.OwnValue:
				w.put(i, &cells[n*len(w.levels)+i])
			}
		}
		if err := w.write(i); err != nil {
			return err
		}
	}
	w.rows += int64(rows.Len())
	return nil
}

// put adds a value of a column to those that write writes.
func (w *columnWriter) put(column int, v *parquet.Value) {
	if v.IsNull() {
		w.room = append(w.room, parquet.Value{})
		return
	}
	size := 8
	if v.Kind() == parquet.ByteArray {
		size = len(v.ByteArray()) + 4
		if w.words[column] && size < longWord {
			size = 4
		}
	}
	w.bytes += size
	w.room = append(w.room, v.Level(0, w.levels[column], column))
}

func (w *columnWriter) write(column int) error {
	_, err := w.ColumnWriters()[column].WriteRowValues(w.room)
	clear(w.room)
	w.room = w.room[:0]
	return err
}
