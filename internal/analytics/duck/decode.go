package duck

import (
	"math"
	"unsafe"

	bindings "github.com/duckdb/duckdb-go-bindings"

	"callhouse/internal/analytics/value"
)

func get[T any](v *vector, row int) T {
	var zero T
	return *(*T)(unsafe.Add(v.data, uintptr(row)*unsafe.Sizeof(zero)))
}

// read decodes one value. Its text remains in DuckDB's memory.
func (v *vector) read(row int, to *value.Value) {
	*to = value.Value{}
	if v.null(row) {
		return
	}
	to.Kind, to.Scale = v.t.kind, v.t.scale
	switch v.t.stored {
	case bindings.TypeVarchar:
		to.Text = v.text(row)
	case bindings.TypeTinyInt:
		v.whole(int64(get[int8](v, row)), to)
	case bindings.TypeSmallInt:
		v.whole(int64(get[int16](v, row)), to)
	case bindings.TypeInteger:
		v.whole(int64(get[int32](v, row)), to)
	case bindings.TypeBigInt:
		v.whole(get[int64](v, row), to)
	case bindings.TypeUTinyInt:
		v.whole(int64(get[uint8](v, row)), to)
	case bindings.TypeUSmallInt:
		v.whole(int64(get[uint16](v, row)), to)
	case bindings.TypeUInteger:
		v.whole(int64(get[uint32](v, row)), to)
	case bindings.TypeUBigInt:
		to.Low = get[uint64](v, row)
	case bindings.TypeHugeInt:
		h := get[hugeint](v, row)
		to.High, to.Low = int64(h.upper), h.lower
	case bindings.TypeFloat:
		to.Low = math.Float64bits(float64(get[float32](v, row)))
	case bindings.TypeDouble:
		to.Low = get[uint64](v, row)
	default:
		v.readOther(row, to)
	}
}

// whole sets a value that is stored as a whole number.
func (v *vector) whole(n int64, to *value.Value) {
	to.High, to.Low = n>>63, uint64(n)
	switch v.t.kind {
	case value.Text:
		to.Text = v.t.words[n]
	case value.Day, value.Local, value.Instant:
		most := int64(math.MaxInt64)
		if v.t.kind == value.Day {
			most = math.MaxInt32
		}
		if n == most || n == -most {
			to.Kind = value.Infinite
		}
	}
}

// readOther decodes the types with a layout of their own.
func (v *vector) readOther(row int, to *value.Value) {
	switch v.t.id {
	case bindings.TypeUUID: // a number whose highest bit is flipped so that it sorts like its text
		h := get[hugeint](v, row)
		to.High, to.Low = int64(h.upper^1<<63), h.lower
	case bindings.TypeTimeTZ:
		// 40 bits of microseconds, then 24 bits of the maximum minus the offset, so that the bits sort like the instants.
		raw := get[uint64](v, row)
		const highest = 16*3600 - 1
		to.High, to.Low = highest-int64(raw&0xffffff), raw>>24
	case bindings.TypeInterval:
		i := get[interval](v, row)
		*to = value.Interval(i.months, i.days, i.micros)
	case bindings.TypeList:
		at := get[listEntry](v, row)
		to.Nest = &value.Nest{Values: v.children[0].slice(int(at.offset), int(at.length))}
	case bindings.TypeArray:
		to.Nest = &value.Nest{Values: v.children[0].slice(row*v.t.size, v.t.size)}
	case bindings.TypeMap:
		at, entry := get[listEntry](v, row), &v.children[0]
		to.Nest = &value.Nest{Keys: entry.children[0].slice(int(at.offset), int(at.length)),
			Values: entry.children[1].slice(int(at.offset), int(at.length))}
	case bindings.TypeStruct:
		to.Nest = &value.Nest{Names: v.t.names, Values: make([]value.Value, len(v.children))}
		for i := range v.children {
			v.children[i].read(row, &to.Nest.Values[i])
		}
	}
}

func (v *vector) slice(from, n int) []value.Value {
	out := make([]value.Value, n)
	for i := range out {
		v.read(from+i, &out[i])
	}
	return out
}

// size returns the approximate bytes of a value of variable size; it stops counting beyond most.
func (v *vector) size(row, most int) (n int) {
	if v.null(row) {
		return 0
	}
	const each = 32 // of a list element
	all := func(child *vector, from, length int) {
		if n += each * length; len(child.children) == 0 && !child.t.isText() {
			return
		}
		for i := from; i < from+length && n <= most; i++ {
			n += child.size(i, most-n)
		}
	}
	switch {
	case v.t.isText():
		n = len(v.text(row))
	case v.t.id == bindings.TypeList, v.t.id == bindings.TypeMap:
		at := get[listEntry](v, row)
		all(&v.children[0], int(at.offset), int(at.length))
	case v.t.id == bindings.TypeArray:
		all(&v.children[0], row*v.t.size, v.t.size)
	default:
		for i := range v.children {
			n += v.children[i].size(row, most-n)
		}
	}
	return n
}

// isText reports whether values have variable length and are stored as strings.
func (t *typ) isText() bool { return t.id == bindings.TypeVarchar || t.id == bindings.TypeBlob }

// text returns the bytes of a string in DuckDB's memory: 4 bytes of length, then up to 12 bytes in
// place, or 4 bytes of prefix and a pointer.
func (v *vector) text(row int) string {
	p := unsafe.Add(v.data, row*16)
	n := *(*uint32)(p)
	if n <= 12 {
		return unsafe.String((*byte)(unsafe.Add(p, 4)), n)
	}
	return unsafe.String(*(**byte)(unsafe.Add(p, 8)), n)
}

// The layouts of DuckDB's structs.
type (
	hugeint   struct{ lower, upper uint64 }
	listEntry struct{ offset, length uint64 }
	interval  struct {
		months, days int32
		micros       int64
	}
)
