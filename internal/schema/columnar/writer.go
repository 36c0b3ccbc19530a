package columnar

import (
	"bufio"
	"bytes"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"callhouse/internal/schema"
)

// Form describes the files of a table, apart from its columns.
type Form struct {
	CreatedBy string
	Metadata  []format.KeyValue
	// Compress compresses a page with zstd, into dst if that is large enough.
	Compress func(dst, src []byte) ([]byte, error)
	// Unbounded are the columns whose row groups have no minimum and maximum.
	Unbounded []string
	// Filter is the text column with a filter of FilterBits bits per value; empty: none.
	Filter     string
	FilterBits uint
}

// Writer writes Parquet files of a table, one after the other with the same memory. A column's
// values become pages as they arrive, and the pages of a row group are written together.
//
// The library's own writer takes 24 bytes per value, buffers each value twice, copies every page
// once more, and reads pages back to fill the filter.
type Writer struct {
	form     Form
	cols     []vector
	file     format.FileMetaData // of a file without rows
	pageSize int

	to     *bufio.Writer
	offset int64
	groups []format.RowGroup
	bounds [][]format.ColumnIndex
	places [][]format.OffsetIndex
	bytes  int // size of the values in the current row group
}

// magic begins and ends a Parquet file.
const magic = "PAR1"

// NewWriter returns a writer of files of a table. Begin begins one.
func NewWriter(t *schema.Table, form Form) *Writer {
	s := ParquetSchema(t)
	w := &Writer{form: form, cols: make([]vector, len(t.Columns)), to: bufio.NewWriter(nil)}
	for i, f := range s.Fields() {
		c := &t.Columns[i]
		v := &w.cols[i]
		*v = vector{name: c.Name, leaf: f.Type(), kind: f.Type().Kind(), required: c.Required, file: w,
			bounded: !slices.Contains(form.Unbounded, c.Name), filtered: c.Name == form.Filter, shape: shapeOf(f)}
		v.dict.index = map[string]int32{}
		v.chunk.index = newIndexer(v.shape, v.leaf)
	}
	w.file = describe(s)
	w.file.CreatedBy, w.file.KeyValueMetadata = form.CreatedBy, form.Metadata
	return w
}

// describe returns the metadata that the library writes for a schema, from a file without rows.
func describe(s *parquet.Schema) format.FileMetaData {
	w := parquet.NewGenericWriter[any](io.Discard, s)
	if err := w.Close(); err != nil {
		panic(err) // nothing was written anywhere
	}
	return *w.File().Metadata()
}

// Begin begins a file. A page ends when it has about pageBytes bytes before encoding.
func (w *Writer) Begin(to io.Writer, pageBytes int) {
	w.to.Reset(to)
	w.offset, w.groups, w.bounds, w.places = 0, nil, nil, nil // those of a file that failed
	w.pageSize = pageBytes * 98 / 100
	w.write([]byte(magic))
	w.begin()
}

// begin begins a row group.
func (w *Writer) begin() {
	w.bytes = 0
	for i := range w.cols {
		w.cols[i].begin()
	}
}

// write writes a part of the file. The next flush returns any error.
func (w *Writer) write(b []byte) {
	n, _ := w.to.Write(b)
	w.offset += int64(n)
}

// Err returns the first error.
func (w *Writer) Err() error {
	for i := range w.cols {
		if err := w.cols[i].err; err != nil {
			return err
		}
	}
	return nil
}

// Bytes returns the size in bytes of the row group's values before encoding.
func (w *Writer) Bytes() int { return w.bytes }

// AddRow adds a row of the table.
func (w *Writer) AddRow(row parquet.Row) {
	for i := range w.cols {
		w.cols[i].putValue(&row[i])
	}
}

// AddList adds the rows of one of an object's lists, a column at a time. Columns that repeat one of
// the object's take their values from there.
func (w *Writer) AddList(o *schema.Object, list int) {
	rows := &o.Lists[list]
	cells := rows.Cells()
	for i, from := range o.Of.Repeats(list) {
		v := &w.cols[i]
		switch from {
		default:
			v.repeat(&o.Row[from], rows.Len())
		case schema.OwnPlace:
			for n := range rows.Len() {
				v.putInt(int32(n))
			}
		case schema.OwnValue:
			for at := i; at < len(cells); at += len(w.cols) {
				v.putValue(&cells[at])
			}
		}
	}
}

// EndGroup writes the row group, if it has rows, and begins the next one.
func (w *Writer) EndGroup() error {
	for i := range w.cols {
		v := &w.cols[i]
		if v.settle(); v.err == nil {
			v.err = v.endPage()
		}
	}
	if err := w.Err(); err != nil || w.cols[0].chunk.rows == 0 {
		return err
	}
	if err := withEncoder(w.writeGroup); err != nil {
		return err
	}
	w.begin()
	return w.to.Flush()
}

// writeGroup writes the row group.
func (w *Writer) writeGroup(e *encoder) error {
	group := format.RowGroup{NumRows: w.cols[0].chunk.rows, FileOffset: w.offset, Ordinal: int16(len(w.groups))}
	bounds, places := make([]format.ColumnIndex, len(w.cols)), make([]format.OffsetIndex, len(w.cols))
	group.Columns = make([]format.ColumnChunk, len(w.cols))
	for i := range w.cols {
		v := &w.cols[i]
		if v.shape == shapeWord {
			v.chunk.meta.DictionaryPageOffset = w.offset
			page, err := v.dictionaryPage(e)
			if err != nil {
				return err
			}
			w.write(page)
		}
		group.Columns[i], bounds[i], places[i] = v.chunk.close(v.required, w.offset)
		if v.shape == shapeExact {
			bounds[i].BoundaryOrder = format.Unordered // the library's order ignores negative numbers
		}
		w.write(v.chunk.pages)
		group.TotalByteSize += v.chunk.meta.TotalUncompressedSize
		group.TotalCompressedSize += v.chunk.meta.TotalCompressedSize
	}
	for i := range w.cols {
		if v := &w.cols[i]; v.filtered {
			filter, err := v.chunk.filter(e, w.form.FilterBits)
			if err != nil {
				return err
			}
			group.Columns[i].MetaData.BloomFilterOffset, group.Columns[i].MetaData.BloomFilterLength = w.offset, int32(len(filter))
			w.write(filter)
		}
	}
	w.groups, w.bounds, w.places = append(w.groups, group), append(w.bounds, bounds), append(w.places, places)
	return nil
}

// Close writes the last row group, the page indexes and the footer.
func (w *Writer) Close() error {
	if err := w.EndGroup(); err != nil {
		return err
	}
	var end bytes.Buffer
	encoder := thrift.NewEncoder(new(thrift.CompactProtocol).NewWriter(&end))
	encode := func(part any) (at int64, length int32, err error) {
		n := end.Len()
		err = encoder.Encode(part)
		return w.offset + int64(n), int32(end.Len() - n), err
	}
	var err error
	for n, group := range w.bounds {
		for i := range group {
			c := &w.groups[n].Columns[i]
			if c.ColumnIndexOffset, c.ColumnIndexLength, err = encode(&group[i]); err != nil {
				return err
			}
		}
	}
	for n, group := range w.places {
		for i := range group {
			c := &w.groups[n].Columns[i]
			if c.OffsetIndexOffset, c.OffsetIndexLength, err = encode(&group[i]); err != nil {
				return err
			}
		}
	}
	file := w.file
	file.RowGroups = w.groups
	for i := range w.groups {
		file.NumRows += w.groups[i].NumRows
	}
	_, length, err := encode(&file)
	if err != nil {
		return err
	}
	w.write(end.Bytes())
	w.write([]byte{byte(length), byte(length >> 8), byte(length >> 16), byte(length >> 24)})
	w.write([]byte(magic))
	err = w.to.Flush()
	w.to.Reset(nil)
	w.groups, w.bounds, w.places = nil, nil, nil
	return err
}
