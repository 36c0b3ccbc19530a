package postgres

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"callhouse/internal/analytics/value"
)

// epoch is Postgres' epoch: 2000-01-01.
const (
	epochDays   = 10_957
	epochMicros = epochDays * 86_400 * 1_000_000
)

var be = binary.BigEndian

// AppendBinary appends a value in the binary form of its type. It fails if the type cannot hold the
// value.
func (t Type) AppendBinary(dst []byte, v *value.Value, loc *time.Location) ([]byte, error) {
	switch {
	case t.OID == TextType.OID, t.OID == json.OID: // the binary form is the same
		return t.AppendText(dst, v, loc), nil
	case v.Kind == value.Integer && t.OID == numeric.OID, v.Kind == value.Exact:
		return appendNumeric(dst, v), nil
	case v.Kind == value.Integer, v.Kind == value.Bool:
		return t.appendWhole(dst, v.Int())
	case v.Kind == value.Float && t.OID == float8.OID:
		return be.AppendUint64(dst, v.Low), nil
	case v.Kind == value.Float && t.OID == float4.OID:
		return be.AppendUint32(dst, math.Float32bits(float32(v.Float()))), nil
	case v.Kind == value.Text, v.Kind == value.Bytes:
		return append(dst, v.Text...), nil
	case v.Kind == value.Instant, v.Kind == value.Local:
		return be.AppendUint64(dst, uint64(v.Micros()-epochMicros)), nil
	case v.Kind == value.Day:
		return t.appendWhole(dst, v.Int()-epochDays)
	case v.Kind == value.Infinite:
		most := int64(math.MaxInt64)
		if t.OID == date.OID {
			most = math.MaxInt32
		}
		if v.High < 0 {
			most = -most - 1
		}
		return t.appendWhole(dst, most)
	case v.Kind == value.Clock, v.Kind == value.Zoned:
		_, nanos, offset := v.Wall(loc)
		if dst = be.AppendUint64(dst, uint64(nanos/1000)); v.Kind == value.Zoned {
			dst = be.AppendUint32(dst, uint32(-offset))
		}
		return dst, nil
	case v.Kind == value.Span:
		months, days, micros := v.Span()
		return be.AppendUint32(be.AppendUint32(be.AppendUint64(dst, uint64(micros)), uint32(days)), uint32(months)), nil
	case v.Kind == value.List && t.Elem != nil:
		return t.appendBinaryArray(dst, v.Nest.Values, loc)
	case v.Kind == value.UUID:
		return v.AppendBits(dst), nil
	}
	return nil, fmt.Errorf("a value of %s cannot be sent in binary", t.Name)
}

// appendWhole appends a whole number in the size of the type.
func (t Type) appendWhole(dst []byte, n int64) ([]byte, error) {
	switch t.Size {
	case 1:
		return append(dst, byte(n)), nil
	case 2:
		return be.AppendUint16(dst, uint16(n)), nil
	case 4:
		return be.AppendUint32(dst, uint32(n)), nil
	case 8:
		return be.AppendUint64(dst, uint64(n)), nil
	}
	return nil, fmt.Errorf("a value of %s cannot be sent in binary", t.Name)
}

func (t Type) appendBinaryArray(dst []byte, l []value.Value, loc *time.Location) (_ []byte, err error) {
	nulls := uint32(0)
	for i := range l {
		if l[i].Kind == value.Null {
			nulls = 1
		}
	}
	dimensions := uint32(1)
	if len(l) == 0 {
		dimensions = 0
	}
	dst = be.AppendUint32(be.AppendUint32(be.AppendUint32(dst, dimensions), nulls), t.Elem.OID)
	if len(l) == 0 {
		return dst, nil
	}
	first := uint32(1)
	if t.OID == int2vector.OID {
		first = 0
	}
	dst = be.AppendUint32(be.AppendUint32(dst, uint32(len(l))), first)
	for i := range l {
		at := len(dst)
		dst = be.AppendUint32(dst, math.MaxUint32) // the length of null
		if l[i].Kind == value.Null {
			continue
		}
		if dst, err = t.Elem.AppendBinary(dst, &l[i], loc); err != nil {
			return nil, err
		}
		be.PutUint32(dst[at:], uint32(len(dst)-at-4))
	}
	return dst, nil
}

// appendNumeric writes a number: the number of digits of base 10,000, the power of the first, the
// sign, the scale, the digits.
func appendNumeric(dst []byte, v *value.Value) []byte {
	var buf [48]byte
	text, scale, negative := v.Digits(buf[:0])
	point := len(text) - scale
	start := len(dst)
	weight := (point+3)/4 - 1
	dst = be.AppendUint16(be.AppendUint16(dst, 0), 0)
	sign := uint16(0)
	if negative {
		sign = 0x4000
	}
	dst = be.AppendUint16(be.AppendUint16(dst, sign), uint16(scale))
	end := len(dst)                                           // after the last digit that is not 0
	for at := point - 4*(weight+1); at < len(text); at += 4 { // digits are aligned at the decimal point
		digit := uint16(0)
		for i := at; i < at+4; i++ {
			if digit *= 10; i >= 0 && i < len(text) {
				digit += uint16(text[i] - '0')
			}
		}
		if digit == 0 && len(dst) == start+8 {
			weight--
			continue
		}
		if dst = be.AppendUint16(dst, digit); digit > 0 {
			end = len(dst)
		}
	}
	if end == start+8 {
		weight = 0
	}
	be.PutUint16(dst[start:], uint16((end-start-8)/2))
	be.PutUint16(dst[start+2:], uint16(weight))
	return dst[:end]
}
