package columnar

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
	"sync"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/bloom"
	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/encoding/plain"
	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// chunk is a column's part of the open row group: its pages, encoded and compressed, and their
// metadata.
type chunk struct {
	pages  []byte
	hashes []uint64 // of the values, for the filter
	meta   format.ColumnMetaData
	index  parquet.ColumnIndexer
	places []format.PageLocation
	nulls  []int64 // by page: numbers of null and other values
	rows   int64
}

// encoder has the memory for encoding a page. All writers share the encoders.
type encoder struct {
	levels         []byte // encoded
	values, packed []byte
	header         bytes.Buffer
	protocol       thrift.CompactProtocol
}

var encoders = sync.Pool{New: func() any { return new(encoder) }}

// withEncoder calls f with an encoder.
func withEncoder(f func(*encoder) error) error {
	e, _ := encoders.Get().(*encoder)
	defer encoders.Put(e)
	return f(e)
}

// Encodings of values, by shape.
var (
	levelEncoding = rle.Encoding{BitWidth: 1}
	wordEncoding  rle.DictionaryEncoding
	intEncoding   delta.BinaryPackedEncoding
	textEncoding  delta.LengthByteArrayEncoding
)

func (v *vector) encoding() format.Encoding {
	switch v.shape {
	case shapeWord:
		return format.RLEDictionary
	case shapeInt, shapeLong:
		return format.DeltaBinaryPacked
	case shapeText:
		return format.DeltaLengthByteArray
	}
	return format.Plain
}

// encode encodes the values of the page.
func (v *vector) encode(dst []byte) ([]byte, error) {
	switch v.shape {
	case shapeWord:
		return wordEncoding.EncodeInt32(dst, v.ints)
	case shapeInt:
		return intEncoding.EncodeInt32(dst, v.ints)
	case shapeLong:
		return intEncoding.EncodeInt64(dst, v.longs)
	case shapeText:
		return textEncoding.EncodeByteArray(dst, v.text, v.offsets)
	case shapeBool:
		for i, b := range v.text {
			if i%8 == 0 {
				dst = append(dst, 0)
			}
			dst[i/8] |= b << (i % 8)
		}
		return dst, nil
	}
	return append(dst, v.text...), nil
}

// endPage encodes the page, if it has rows, and appends it to the chunk.
func (v *vector) endPage() error {
	if v.rows == 0 {
		return nil
	}
	defer v.reset()
	return withEncoder(v.page)
}

func (v *vector) page(e *encoder) (err error) {
	nulls := v.rows - v.count
	if e.levels = e.levels[:0]; !v.required {
		if e.levels, err = levelEncoding.EncodeLevels(e.levels, v.levels); err != nil {
			return err
		}
	}
	if e.values, err = v.encode(e.values[:0]); err != nil {
		return err
	}
	if len(e.levels)+len(e.values) > math.MaxInt32 {
		return fmt.Errorf("a page has %d bytes", len(e.levels)+len(e.values))
	}
	if e.packed, err = v.file.form.Compress(e.packed, e.values); err != nil {
		return err
	}
	sum := crc32.Update(crc32.ChecksumIEEE(e.levels), crc32.IEEETable, e.packed)
	at := len(v.chunk.pages)
	v.chunk.pages, err = e.appendPage(v.chunk.pages, &v.chunk.meta, format.PageHeader{
		Type:                 format.DataPageV2,
		UncompressedPageSize: int32(len(e.levels) + len(e.values)),
		CompressedPageSize:   int32(len(e.levels) + len(e.packed)),
		CRC:                  int32(sum),
		DataPageHeaderV2: thrift.New(format.DataPageHeaderV2{
			NumValues: int32(v.rows), NumNulls: int32(nulls), NumRows: int32(v.rows), Encoding: v.encoding(),
			DefinitionLevelsByteLength: int32(len(e.levels)), IsCompressed: thrift.New(true),
		}),
	}, e.levels, e.packed)
	if err != nil {
		return err
	}
	v.chunk.places = append(v.chunk.places, format.PageLocation{Offset: int64(at), CompressedPageSize: int32(len(v.chunk.pages) - at),
		FirstRowIndex: v.chunk.rows})
	v.chunk.rows += int64(v.rows)
	v.chunk.nulls = append(v.chunk.nulls, int64(nulls), int64(v.count))
	v.chunk.meta.NumValues += int64(v.rows)
	v.chunk.meta.Statistics.NullCount += int64(nulls)
	if v.shape == shapeText {
		v.chunk.meta.SizeStatistics.UnencodedByteArrayDataBytes += int64(len(v.text))
	}
	v.bound(int64(nulls))
	return nil
}

// appendPage appends a page with its header, and counts it.
func (e *encoder) appendPage(dst []byte, meta *format.ColumnMetaData, h format.PageHeader, parts ...[]byte) ([]byte, error) {
	e.header.Reset()
	if err := thrift.NewEncoder(e.protocol.NewWriter(&e.header)).Encode(&h); err != nil {
		return dst, err
	}
	dst = append(dst, e.header.Bytes()...)
	for _, p := range parts {
		dst = append(dst, p...)
	}
	meta.TotalUncompressedSize += int64(e.header.Len()) + int64(h.UncompressedPageSize)
	meta.TotalCompressedSize += int64(e.header.Len()) + int64(h.CompressedPageSize)
	stats := format.PageEncodingStats{PageType: h.Type, Encoding: format.Plain, Count: 1}
	if h.DataPageHeaderV2.Valid {
		stats.Encoding = h.DataPageHeaderV2.V.Encoding
	}
	at := slices.IndexFunc(meta.EncodingStats, func(s format.PageEncodingStats) bool { return s.PageType == h.Type })
	switch {
	case at >= 0:
		meta.EncodingStats[at].Count++
	case h.Type == format.DictionaryPage:
		meta.EncodingStats = slices.Insert(meta.EncodingStats, 0, stats)
	default:
		meta.EncodingStats = append(meta.EncodingStats, stats)
	}
	return dst, nil
}

// dictionaryPage returns the page of the dictionary.
func (v *vector) dictionaryPage(e *encoder) (page []byte, err error) {
	words := v.dict.plain
	if e.packed, err = v.file.form.Compress(e.packed, words); err != nil {
		return nil, err
	}
	e.values, err = e.appendPage(e.values[:0], &v.chunk.meta, format.PageHeader{
		Type: format.DictionaryPage, UncompressedPageSize: int32(len(words)), CompressedPageSize: int32(len(e.packed)),
		CRC:                  int32(crc32.ChecksumIEEE(e.packed)),
		DictionaryPageHeader: thrift.New(format.DictionaryPageHeader{NumValues: int32(v.dict.len()), Encoding: format.Plain}),
	}, e.packed)
	return e.values, err
}

// begin empties the chunk for a row group.
func (c *chunk) begin(columnType parquet.Type, name string, required bool, encoded format.Encoding) {
	c.pages, c.hashes, c.nulls, c.rows = c.pages[:0], c.hashes[:0], c.nulls[:0], 0
	c.places = nil // those of the last group are in the footer
	encodings := []format.Encoding{encoded}
	if encoded == format.RLEDictionary {
		encodings = append(encodings, format.Plain)
	}
	if !required {
		encodings = append(encodings, format.RLE)
	}
	slices.Sort(encodings)
	c.meta = format.ColumnMetaData{Type: format.Type(columnType.Kind()), Encoding: slices.Compact(encodings),
		PathInSchema: []string{name}, Codec: format.Zstd}
	c.index.Reset()
}

// close completes the metadata of the chunk, which begins at offset.
func (c *chunk) close(required bool, offset int64) (column format.ColumnChunk, index format.ColumnIndex, places format.OffsetIndex) {
	for i := range c.places {
		c.places[i].Offset += offset
	}
	c.meta.DataPageOffset = offset
	index = c.index.ColumnIndex()
	if !required {
		sum := make([]int64, 2)
		for i, n := range c.nulls {
			sum[i%2] += n
		}
		c.meta.SizeStatistics.DefinitionLevelHistogram = sum
		index.DefinitionLevelHistogram = slices.Clone(c.nulls)
	}
	return format.ColumnChunk{MetaData: c.meta}, index, format.OffsetIndex{PageLocations: c.places}
}

// filter returns the filter of the chunk's values, with its header.
func (c *chunk) filter(e *encoder, bitsPerValue uint) ([]byte, error) {
	f := make(bloom.SplitBlockFilter, bloom.NumSplitBlocksOf(int64(len(c.hashes)), bitsPerValue))
	f.InsertBulk(c.hashes)
	h := format.BloomFilterHeader{NumBytes: int32(len(f.Bytes()))}
	h.Algorithm.Value, h.Hash.Value, h.Compression.Value = &format.SplitBlockAlgorithm{}, &format.XxHash{}, &format.BloomFilterUncompressed{}
	e.header.Reset()
	if err := thrift.NewEncoder(e.protocol.NewWriter(&e.header)).Encode(&h); err != nil {
		return nil, err
	}
	return append(e.header.Bytes(), f.Bytes()...), nil
}

// dictionary holds the words of a column in a row group.
type dictionary struct {
	index map[string]int32
	plain []byte // the words, each after its length
	at    []uint32
	used  []int32 // by word: the page that has it
	pages int32
}

func (d *dictionary) len() int { return len(d.at) }

func (d *dictionary) word(i int32) []byte {
	at := d.at[i]
	return d.plain[at+4:][:binary.LittleEndian.Uint32(d.plain[at:])]
}

func (d *dictionary) insert(word []byte) int32 {
	if i, ok := d.index[string(word)]; ok {
		return i
	}
	i := int32(len(d.at))
	d.index[string(word)] = i
	d.at = append(d.at, uint32(len(d.plain)))
	d.plain = plain.AppendByteArray(d.plain, word)
	d.used = append(d.used, 0)
	return i
}

func (d *dictionary) reset() {
	clear(d.index)
	d.plain, d.at, d.used, d.pages = d.plain[:0], d.at[:0], d.used[:0], 0
}

// bounds returns the first and last of the words of a page, which is not empty.
func (d *dictionary) bounds(page []int32) (low, high []byte) {
	d.pages++
	low = d.word(page[0])
	high = low
	for _, i := range page {
		if d.used[i] == d.pages {
			continue
		}
		d.used[i] = d.pages
		if w := d.word(i); bytes.Compare(w, low) < 0 {
			low = w
		} else if bytes.Compare(w, high) > 0 {
			high = w
		}
	}
	return low, high
}
