package columnar

import (
	"bytes"
	"errors"
	"slices"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/bloom/xxhash"
	"github.com/parquet-go/parquet-go/format"

	"callhouse/internal/schema/decimal"
)

// vector is one column of a file while it is written: the values of the current page, in the form
// that encoders take, and the encoded pages of the row group.
//
// Nine tenths of a warehouse's values belong to turns, where most values are null or repeat the
// previous row. So a value costs one append, and rows are counted in runs of nulls or values.
type vector struct {
	name     string
	leaf     parquet.Type
	kind     parquet.Kind
	required bool
	bounded  bool // the row group's bounds are recorded
	filtered bool // there is a filter for its values
	shape    vectorShape
	file     *Writer

	longs   []int64
	ints    []int32  // values, or indexes in the dictionary
	text    []byte   // of texts and decimals; of booleans, one byte each
	offsets []uint32 // start of each value in text, and text's length; of shapeText
	count   int      // number of non-null values
	levels  []byte   // 0 for a null, 1 for a value; not of a required column
	rows    int

	dict   dictionary
	recent [recentWords]struct { // words recently looked up in dict, by a hash
		word  []byte
		index int32
		known bool
	}

	run   int // rows not yet in levels and rows
	nulls bool
	err   error // the first error

	chunk chunk
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

func shapeOf(leaf parquet.Node) vectorShape {
	if leaf.Encoding() != nil && leaf.Encoding().Encoding() == format.RLEDictionary {
		return shapeWord
	}
	switch leaf.Type().Kind() {
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

// Limits after which the page may end: mostRun is the number of rows in a run, and mostText the
// number of bytes of text, which one more text may exceed.
const (
	mostRun  = 256
	mostText = 1 << 20
)

// settle counts the waiting rows. It may end the page, which leaves the vector empty.
func (v *vector) settle() {
	if v.run == 0 {
		return
	}
	if v.rows += v.run; !v.required {
		level := byte(1)
		if v.nulls {
			level = 0
		}
		n := len(v.levels)
		v.levels = slices.Grow(v.levels, v.run)[:n+v.run]
		for i := range v.levels[n:] {
			v.levels[n+i] = level
		}
	}
	v.run = 0
	if v.size() >= v.file.pageSize && v.err == nil {
		v.err = v.endPage()
	}
}

// null appends a null.
func (v *vector) null() {
	if v.required && v.err == nil {
		v.err = errors.New("a required column has no value")
	}
	if !v.nulls || v.run == mostRun {
		v.settle()
	}
	v.nulls = true
	v.run++
}

// full makes room for the value to be appended. It must be called first, since it may end the page.
func (v *vector) full() {
	if v.nulls || v.run == mostRun || len(v.text) >= mostText {
		v.settle()
	}
	v.nulls = false
	v.run++
	v.count++
}

func (v *vector) putText(b []byte) {
	v.full()
	if cap(v.text)-len(v.text) < len(b) { // append would grow in smaller steps, and copy the page each time
		v.text = slices.Grow(v.text, max(len(b), min(cap(v.text), v.file.pageSize)))
	}
	v.text = append(v.text, b...)
	v.offsets = append(v.offsets, uint32(len(v.text)))
	if v.filtered {
		v.chunk.hashes = append(v.chunk.hashes, xxhash.Sum64(b))
	}
	v.file.bytes += len(b) + 4
}

// putWord appends a word of the dictionary.
func (v *vector) putWord(index int32) {
	v.full()
	v.ints = append(v.ints, index)
	v.file.bytes += 4
}

// longWord is the length from which a word counts towards the memory of a row group. Shorter words
// are few, or else the dictionary is not used.
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
	index := v.dict.insert(b)
	if len(b) > longWord {
		v.file.bytes += len(b)
	}
	r.word, r.index, r.known = append(r.word[:0], b...), index, true
	return index
}

func (v *vector) putInt(n int32) {
	v.full()
	v.ints = append(v.ints, n)
	v.file.bytes += 4
}

func (v *vector) putLong(n int64) {
	v.full()
	v.longs = append(v.longs, n)
	v.file.bytes += 8
}

// putValue appends a value of a row.
func (v *vector) putValue(value *parquet.Value) {
	switch {
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
	case v.shape == shapeBool:
		v.full()
		set := byte(0)
		if value.Boolean() {
			set = 1
		}
		v.text = append(v.text, set)
		v.file.bytes++
	default:
		v.full()
		v.text = append(v.text, value.ByteArray()...)
		v.file.bytes += decimal.Bytes
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
	v.longs, v.ints, v.text, v.levels, v.count, v.rows = v.longs[:0], v.ints[:0], v.text[:0], v.levels[:0], 0, 0
	v.offsets = append(v.offsets[:0], 0)
}

// rowBytes is the size that a row adds to a page of a nullable column, so that a page of nulls does
// not grow without limit.
const rowBytes = 5

// size returns the size of the page before it is encoded.
func (v *vector) size() int {
	return len(v.text) + 4*len(v.offsets) + 4*len(v.ints) + 8*len(v.longs) + rowBytes*len(v.levels)
}

// begin empties the vector for a row group.
func (v *vector) begin() {
	v.reset()
	v.run, v.err = 0, nil
	if v.shape == shapeWord {
		v.dict.reset()
		for i := range v.recent {
			v.recent[i].known = false
		}
	}
	v.chunk.begin(v.leaf, v.name, v.required, v.encoding())
}
