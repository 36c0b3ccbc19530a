package publish

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/apache/iceberg-go"
	"github.com/parquet-go/parquet-go"

	"callhouse/internal/layout"
	"callhouse/internal/publish/catalog"
	"callhouse/internal/schema"
)

// boundBytes is the maximum length of a text's bounds.
const boundBytes = 16

// describe returns Iceberg's description of a file at an address: rows, sizes, and bounds of its
// columns, all from its footer.
func (f *form) describe(in *copied, file *layout.File, uri string) (iceberg.DataFile, error) {
	columns := map[int]*column{}
	for i := range f.of.Columns {
		columns[f.of.Columns[i].ID] = &column{of: &f.of.Columns[i]}
	}
	var offsets []int64
	for g, group := range in.RowGroups() {
		meta := in.Metadata().RowGroups[g]
		for i, chunk := range group.ColumnChunks() {
			chunk, ok := chunk.(*parquet.FileColumnChunk)
			if !ok {
				return nil, fmt.Errorf("%s: its columns cannot be described", in.local.Name())
			}
			if i == 0 {
				m := &meta.Columns[i].MetaData
				offsets = append(offsets, m.DataPageOffset)
				if m.DictionaryPageOffset > 0 {
					offsets[g] = min(offsets[g], m.DictionaryPageOffset)
				}
			}
			if c := columns[in.Root().Columns()[i].ID()]; c != nil {
				c.add(chunk, meta.Columns[i].MetaData.TotalCompressedSize, meta.Columns[i].MetaData.Statistics.NullCount)
			}
		}
	}
	specID, partition := wholeSpec, map[int]any{}
	if f.start != nil {
		if month, ok := columns[f.start.ID].month(); ok {
			specID, partition[monthField] = monthSpec, month
		}
	}
	b, err := iceberg.NewDataFileBuilder(f.spec(specID), iceberg.EntryContentData, uri, iceberg.ParquetFile,
		partition, nil, nil, file.Rows, in.size())
	if err != nil {
		return nil, err
	}
	sizes, values, nulls := map[int]int64{}, map[int]int64{}, map[int]int64{}
	lower, upper := map[int][]byte{}, map[int][]byte{}
	for id, c := range columns {
		if c.size == 0 {
			continue // a column that is newer than the file
		}
		sizes[id], values[id], nulls[id] = c.size, c.values, c.nulls
		if lo, hi, ok := c.bounds(); ok && f.bounded(id) {
			lower[id], upper[id] = lo, hi
		}
	}
	b.ColumnSizes(sizes).ValueCounts(values).NullValueCounts(nulls).LowerBoundValues(lower).UpperBoundValues(upper).SplitOffsets(offsets)
	if f.start != nil {
		b.SortOrderID(sortOrder)
	}
	return b.Build(), nil
}

// bounded reports whether manifests may hold bounds of a column, which are values of it. They must
// not hold bounds of texts, of words that may be masked, or of words in a table about people: more
// people can read manifests than tables, and manifests outlive forgotten rows.
func (f *form) bounded(id int) bool {
	for i := range f.of.Columns {
		if c := &f.of.Columns[i]; c.ID == id {
			return c.Type != schema.Text && c.Type != schema.JSON && (c.Type != schema.Word ||
				!f.personal && c.Mask == schema.NeverMasked && c.Made == nil && !c.Phone && !c.Withheld)
		}
	}
	return false
}

// leaks reports whether a manifest has bounds that it must not have.
func (f *form) leaks(desc iceberg.DataFile) bool {
	for _, bounds := range []map[int][]byte{desc.LowerBoundValues(), desc.UpperBoundValues()} {
		for id := range bounds {
			if !f.bounded(id) {
				return true
			}
		}
	}
	return false
}

// scrubbed returns the description of a file without bounds that leak; for a removed file, without
// any bounds.
func (f *form) scrubbed(desc iceberg.DataFile, gone bool) (iceberg.DataFile, error) {
	if !gone && !f.leaks(desc) {
		return desc, nil
	}
	lower, upper := maps.Clone(desc.LowerBoundValues()), maps.Clone(desc.UpperBoundValues())
	for _, bounds := range []map[int][]byte{lower, upper} {
		maps.DeleteFunc(bounds, func(id int, _ []byte) bool { return gone || !f.bounded(id) })
	}
	b, err := iceberg.NewDataFileBuilder(f.spec(int(desc.SpecID())), desc.ContentType(), desc.FilePath(), desc.FileFormat(),
		desc.Partition(), nil, nil, desc.Count(), desc.FileSizeBytes())
	if err != nil {
		return nil, &catalog.BrokenError{What: fmt.Sprintf("a manifest's entry for %s is invalid: %v", desc.FilePath(), err)}
	}
	b.ColumnSizes(desc.ColumnSizes()).ValueCounts(desc.ValueCounts()).NullValueCounts(desc.NullValueCounts()).
		LowerBoundValues(lower).UpperBoundValues(upper).SplitOffsets(desc.SplitOffsets())
	if id := desc.SortOrderID(); id != nil {
		b.SortOrderID(*id)
	}
	if first := desc.FirstRowID(); first != nil {
		b.FirstRowID(*first)
	}
	return b.Build(), nil
}

// column is a column's information in a file's footer.
type column struct {
	of                  *schema.Column
	size, values, nulls int64
	unbounded           bool // some of its values have no known bounds
	min, max            parquet.Value
}

func (c *column) add(chunk *parquet.FileColumnChunk, size, nulls int64) {
	c.size += size
	c.values += chunk.NumValues()
	c.nulls += nulls
	lo, hi, ok := chunk.Bounds()
	switch {
	case nulls == chunk.NumValues():
	case !ok:
		c.unbounded = true
	case c.min.IsNull():
		c.min, c.max = lo.Clone(), hi.Clone()
	default:
		compare := chunk.Type().Compare
		if compare(lo, c.min) < 0 {
			c.min = lo.Clone()
		}
		if compare(hi, c.max) > 0 {
			c.max = hi.Clone()
		}
	}
}

// month returns the month that all values are in, counted from January 1970; false if there is
// none.
func (c *column) month() (int32, bool) {
	if c.unbounded || c.nulls > 0 || c.min.IsNull() {
		return 0, false
	}
	first, last := monthOf(c.min), monthOf(c.max)
	return first, first == last
}

func monthOf(v parquet.Value) int32 {
	t := time.UnixMicro(v.Int64()).UTC()
	return int32((t.Year()-1970)*12 + int(t.Month()) - 1)
}

// bounds returns the bounds of the column's values in Iceberg's encoding.
func (c *column) bounds() (lower, upper []byte, ok bool) {
	if c.unbounded || c.min.IsNull() {
		return nil, nil, false
	}
	switch c.of.Type {
	case schema.Word:
		return cut(c.min.ByteArray(), boundBytes), above(c.max.ByteArray(), boundBytes), true
	case schema.Exact: // adding would take negative numbers for large ones, and the footers have no bounds
		return nil, nil, false
	}
	return single(c.of.Type, c.min), single(c.of.Type, c.max), true
}

// single returns a value in Iceberg's encoding for single values.
func single(t schema.Type, v parquet.Value) []byte {
	switch t {
	case schema.Bool:
		if v.Boolean() {
			return []byte{1}
		}
		return []byte{0}
	case schema.Int32:
		return binary.LittleEndian.AppendUint32(nil, uint32(v.Int32()))
	case schema.Percent:
		return shortest(binary.BigEndian.AppendUint64(nil, uint64(v.Int64())))
	}
	return binary.LittleEndian.AppendUint64(nil, uint64(v.Int64()))
}

// shortest removes the redundant leading bytes of a number in two's complement, highest byte first.
func shortest(b []byte) []byte {
	for len(b) > 1 && (b[0] == 0 && b[1] < 0x80 || b[0] == 0xFF && b[1] >= 0x80) {
		b = b[1:]
	}
	return slices.Clone(b)
}

// cut returns the beginning of a text: whole characters, no more than limit bytes.
func cut(text []byte, limit int) []byte {
	if len(text) <= limit {
		return text
	}
	n := limit
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// above returns an upper bound of a text, about as short as cut would make it: its beginning, with
// the last character that has a successor replaced by that successor. If there is none, it returns
// the text itself.
func above(text []byte, limit int) []byte {
	n := len(cut(text, limit))
	if n == len(text) || !utf8.Valid(text) {
		return text
	}
	for n > 0 {
		r, size := utf8.DecodeLastRune(text[:n])
		n -= size
		if r++; r == 0xD800 { // surrogates are not characters
			r = 0xE000
		}
		if r <= utf8.MaxRune {
			return utf8.AppendRune(bytes.Clone(text[:n]), r)
		}
	}
	return text
}
