package sink

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"strconv"

	kzstd "github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
	"github.com/parquet-go/parquet-go/format"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
	"callhouse/internal/sink/disk"
)

// A row group is closed when it has rowGroupRows rows or rowGroupBytes bytes of values: the first
// limit suits readers, the second bounds the writer's memory.
const (
	rowGroupRows  = 122_880
	rowGroupBytes = 32 << 20
	// pageBytes is the size at which a column's page is encoded. A writer holds one page per column;
	// half of it takes 3 % more space on the disk, and a third less memory.
	pageBytes = 1 << 20
)

// dataFile writes one data file of a snapshot. The file is created with the first row; a table
// without rows has no file.
type dataFile struct {
	in    *builder
	table *schema.Table
	info  layout.File // Table, Period and Path are set; the rest is derived from the rows

	file disk.File
	hash hash.Hash
	rows *columnWriter
}

// Write implements io.Writer for the Parquet writer: it writes to the file, the checksum and the
// count.
func (t *dataFile) Write(p []byte) (int, error) {
	n, err := t.file.Write(p)
	t.hash.Write(p[:n])
	t.info.Bytes += int64(n)
	return n, err
}

func (t *dataFile) open() error {
	var err error
	if t.file, err = t.in.Create(t.info.Path); err != nil {
		return fmt.Errorf("make %s: %w", t.info.Path, err)
	}
	t.hash = sha256.New()
	version := strconv.Itoa(layout.FormatVersion)
	t.rows = newColumnWriter(t, t.table, pageBytes, "callhouse", version)
	t.rows.SetKeyValueMetadata(layout.FormatKey, version)
	return nil
}

// ready makes room for n rows, which are then added to rows.
func (t *dataFile) ready(n int) error {
	if t.rows == nil {
		if err := t.open(); err != nil {
			return err
		}
	}
	if rows, bytes := t.rows.Held(); rows >= rowGroupRows || bytes >= rowGroupBytes {
		if err := t.rows.EndGroup(); err != nil {
			return fmt.Errorf("write %s: %w", t.info.Path, err)
		}
	}
	t.info.Rows += int64(n)
	return nil
}

// Add adds a row.
func (t *dataFile) Add(row parquet.Row) error {
	if err := t.ready(1); err != nil {
		return err
	}
	if err := t.rows.AddRow(row); err != nil {
		return fmt.Errorf("write %s: %w", t.info.Path, err)
	}
	return nil
}

// addList adds the rows of one of an object's lists.
func (t *dataFile) addList(o *schema.Object, list int) error {
	if err := t.ready(o.Lists[list].Len()); err != nil {
		return err
	}
	if err := t.rows.AddList(o, list); err != nil {
		return fmt.Errorf("write %s: %w", t.info.Path, err)
	}
	return nil
}

// Close makes the file durable and returns its manifest entry, or nil if it has no rows.
func (t *dataFile) Close() (*layout.File, error) {
	if t.rows == nil {
		return nil, nil
	}
	err := t.rows.Close()
	if err == nil {
		err = t.file.Sync()
	}
	if err = errors.Join(err, t.file.Close()); err != nil {
		return nil, fmt.Errorf("write %s: %w", t.info.Path, err)
	}
	t.info.SHA256 = hex.EncodeToString(t.hash.Sum(nil))
	return &t.info, nil
}

// Discard removes the file, which has no new data.
func (t *dataFile) Discard() error {
	if t.rows == nil {
		return nil
	}
	return errors.Join(t.file.Close(), t.in.Remove(t.info.Path))
}

// dataFiles writes the data files of one part of a snapshot.
type dataFiles []*dataFile

// newDataFiles returns writers, in a snapshot, of tables' files for a period; an empty period means none.
func newDataFiles(in *builder, period string, tables ...*schema.Table) (fs dataFiles) {
	for _, t := range tables {
		path := layout.RunsFile
		if t != &schema.Runs {
			path = layout.DataFile(t.Name, period, disk.NewID())
		}
		fs = append(fs, &dataFile{in: in, table: t, info: layout.File{Table: t.Name, Period: period, Path: path}})
	}
	return fs
}

// ReadIn records the region in which the national telephone numbers of the first table were read.
func (fs dataFiles) ReadIn(country string) dataFiles {
	fs[0].info.Country = country
	return fs
}

// Write writes an object with all its rows.
func (fs dataFiles) Write(o *schema.Object) error {
	err := fs[0].Add(o.Row)
	for i := range o.Lists {
		if err == nil && o.Lists[i].Len() > 0 {
			err = fs[i+1].addList(o, i)
		}
	}
	return err
}

// Close makes the files durable and returns their manifest entries.
func (fs dataFiles) Close() (out []layout.File, err error) {
	for _, f := range fs {
		info, ferr := f.Close()
		if err = errors.Join(err, ferr); info != nil {
			out = append(out, *info)
		}
	}
	return out, err
}

// Discard removes the files.
func (fs dataFiles) Discard() (err error) {
	for _, f := range fs {
		err = errors.Join(err, f.Discard())
	}
	return err
}

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
