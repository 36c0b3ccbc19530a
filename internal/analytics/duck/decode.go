package duck

import (
	"encoding/hex"
	"math"
	"math/big"
	"strings"
	"time"
	"unsafe"

	bindings "github.com/duckdb/duckdb-go-bindings"

	"callhouse/internal/analytics/value"
)

func get[T any](v *vector, row int) T {
	var zero T
	return *(*T)(unsafe.Add(v.data, uintptr(row)*unsafe.Sizeof(zero)))
}

// at decodes one value.
func (v *vector) at(row int) any {
	if v.null(row) {
		return nil
	}
	switch v.t.id {
	case bindings.TypeBoolean:
		return get[bool](v, row)
	case bindings.TypeTinyInt:
		return int64(get[int8](v, row))
	case bindings.TypeSmallInt:
		return int64(get[int16](v, row))
	case bindings.TypeInteger:
		return int64(get[int32](v, row))
	case bindings.TypeBigInt:
		return get[int64](v, row)
	case bindings.TypeUTinyInt:
		return int64(get[uint8](v, row))
	case bindings.TypeUSmallInt:
		return int64(get[uint16](v, row))
	case bindings.TypeUInteger:
		return int64(get[uint32](v, row))
	case bindings.TypeUBigInt:
		return get[uint64](v, row)
	case bindings.TypeHugeInt:
		return huge(get[hugeint](v, row))
	case bindings.TypeUHugeInt:
		return uhuge(get[hugeint](v, row))
	case bindings.TypeBigNum:
		return bignum([]byte(v.text(row)))
	case bindings.TypeFloat:
		return get[float32](v, row)
	case bindings.TypeDouble:
		return get[float64](v, row)
	case bindings.TypeDecimal:
		return v.decimal(row)
	case bindings.TypeVarchar:
		if v.t.json {
			return value.JSON(strings.Clone(v.text(row)))
		}
		return strings.Clone(v.text(row))
	case bindings.TypeBlob, bindings.TypeGeometry:
		return []byte(v.text(row))
	case bindings.TypeBit:
		return bits(v.text(row))
	case bindings.TypeUUID:
		return uuid(get[hugeint](v, row))
	case bindings.TypeEnum:
		return v.word(row)
	case bindings.TypeSQLNull:
		return nil
	}
	if v.t.kids != nil {
		return v.nested(row)
	}
	return v.time(row)
}

// lent decodes one value like at, but may return a pointer: to a text in DuckDB's memory, an int64,
// a value.Micros.
func (v *vector) lent(row int) any {
	switch v.t.id {
	case bindings.TypeVarchar, bindings.TypeBigInt, bindings.TypeInteger, bindings.TypeTimestampTZ:
	default:
		return v.at(row)
	}
	if v.null(row) {
		return nil
	}
	switch v.t.id {
	case bindings.TypeVarchar:
		v.str = v.text(row)
		return &v.str
	case bindings.TypeInteger:
		v.number = int64(get[int32](v, row))
		return &v.number
	}
	v.number = get[int64](v, row)
	if v.t.id == bindings.TypeBigInt {
		return &v.number
	}
	if inf, ok := infinite(v.number, math.MaxInt64); ok {
		return inf
	}
	return (*value.Micros)(&v.number)
}

// size returns the approximate bytes of a value of variable size; it stops counting beyond most.
func (v *vector) size(row, most int) (n int) {
	if v.null(row) {
		return 0
	}
	const each = 32 // of a list element
	all := func(kid *vector, from, length int) {
		if n += each * length; len(kid.kids) == 0 && !kid.t.isText() {
			return
		}
		for i := from; i < from+length && n <= most; i++ {
			n += kid.size(i, most-n)
		}
	}
	switch {
	case v.t.isText():
		n = len(v.text(row))
		if v.t.id == bindings.TypeBit {
			n *= 8
		}
	case v.t.id == bindings.TypeList, v.t.id == bindings.TypeMap:
		at := get[listEntry](v, row)
		all(&v.kids[0], int(at.offset), int(at.length))
	case v.t.id == bindings.TypeArray:
		all(&v.kids[0], row*v.t.size, v.t.size)
	default:
		for i := range v.kids {
			n += v.kids[i].size(row, most-n)
		}
	}
	return n
}

// isText reports whether values have variable length and are stored as strings.
func (t *typ) isText() bool {
	switch t.id {
	case bindings.TypeVarchar, bindings.TypeBlob, bindings.TypeGeometry, bindings.TypeBit, bindings.TypeBigNum:
		return true
	}
	return false
}

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

func (v *vector) decimal(row int) value.Decimal {
	var units *big.Int
	switch v.t.internal {
	case bindings.TypeSmallInt:
		units = big.NewInt(int64(get[int16](v, row)))
	case bindings.TypeInteger:
		units = big.NewInt(int64(get[int32](v, row)))
	case bindings.TypeBigInt:
		units = big.NewInt(get[int64](v, row))
	default:
		units = huge(get[hugeint](v, row))
	}
	return value.Decimal{Units: units, Scale: v.t.scale}
}

func (v *vector) word(row int) string {
	switch v.t.internal {
	case bindings.TypeUTinyInt:
		return v.t.words[get[uint8](v, row)]
	case bindings.TypeUSmallInt:
		return v.t.words[get[uint16](v, row)]
	}
	return v.t.words[get[uint32](v, row)]
}

func (v *vector) nested(row int) any {
	switch v.t.id {
	case bindings.TypeList:
		at := get[listEntry](v, row)
		return value.List(v.kids[0].slice(int(at.offset), int(at.length)))
	case bindings.TypeArray:
		return value.List(v.kids[0].slice(row*v.t.size, v.t.size))
	case bindings.TypeMap:
		at, entry := get[listEntry](v, row), &v.kids[0]
		return value.Map{
			Keys:   entry.kids[0].slice(int(at.offset), int(at.length)),
			Values: entry.kids[1].slice(int(at.offset), int(at.length)),
		}
	case bindings.TypeUnion:
		tag := get[uint8](&v.kids[0], row)
		return value.Union{Tag: v.t.names[tag], Value: v.kids[1+int(tag)].at(row)}
	}
	s := value.Struct{Names: v.t.names, Values: make([]any, len(v.kids))}
	for i := range v.kids {
		s.Values[i] = v.kids[i].at(row)
	}
	return s
}

func (v *vector) slice(from, n int) []any {
	out := make([]any, n)
	for i := range out {
		out[i] = v.at(from + i)
	}
	return out
}

// time decodes dates and times.
func (v *vector) time(row int) any {
	switch v.t.id {
	case bindings.TypeDate:
		days := get[int32](v, row)
		if inf, ok := infinite(int64(days), math.MaxInt32); ok {
			return inf
		}
		return value.Date(time.Unix(int64(days)*86_400, 0).UTC())
	case bindings.TypeTime:
		return value.Clock(get[int64](v, row) * 1_000)
	case bindings.TypeTimeNS:
		return value.Clock(get[int64](v, row))
	case bindings.TypeTimeTZ:
		// 40 bits of microseconds, then 24 of the offset, subtracted from its maximum so that the
		// bits sort like the instants.
		raw := get[uint64](v, row)
		const highest = 16*3600 - 1
		return value.ZonedClock{Clock: value.Clock(int64(raw>>24) * 1_000), Offset: highest - int(raw&0xffffff)}
	case bindings.TypeInterval:
		i := get[interval](v, row)
		return value.Interval{Months: i.months, Days: i.days, Micros: i.micros}
	}
	n := get[int64](v, row)
	if inf, ok := infinite(n, math.MaxInt64); ok {
		return inf
	}
	switch v.t.id {
	case bindings.TypeTimestampTZ:
		return time.UnixMicro(n).UTC()
	case bindings.TypeTimestampS:
		return value.LocalTime(time.Unix(n, 0).UTC())
	case bindings.TypeTimestampMS:
		return value.LocalTime(time.UnixMilli(n).UTC())
	case bindings.TypeTimestampNS:
		return value.LocalTime(time.Unix(0, n).UTC())
	}
	return value.LocalTime(time.UnixMicro(n).UTC())
}

func infinite(n, most int64) (value.Infinity, bool) {
	switch n {
	case most:
		return 1, true
	case -most:
		return -1, true
	}
	return 0, false
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

func huge(h hugeint) *big.Int {
	n := big.NewInt(int64(h.upper))
	return n.Add(n.Lsh(n, 64), new(big.Int).SetUint64(h.lower))
}

func uhuge(h hugeint) *big.Int {
	n := new(big.Int).SetUint64(h.upper)
	return n.Add(n.Lsh(n, 64), new(big.Int).SetUint64(h.lower))
}

// bignum decodes 3 header bytes, whose highest bit is set for non-negative numbers, and the
// big-endian magnitude. In negative numbers all bits are inverted.
func bignum(b []byte) *big.Int {
	if len(b) < 4 {
		return new(big.Int)
	}
	digits := b[3:]
	if b[0]&0x80 != 0 {
		return new(big.Int).SetBytes(digits)
	}
	for i := range digits {
		digits[i] = ^digits[i]
	}
	n := new(big.Int).SetBytes(digits)
	return n.Neg(n)
}

// bits decodes a bit string: the first byte is the number of padding bits, then come the bits,
// highest first.
func bits(s string) string {
	if s == "" {
		return ""
	}
	out := make([]byte, 0, len(s)*8)
	for i := int(s[0]); i < (len(s)-1)*8; i++ {
		out = append(out, '0'+s[1+i/8]>>(7-i%8)&1)
	}
	return string(out)
}

// uuid decodes a UUID: a signed number whose highest bit is flipped so that it sorts like its text.
func uuid(h hugeint) string {
	var b [16]byte
	upper := h.upper ^ 1<<63
	for i := range 8 {
		b[i] = byte(upper >> (56 - 8*i))
		b[8+i] = byte(h.lower >> (56 - 8*i))
	}
	s := hex.EncodeToString(b[:])
	return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
}
