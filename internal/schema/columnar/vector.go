package columnar

import (
	"bytes"
	"errors"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding"

	"callhouse/internal/schema/decimal"
)

// vector is one column of a file while it is written: the values of the current page, in the form
// that the Parquet writer's encoders take.
//
// The library's own column buffers take a [parquet.Value] of 24 bytes for every value, copy each
// twice, and look up every word in a map. Nine tenths of a warehouse's values are of turns, where
// most are null or repeat the previous row. So a vector replaces the library's buffer (see
// [vectorType]): values are appended to it directly, and the library receives only their number and
// which are null.
type vector struct {
	required bool
	shape    vectorShape
	w        *parquet.ColumnWriter // of the open row group

	longs   []int64
	ints    []int32 // values, or indexes in the dictionary
	text    []byte
	offsets []uint32 // start of each value in text, and text's length; not for shapeExact
	count   int      // number of non-null values
	bytes   *int64   // size of the values of all columns since the row group began

	dict   parquet.Dictionary
	recent [recentWords]struct { // words recently looked up in dict, by a hash
		word  []byte
		index int32
		known bool
	}
	one   [1]parquet.Value // for a lookup without an allocation
	index [1]int32

	run   int // rows not yet reported to the library
	nulls bool
	err   error // the first one
}

// vectorShape is the storage of a vector's values.
type vectorShape uint8

const (
	shapeText vectorShape = iota + 1
	shapeWord             // in a dictionary
	shapeInt
	shapeLong
	shapeExact // 16 bytes each, in text
	shapeBool  // in the library's own buffer
)

func shapeOf(kind parquet.Kind) vectorShape {
	switch kind {
	case parquet.Int32:
		return shapeInt
	case parquet.Int64:
		return shapeLong
	case parquet.FixedLenByteArray:
		return shapeExact
	case parquet.Boolean:
		return shapeBool
	}
	return shapeText
}

// levels are what the library reads instead of a vector's values: whether they are null.
const mostLevels = 256

var nullLevels, fullLevels = func() (null, full []parquet.Value) {
	for range mostLevels {
		null = append(null, parquet.NullValue())
		full = append(full, parquet.Int32Value(0).Level(0, 1, 0))
	}
	return null, full
}()

// mostText is the number of bytes of text, plus one more text, that may wait before the rows are
// reported to the library, which may then take a page.
const mostText = 1 << 20

// settle reports the waiting rows to the library. The library may then encode a page, which leaves
// the vector empty.
func (v *vector) settle() {
	if v.run == 0 {
		return
	}
	levels := fullLevels
	if v.nulls {
		levels = nullLevels
	}
	for v.run > 0 && v.err == nil {
		n := min(v.run, mostLevels)
		_, v.err = v.w.WriteRowValues(levels[:n])
		v.run -= n
	}
	v.run = 0
}

// null appends a null.
func (v *vector) null() {
	if v.required && v.err == nil {
		v.err = errors.New("a required column has no value")
	}
	if !v.nulls || v.run == mostLevels {
		v.settle()
	}
	v.nulls = true
	v.run++
}

// full makes room for the value that is appended next. It runs first, since the library may take
// the page.
func (v *vector) full() {
	if v.nulls || v.run == mostLevels || len(v.text) >= mostText {
		v.settle()
	}
	v.nulls = false
	v.run++
	v.count++
}

func (v *vector) putText(b []byte) {
	v.full()
	v.text = append(v.text, b...)
	v.offsets = append(v.offsets, uint32(len(v.text)))
	*v.bytes += int64(len(b)) + 4
}

// putWord appends a word of the dictionary.
func (v *vector) putWord(index int32) {
	v.full()
	v.ints = append(v.ints, index)
	*v.bytes += 4
}

// longWord is the length from which a word counts towards the memory of a row group. Shorter words
// are few, or the dictionary would not be used.
const longWord = 1 << 10

// recentWords is a power of two.
const recentWords = 16

// lookUp returns the index of a word.
func (v *vector) lookUp(b []byte) int32 {
	looks := uint(len(b))
	if n := len(b); n > 0 {
		looks += uint(b[0]) + uint(b[n/2])<<1 + uint(b[n-1])<<2
	}
	r := &v.recent[(looks^looks>>4)%recentWords]
	if r.known && bytes.Equal(r.word, b) {
		return r.index
	}
	v.one[0] = parquet.ByteArrayValue(b)
	v.dict.Insert(v.index[:], v.one[:])
	if len(b) > longWord {
		*v.bytes += int64(len(b))
	}
	r.word, r.index, r.known = append(r.word[:0], b...), v.index[0], true
	return r.index
}

func (v *vector) putInt(n int32) {
	v.full()
	v.ints = append(v.ints, n)
	*v.bytes += 4
}

func (v *vector) putLong(n int64) {
	v.full()
	v.longs = append(v.longs, n)
	*v.bytes += 8
}

// putValue appends a value of a row.
func (v *vector) putValue(value *parquet.Value) {
	switch {
	case v.shape == shapeBool:
		if v.err == nil {
			level := 1
			if v.required || value.IsNull() {
				level = 0
			}
			v.one[0] = value.Level(0, level, 0)
			_, v.err = v.w.WriteRowValues(v.one[:])
		}
	case value.IsNull():
		v.null()
	case v.shape == shapeText:
		v.putText(value.ByteArray())
	case v.shape == shapeWord:
		v.putWord(v.lookUp(value.ByteArray()))
	case v.shape == shapeLong:
		v.putLong(value.Int64())
	case v.shape == shapeInt:
		v.putInt(value.Int32())
	default:
		v.full()
		v.text = append(v.text, value.ByteArray()...)
		*v.bytes += decimal.Bytes
	}
}

// repeat appends a value n times.
func (v *vector) repeat(value *parquet.Value, n int) {
	if v.shape != shapeWord || value.IsNull() || n == 0 {
		for range n {
			v.putValue(value)
		}
		return
	}
	index := v.lookUp(value.ByteArray())
	for range n {
		v.putWord(index)
	}
}

// reset empties the page.
func (v *vector) reset() {
	v.longs, v.ints, v.text, v.count = v.longs[:0], v.ints[:0], v.text[:0], 0
	v.offsets = append(v.offsets[:0], 0)
}

// values returns the page in the encoders' form.
func (v *vector) values() encoding.Values {
	switch v.shape {
	case shapeLong:
		return encoding.Int64Values(v.longs)
	case shapeInt, shapeWord:
		return encoding.Int32Values(v.ints)
	case shapeExact:
		return encoding.FixedLenByteArrayValues(v.text, decimal.Bytes)
	}
	return encoding.ByteArrayValues(v.text, v.offsets)
}

func (v *vector) size() int64 {
	return int64(len(v.text) + 4*len(v.offsets) + 4*len(v.ints) + 8*len(v.longs))
}

// vectorType is the type of a column whose values are in a vector. It differs from the library's
// own type only in where its values come from.
type vectorType struct {
	parquet.Type
	v *vector
}

// NewColumnBuffer implements parquet.Type.
func (t *vectorType) NewColumnBuffer(column, _ int) parquet.ColumnBuffer {
	return &vectorBuffer{ColumnBuffer: t.Type.NewColumnBuffer(column, 0), of: t.Type, column: column, v: t.v}
}

// NewDictionary implements parquet.Type.
func (t *vectorType) NewDictionary(column, n int, data encoding.Values) parquet.Dictionary {
	d := &vectorDictionary{Dictionary: t.Type.NewDictionary(column, n, data), v: t.v}
	t.v.shape, t.v.dict = shapeWord, d.Dictionary
	t.v.forget()
	return d
}

// forget clears the words that were looked up in a dictionary.
func (v *vector) forget() {
	for i := range v.recent {
		v.recent[i].known = false
	}
	v.one[0] = parquet.Value{}
}

// vectorDictionary is the dictionary of a vector.
type vectorDictionary struct {
	parquet.Dictionary
	v *vector
}

// Type implements parquet.Dictionary.
func (d *vectorDictionary) Type() parquet.Type { return &vectorType{d.Dictionary.Type(), d.v} }

// Reset implements parquet.Dictionary.
func (d *vectorDictionary) Reset() {
	d.Dictionary.Reset()
	d.v.forget()
}

// vectorBuffer presents a vector to the library.
type vectorBuffer struct {
	parquet.ColumnBuffer // for methods that are never called on a write-only buffer
	of                   parquet.Type
	column               int
	v                    *vector
}

// WriteValues implements parquet.ColumnBuffer. The values are already there.
func (b *vectorBuffer) WriteValues(values []parquet.Value) (int, error) { return len(values), nil }

// Page implements parquet.ColumnBuffer.
func (b *vectorBuffer) Page() parquet.Page { return b.of.NewPage(b.column, b.v.count, b.v.values()) }

// Reset implements parquet.ColumnBuffer.
func (b *vectorBuffer) Reset() { b.v.reset() }

// Len implements parquet.ColumnBuffer.
func (b *vectorBuffer) Len() int { return b.v.count }

// Size implements parquet.ColumnBuffer.
func (b *vectorBuffer) Size() int64 { return b.v.size() }

// vectorNode is a leaf whose values lie in a vector.
type vectorNode struct {
	parquet.Node
	typ parquet.Type
}

// Type implements parquet.Node.
func (n *vectorNode) Type() parquet.Type { return n.typ }
