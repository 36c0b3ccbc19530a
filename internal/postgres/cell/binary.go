package cell

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"strings"
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
func (t Type) AppendBinary(dst []byte, v any, loc *time.Location) ([]byte, error) {
	switch v := v.(type) {
	case bool:
		if v {
			return append(dst, 1), nil
		}
		return append(dst, 0), nil
	case *string:
		return append(dst, *v...), nil // text types have no other binary form
	case *value.Micros:
		return be.AppendUint64(dst, uint64(*v-epochMicros)), nil
	case *int64:
		return t.appendInteger(dst, *v)
	case int64:
		return t.appendInteger(dst, v)
	case float64:
		if t.OID != float8.OID {
			break
		}
		return be.AppendUint64(dst, math.Float64bits(v)), nil
	case float32:
		return be.AppendUint32(dst, math.Float32bits(v)), nil
	case uint64:
		return appendNumeric(dst, new(big.Int).SetUint64(v), 0), nil
	case *big.Int:
		return appendNumeric(dst, v, 0), nil
	case value.Decimal:
		return appendNumeric(dst, v.Units, int(v.Scale)), nil
	case []byte:
		return append(dst, v...), nil
	case time.Time:
		return be.AppendUint64(dst, uint64(v.UnixMicro()-epochMicros)), nil
	case value.LocalTime:
		return be.AppendUint64(dst, uint64(time.Time(v).UnixMicro()-epochMicros)), nil
	case value.Date:
		return be.AppendUint32(dst, uint32(time.Time(v).Unix()/86_400-epochDays)), nil
	case value.Infinity:
		return t.appendInfinity(dst, v), nil
	case value.Clock:
		return be.AppendUint64(dst, uint64(v/1000)), nil
	case value.ZonedClock:
		return be.AppendUint32(be.AppendUint64(dst, uint64(v.Clock/1000)), uint32(-v.Offset)), nil
	case value.Interval:
		return be.AppendUint32(be.AppendUint32(be.AppendUint64(dst, uint64(v.Micros)), uint32(v.Days)), uint32(v.Months)), nil
	case value.List:
		if t.Elem != nil {
			return t.appendBinaryArray(dst, v, loc)
		}
	case string:
		if t.OID == uuid.OID {
			raw, err := hex.DecodeString(strings.ReplaceAll(v, "-", ""))
			return append(dst, raw...), err
		}
	}
	if t.OID != Text.OID && t.OID != json.OID {
		return nil, fmt.Errorf("a value of %s cannot be sent in binary", t.Name)
	}
	return t.AppendText(dst, v, loc), nil
}

func (t Type) appendInteger(dst []byte, n int64) ([]byte, error) {
	switch t.Size {
	case 2:
		return be.AppendUint16(dst, uint16(n)), nil
	case 4:
		return be.AppendUint32(dst, uint32(n)), nil
	case 8:
		return be.AppendUint64(dst, uint64(n)), nil
	}
	return nil, fmt.Errorf("a value of %s cannot be sent in binary", t.Name)
}

func (t Type) appendInfinity(dst []byte, v value.Infinity) []byte {
	if t.OID == date.OID {
		n := int32(math.MaxInt32)
		if v < 0 {
			n = math.MinInt32
		}
		return be.AppendUint32(dst, uint32(n))
	}
	n := int64(math.MaxInt64)
	if v < 0 {
		n = math.MinInt64
	}
	return be.AppendUint64(dst, uint64(n))
}

func (t Type) appendBinaryArray(dst []byte, l value.List, loc *time.Location) (_ []byte, err error) {
	nulls := uint32(0)
	for _, v := range l {
		if v == nil {
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
	for _, v := range l {
		at := len(dst)
		dst = be.AppendUint32(dst, math.MaxUint32) // the length of null
		if v == nil {
			continue
		}
		if dst, err = t.Elem.AppendBinary(dst, v, loc); err != nil {
			return nil, err
		}
		be.PutUint32(dst[at:], uint32(len(dst)-at-4))
	}
	return dst, nil
}

var tenThousand = big.NewInt(10_000)

// appendNumeric writes units / 10^scale: the number of digits of base 10,000, the power of the
// first, the sign, the scale, the digits.
func appendNumeric(dst []byte, units *big.Int, scale int) []byte {
	n := new(big.Int).Abs(units)
	// Digits are aligned at the decimal point, so the fraction is padded to whole ones.
	places := (scale + 3) / 4
	if fill := places*4 - scale; fill > 0 {
		n.Mul(n, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(fill)), nil))
	}
	var digits []uint16 // least significant first
	for digit := new(big.Int); n.Sign() > 0; {
		n.DivMod(n, tenThousand, digit)
		digits = append(digits, uint16(digit.Uint64()))
	}
	weight := len(digits) - places - 1
	for len(digits) > 0 && digits[0] == 0 {
		digits = digits[1:]
	}
	if len(digits) == 0 {
		weight = 0
	}
	sign := uint16(0)
	if units.Sign() < 0 {
		sign = 0x4000
	}
	dst = be.AppendUint16(be.AppendUint16(dst, uint16(len(digits))), uint16(weight))
	dst = be.AppendUint16(be.AppendUint16(dst, sign), uint16(scale))
	for i := len(digits) - 1; i >= 0; i-- {
		dst = be.AppendUint16(dst, digits[i])
	}
	return dst
}
