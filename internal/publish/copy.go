package publish

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"callhouse/internal/layout"
)

// copied is a file of the warehouse in its published form: its bytes up to the footer, followed by
// a new end.
type copied struct {
	*parquet.File
	local  *os.File
	length int64 // length of the part before the footer
	tail   []byte
}

// trailer is the end of a Parquet file: the footer's length, and four letters.
const trailer = 8

// copyOf returns the copy of a file. It differs in two points, and no page is rewritten. Iceberg
// has no JSON type, so JSON columns of the warehouse's file are text in the copy; some engines
// would refuse them otherwise. And if several organisations share a table, there is one more
// column.
func copyOf(local *os.File, file *layout.File, organization string) (*copied, error) {
	in, err := parquet.OpenFile(local, file.Bytes, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, &layout.DamageError{Path: local.Name(), What: err.Error()}
	}
	var end [trailer]byte
	if _, err := local.ReadAt(end[:], file.Bytes-trailer); err != nil {
		return nil, err
	}
	c := &copied{File: in, local: local, length: file.Bytes - trailer - int64(binary.LittleEndian.Uint32(end[:]))}
	meta := *in.Metadata()
	meta.Schema = slices.Clone(meta.Schema)
	for i := range meta.Schema {
		if e := &meta.Schema[i]; e.ConvertedType.Valid && e.ConvertedType.V == deprecated.Json {
			e.ConvertedType.V, e.LogicalType = deprecated.UTF8, textType
		}
	}
	if organization != "" {
		if err := c.addColumn(&meta, []byte(organization)); err != nil {
			return nil, fmt.Errorf("%s: %w", local.Name(), err)
		}
	}
	footer, err := thrift.Marshal(new(thrift.CompactProtocol), &meta)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", local.Name(), err)
	}
	c.tail = append(c.tail, footer...)
	c.tail = binary.LittleEndian.AppendUint32(c.tail, uint32(len(footer)))
	c.tail = append(c.tail, end[4:]...)
	return c, nil
}

var textType = format.LogicalType{Value: &format.StringType{}}

// addColumn adds the column organization, with the same value in every row. Engines could take the
// value from the partition, but some read null.
func (c *copied) addColumn(meta *format.FileMetaData, value []byte) error {
	meta.Schema[0].NumChildren.V++
	meta.Schema = append(meta.Schema, format.SchemaElement{Name: organizationName, FieldID: organizationColumn,
		Type: thrift.New(format.ByteArray), RepetitionType: thrift.New(format.Required), ConvertedType: thrift.New(deprecated.UTF8),
		LogicalType: textType})
	if meta.ColumnOrders != nil { // the same one for every column
		meta.ColumnOrders = append(slices.Clone(meta.ColumnOrders), meta.ColumnOrders[0])
	}
	meta.RowGroups = slices.Clone(meta.RowGroups)
	var indexes [2][]*indexed // of all columns: readers expect the indexes of one kind to be adjacent
	for i := range meta.RowGroups {
		group := &meta.RowGroups[i]
		group.Columns = slices.Grow(slices.Clone(group.Columns), 1)
		for j := range group.Columns {
			chunk := &group.Columns[j]
			for k, x := range []*indexed{{at: &chunk.ColumnIndexOffset, length: &chunk.ColumnIndexLength},
				{at: &chunk.OffsetIndexOffset, length: &chunk.OffsetIndexLength}} {
				if *x.length == 0 {
					continue
				}
				x.raw = make([]byte, *x.length)
				if _, err := c.local.ReadAt(x.raw, *x.at); err != nil {
					return err
				}
				indexes[k] = append(indexes[k], x)
			}
		}
		pages, err := pagesOf(value, int32(group.NumRows))
		if err != nil {
			return err
		}
		at := c.length + int64(len(c.tail))
		size := int64(len(pages[0]) + len(pages[1]))
		data := format.PageLocation{Offset: at + int64(len(pages[0])), CompressedPageSize: int32(len(pages[1]))}
		c.tail = slices.Concat(c.tail, pages[0], pages[1])
		group.Columns = append(group.Columns, format.ColumnChunk{FileOffset: at, MetaData: format.ColumnMetaData{
			Type: format.ByteArray, Encoding: []format.Encoding{format.Plain, format.RLEDictionary}, PathInSchema: []string{organizationName},
			Codec: format.Uncompressed, NumValues: group.NumRows, TotalUncompressedSize: size, TotalCompressedSize: size,
			DictionaryPageOffset: at, DataPageOffset: data.Offset, Statistics: format.Statistics{MinValue: value, MaxValue: value}}})
		group.TotalByteSize += size
		group.TotalCompressedSize += size
		chunk := &group.Columns[len(group.Columns)-1]
		bounds, err := thrift.Marshal(new(thrift.CompactProtocol), &format.ColumnIndex{NullPages: []bool{false},
			MinValues: [][]byte{value}, MaxValues: [][]byte{value}, NullCounts: []int64{0}, BoundaryOrder: format.Ascending})
		if err != nil {
			return err
		}
		places, err := thrift.Marshal(new(thrift.CompactProtocol), &format.OffsetIndex{PageLocations: []format.PageLocation{data}})
		if err != nil {
			return err
		}
		indexes[0] = append(indexes[0], &indexed{bounds, &chunk.ColumnIndexOffset, &chunk.ColumnIndexLength})
		indexes[1] = append(indexes[1], &indexed{places, &chunk.OffsetIndexOffset, &chunk.OffsetIndexLength})
	}
	for _, x := range slices.Concat(indexes[0], indexes[1]) {
		*x.at, *x.length = c.length+int64(len(c.tail)), int32(len(x.raw))
		c.tail = append(c.tail, x.raw...)
	}
	return nil
}

// indexed is an index of a column's pages, and the field that holds its place.
type indexed struct {
	raw    []byte
	at     *int64
	length *int32
}

// pagesOf returns the pages of a column with the same value in all rows: a dictionary of one value,
// and a run of its number.
func pagesOf(value []byte, rows int32) (out [2][]byte, err error) {
	dictionary := append(binary.LittleEndian.AppendUint32(nil, uint32(len(value))), value...)
	run := append(binary.AppendUvarint([]byte{1}, uint64(rows)<<1), 0)
	for i, body := range [][]byte{dictionary, run} {
		head := format.PageHeader{Type: format.DictionaryPage, UncompressedPageSize: int32(len(body)), CompressedPageSize: int32(len(body))}
		if i == 0 {
			head.DictionaryPageHeader = thrift.New(format.DictionaryPageHeader{NumValues: 1, Encoding: format.Plain})
		} else {
			head.Type = format.DataPage
			head.DataPageHeader = thrift.New(format.DataPageHeader{NumValues: rows, Encoding: format.RLEDictionary,
				DefinitionLevelEncoding: format.RLE, RepetitionLevelEncoding: format.RLE})
		}
		raw, err := thrift.Marshal(new(thrift.CompactProtocol), &head)
		if err != nil {
			return out, err
		}
		out[i] = append(raw, body...)
	}
	return out, nil
}

func (c *copied) size() int64 { return c.length + int64(len(c.tail)) }

// ReadAt implements io.ReaderAt.
func (c *copied) ReadAt(p []byte, off int64) (n int, err error) {
	if off < c.length {
		n, err = c.local.ReadAt(p[:min(int64(len(p)), c.length-off)], off)
		if err != nil || n == len(p) {
			return n, err
		}
	}
	rest := off + int64(n) - c.length
	if rest >= int64(len(c.tail)) {
		return n, io.EOF
	}
	if n += copy(p[n:], c.tail[rest:]); n < len(p) {
		err = io.EOF
	}
	return n, err
}
