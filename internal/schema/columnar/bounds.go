package columnar

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/schema/decimal"
)

// A Parquet file holds bounds of a column's values for each page and each row group. Readers skip
// those that exclude a value, so wrong bounds lose rows.

// boundBytes is the maximum length of a text's bound, if the library does not cut it shorter.
const boundBytes = 12

// indexLimit is the length to which the library cuts bounds of pages.
const indexLimit = parquet.DefaultColumnIndexSizeLimit

// newIndexer returns the collector of the bounds of a column's pages.
func newIndexer(shape vectorShape, leaf parquet.Type) parquet.ColumnIndexer {
	if shape == shapeText || shape == shapeExact {
		return parquet.ByteArrayType.NewColumnIndexer(indexLimit)
	}
	return leaf.NewColumnIndexer(indexLimit)
}

// bound records the bounds of the page.
func (v *vector) bound(nulls int64) {
	if v.count == 0 {
		v.chunk.index.IndexPage(int64(v.rows), nulls, parquet.Value{}, parquet.Value{})
		return
	}
	low, high := v.bounds()
	if v.bounded {
		s := &v.chunk.meta.Statistics
		if s.MinValue == nil || v.compare(low, v.kind.Value(s.MinValue)) < 0 {
			s.MinValue = low.AppendBytes([]byte{})
		}
		if s.MaxValue == nil || v.compare(high, v.kind.Value(s.MaxValue)) > 0 {
			s.MaxValue = high.AppendBytes([]byte{})
		}
	}
	if v.shape == shapeText {
		low, high = parquet.ByteArrayValue(Cut(low.ByteArray(), boundBytes)), parquet.ByteArrayValue(Above(high.ByteArray(), boundBytes))
	}
	v.chunk.index.IndexPage(int64(v.rows), nulls, low, high)
}

// bounds returns the smallest and the largest value of the page, which must have a value.
func (v *vector) bounds() (low, high parquet.Value) {
	switch v.shape {
	case shapeLong:
		return parquet.Int64Value(slices.Min(v.longs)), parquet.Int64Value(slices.Max(v.longs))
	case shapeInt:
		return parquet.Int32Value(slices.Min(v.ints)), parquet.Int32Value(slices.Max(v.ints))
	case shapeBool:
		return parquet.BooleanValue(!slices.Contains(v.text, 0)), parquet.BooleanValue(slices.Contains(v.text, 1))
	}
	var first, last []byte
	if v.shape == shapeWord {
		first, last = v.dict.bounds(v.ints)
	} else {
		first = v.at(0)
		last = first
		for i := 1; i < v.count; i++ {
			if b := v.at(i); v.compareBytes(b, first) < 0 {
				first = b
			} else if v.compareBytes(b, last) > 0 {
				last = b
			}
		}
	}
	if v.shape == shapeExact {
		return parquet.FixedLenByteArrayValue(first), parquet.FixedLenByteArrayValue(last)
	}
	return parquet.ByteArrayValue(first), parquet.ByteArrayValue(last)
}

// compare compares two values of the column. The library would take negative decimals for large
// ones.
func (v *vector) compare(a, b parquet.Value) int {
	if v.shape == shapeExact {
		return v.compareBytes(a.ByteArray(), b.ByteArray())
	}
	return v.leaf.Compare(a, b)
}

// at returns the i-th value of a page of texts or decimals.
func (v *vector) at(i int) []byte {
	if v.shape == shapeExact {
		return v.text[i*decimal.Bytes : (i+1)*decimal.Bytes]
	}
	return v.text[v.offsets[i]:v.offsets[i+1]]
}

func (v *vector) compareBytes(a, b []byte) int {
	if v.shape == shapeExact {
		return decimal.FromBytes(a).Compare(decimal.FromBytes(b))
	}
	return bytes.Compare(a, b)
}

// Cut returns the beginning of a text: whole characters, no more than most bytes.
func Cut(text []byte, most int) []byte {
	if len(text) <= most {
		return text
	}
	n := most
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// Above returns an upper bound of a text, about as short as Cut would make it: its beginning, with
// the last character that has a successor replaced by that successor. If there is none, it returns
// the text itself.
func Above(text []byte, most int) []byte {
	n := len(Cut(text, most))
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
