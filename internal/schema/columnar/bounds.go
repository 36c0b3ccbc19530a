package columnar

import (
	"bytes"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"callhouse/internal/schema/decimal"
)

// A file tells for each page of a column between which values its values lie, and
// readers leave out the pages that cannot hold what they look for. So wrong bounds
// lose rows. Of long texts and of decimals the library cannot tell right ones: it
// has none to tell where it is to skip them, and then says that all values are
// empty; and it takes a negative number for a large one. So these are told here.

// boundBytes is how much of a text a bound has at most, but for what the library
// cuts it down to.
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

// IndexPage implements parquet.ColumnIndexer: the page's values are still those
// of the vector.
func (x *vectorIndexer) IndexPage(values, nulls int64, _, _ parquet.Value) {
	low, high := x.v.bounds()
	x.ColumnIndexer.IndexPage(values, nulls, parquet.ByteArrayValue(low), parquet.ByteArrayValue(high))
}

// ColumnIndex implements parquet.ColumnIndexer.
func (x *vectorIndexer) ColumnIndex() format.ColumnIndex {
	index := x.ColumnIndexer.ColumnIndex()
	if x.v.shape == shapeExact {
		index.BoundaryOrder = format.Unordered // the library's order knows no negative numbers
	}
	return index
}

// bounds returns what no value of the page lies below, and above.
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

// Cut returns the beginning of a text: whole characters, of at most so many bytes.
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

// Above returns a text that is as short as Cut makes one, and not below this one: its
// beginning, with the last character that has a next one replaced by that. Where there is
// none, it is the text itself.
func Above(text []byte, most int) []byte {
	n := len(Cut(text, most))
	if n == len(text) || !utf8.Valid(text) {
		return text
	}
	for n > 0 {
		r, size := utf8.DecodeLastRune(text[:n])
		n -= size
		if r++; r == 0xD800 { // no character up to there
			r = 0xE000
		}
		if r <= utf8.MaxRune {
			return utf8.AppendRune(bytes.Clone(text[:n]), r)
		}
	}
	return text
}
