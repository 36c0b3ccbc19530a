package columnar

import (
	"bytes"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"callhouse/internal/schema/decimal"
)

// A Parquet file holds bounds of the values for each page of a column. Readers skip the pages whose
// bounds exclude the value they look for, so wrong bounds lose rows. The library gets them wrong in
// two cases. For long texts that it is told to skip, it declares that all values are empty. For
// decimals, it takes negative numbers for large ones. So this file computes the bounds.

// boundBytes is the maximum length of a text's bound, if the library does not cut it shorter.
const boundBytes = 12

// vectorIndexer collects the bounds of a vector's pages.
type vectorIndexer struct {
	parquet.ColumnIndexer
	v *vector
}

// NewColumnIndexer implements parquet.Type.
func (t *vectorType) NewColumnIndexer(limit int) parquet.ColumnIndexer {
	switch t.v.shape {
	case shapeText, shapeExact:
		return &vectorIndexer{parquet.ByteArrayType.NewColumnIndexer(limit), t.v}
	}
	return t.Type.NewColumnIndexer(limit)
}

// IndexPage implements parquet.ColumnIndexer. The vector still holds the page's values.
func (x *vectorIndexer) IndexPage(values, nulls int64, _, _ parquet.Value) {
	low, high := x.v.bounds()
	x.ColumnIndexer.IndexPage(values, nulls, parquet.ByteArrayValue(low), parquet.ByteArrayValue(high))
}

// ColumnIndex implements parquet.ColumnIndexer.
func (x *vectorIndexer) ColumnIndex() format.ColumnIndex {
	index := x.ColumnIndexer.ColumnIndex()
	if x.v.shape == shapeExact {
		index.BoundaryOrder = format.Unordered // the library's order ignores negative numbers
	}
	return index
}

// bounds returns a lower and an upper bound of the page's values.
func (v *vector) bounds() (low, high []byte) {
	for i := range v.count {
		b := v.at(i)
		if i == 0 || v.compare(b, low) < 0 {
			low = b
		}
		if i == 0 || v.compare(b, high) > 0 {
			high = b
		}
	}
	if v.shape == shapeText {
		return Cut(low, boundBytes), Above(high, boundBytes)
	}
	return low, high
}

// at returns the i-th value of a page of texts or decimals.
func (v *vector) at(i int) []byte {
	if v.shape == shapeExact {
		return v.text[i*decimal.Bytes : (i+1)*decimal.Bytes]
	}
	return v.text[v.offsets[i]:v.offsets[i+1]]
}

func (v *vector) compare(a, b []byte) int {
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
