package value

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"time"
)

// usualPlaces is the number of decimals kept when trailing zeros are trimmed: money has a scale of 18, hardly ever used.
const usualPlaces = 4

// AppendText appends the exact text of a Go value, as [Value.AppendText] does.
func AppendText(dst []byte, x any, loc *time.Location) []byte {
	v := Of(x)
	return v.AppendText(dst, loc)
}

// AppendText appends a value's exact text for CSV. Instants are RFC 3339 in loc; null is empty; nested values are JSON.
func (v *Value) AppendText(dst []byte, loc *time.Location) []byte {
	switch v.Kind {
	case Null:
		return dst
	case Bool:
		return strconv.AppendBool(dst, v.Low != 0)
	case Integer, Exact:
		return v.AppendNumber(dst, usualPlaces)
	case Float:
		if v.Scale == 32 {
			return v.AppendFloat(dst, 0, 0)
		}
		return v.AppendFloat(dst, 1e-6, 1e17)
	case Text, Document:
		return append(dst, v.Text...)
	case UUID:
		return v.appendUUID(dst)
	case Bytes:
		return appendBlob(dst, v.Text)
	case Day:
		return AppendEra(AppendDay(dst, v.Int()), v.Int(), era)
	case Local, Instant:
		return v.appendLocal(dst, 'T', loc)
	case Infinite:
		if v.High < 0 {
			dst = append(dst, '-')
		}
		return append(dst, "infinity"...)
	case Clock, Zoned:
		_, nanos, offset := v.Wall(nil)
		if dst = AppendTime(dst, nanos, 3); v.Kind == Clock {
			return dst
		}
		return AppendOffset(dst, offset, 2)
	case Span:
		return v.appendSpan(dst)
	}
	return v.AppendJSON(dst, loc)
}

// AppendHuman is like AppendText, but separates a date from a time by a space.
func (v *Value) AppendHuman(dst []byte, loc *time.Location) []byte {
	if v.Kind == Local || v.Kind == Instant {
		return v.appendLocal(dst, ' ', loc)
	}
	return v.AppendText(dst, loc)
}

// appendLocal appends a Local, or an Instant with its offset.
func (v *Value) appendLocal(dst []byte, separator byte, loc *time.Location) []byte {
	day, nanos, offset := v.Wall(loc)
	if separator == 'T' && offset%60 != 0 { // RFC 3339 has no seconds in offsets (historic local mean times)
		day, nanos, offset = v.Wall(time.UTC)
	}
	dst = AppendTime(append(AppendDay(dst, day), separator), nanos, 3)
	switch dst = AppendEra(dst, day, era); {
	case v.Kind == Local:
		return dst
	case offset == 0:
		return append(dst, 'Z')
	}
	return AppendOffset(dst, offset/60*60, 2)
}

// era marks days before 1 AD.
const era = " (BC)"

// AppendNumber appends an Integer or Exact with at least the given number of decimals, and more only if they are not 0.
func (v *Value) AppendNumber(dst []byte, least int) []byte {
	if v.High == int64(v.Low)>>63 && v.Kind == Integer {
		return strconv.AppendInt(dst, v.Int(), 10)
	}
	var buf [48]byte
	digits, decimals, negative := v.Digits(buf[:0])
	if negative {
		dst = append(dst, '-')
	}
	if decimals == 0 {
		return append(dst, digits...)
	}
	point := len(digits) - decimals
	for len(digits) > point+least && digits[len(digits)-1] == '0' {
		digits = digits[:len(digits)-1]
	}
	dst = append(dst, digits[:point]...)
	if len(digits) == point {
		return dst
	}
	return append(append(dst, '.'), digits[point:]...)
}

// AppendFloat appends the shortest text that parses to the same number, without an exponent from
// low up to, but excluding, high.
func (v *Value) AppendFloat(dst []byte, low, high float64) []byte {
	f := v.Float()
	switch a := math.Abs(f); {
	case math.IsNaN(f):
		return append(dst, "NaN"...)
	case math.IsInf(f, 0):
		if f < 0 {
			dst = append(dst, '-')
		}
		return append(dst, "Infinity"...)
	case a == 0 || a >= low && a < high:
		return strconv.AppendFloat(dst, f, 'f', -1, int(v.Scale))
	}
	return strconv.AppendFloat(dst, f, 'g', -1, int(v.Scale))
}

// Odd reports whether a Float is NaN or infinite.
func (v *Value) Odd() bool { return math.IsNaN(v.Float()) || math.IsInf(v.Float(), 0) }

func (v *Value) appendUUID(dst []byte) []byte {
	b := v.AppendBits(make([]byte, 0, 16))
	for i, group := range [][]byte{b[:4], b[4:6], b[6:8], b[8:10], b[10:]} {
		if i > 0 {
			dst = append(dst, '-')
		}
		dst = hex.AppendEncode(dst, group)
	}
	return dst
}

// AppendBits appends High and Low, big-endian.
func (v *Value) AppendBits(dst []byte) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(dst, uint64(v.High)), v.Low)
}

// appendBlob writes printable ASCII unchanged and other bytes as \xFF, like DuckDB.
func appendBlob(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '\\' || c == '"' || c == '\'' {
			dst = fmt.Appendf(dst, `\x%02X`, c)
		} else {
			dst = append(dst, c)
		}
	}
	return dst
}

// appendSpan writes ISO 8601: P1Y2M3DT4H5M6.5S.
func (v *Value) appendSpan(dst []byte) []byte {
	months, days, micros := v.Span()
	dst = append(dst, 'P')
	start := len(dst)
	part := func(n int64, unit byte) {
		if n != 0 {
			dst = append(strconv.AppendInt(dst, n, 10), unit)
		}
	}
	part(int64(months/12), 'Y')
	part(int64(months%12), 'M')
	part(int64(days), 'D')
	if micros != 0 {
		dst = append(dst, 'T')
		part(micros/3_600_000_000, 'H')
		part(micros/60_000_000%60, 'M')
		if us := micros % 60_000_000; us != 0 {
			if us < 0 {
				dst, us = append(dst, '-'), -us
			}
			dst = append(AppendFraction(strconv.AppendInt(dst, us/1e6, 10), us%1e6*1000, 1), 'S')
		}
	}
	if len(dst) == start {
		return append(dst, "T0S"...)
	}
	return dst
}
