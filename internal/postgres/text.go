package postgres

import (
	"encoding/hex"
	"math"
	"strconv"
	"strings"
	"time"

	"callhouse/internal/analytics/value"
)

// AppendText appends a value in Postgres' text form. Instants are in loc.
func (t Type) AppendText(dst []byte, v *value.Value, loc *time.Location) []byte {
	switch v.Kind {
	case value.Text, value.Integer, value.Document:
		return v.AppendText(dst, loc)
	case value.Bool:
		if v.Low != 0 {
			return append(dst, 't')
		}
		return append(dst, 'f')
	case value.Exact:
		return v.AppendNumber(dst, math.MaxUint8)
	case value.Float: // Postgres uses an exponent if the shortest digits need more decimal places than this
		if v.Scale == 32 {
			return v.AppendFloat(dst, 1e-4, 1e6)
		}
		return v.AppendFloat(dst, 1e-4, 1e15)
	case value.Bytes:
		return hex.AppendEncode(append(dst, `\x`...), []byte(v.Text))
	case value.Day:
		return value.AppendEra(value.AppendDay(dst, v.Int()), v.Int(), era)
	case value.Local, value.Instant:
		day, nanos, offset := v.Wall(loc)
		dst = value.AppendTime(append(value.AppendDay(dst, day), ' '), nanos, 1)
		if v.Kind == value.Instant {
			dst = value.AppendOffset(dst, offset, 1)
		}
		return value.AppendEra(dst, day, era)
	case value.Clock, value.Zoned:
		_, nanos, offset := v.Wall(loc)
		if dst = value.AppendTime(dst, nanos, 1); v.Kind == value.Clock {
			return dst
		}
		return value.AppendOffset(dst, offset, 1)
	case value.Span:
		return appendInterval(dst, v)
	case value.List:
		if t.Elem != nil {
			return t.appendArray(dst, v.Nest.Values, loc)
		}
	}
	if t.OID == json.OID {
		return v.AppendJSON(dst, loc)
	}
	return v.AppendText(dst, loc)
}

// era marks days before 1 AD.
const era = " BC"

func appendInterval(dst []byte, v *value.Value) []byte {
	months, days, us := v.Span()
	start := len(dst)
	part := func(n int32, one, many string) {
		if n == 0 {
			return
		}
		if len(dst) > start {
			dst = append(dst, ' ')
		}
		if n == 1 {
			many = one
		}
		dst = append(append(strconv.AppendInt(dst, int64(n), 10), ' '), many...)
	}
	part(months/12, "year", "years")
	part(months%12, "mon", "mons")
	part(days, "day", "days")
	if us != 0 || len(dst) == start {
		if len(dst) > start {
			dst = append(dst, ' ')
		}
		if us < 0 {
			dst, us = append(dst, '-'), -us
		}
		dst = value.AppendFraction(value.AppendClock(dst, us/1e6), us%1e6*1000, 1)
	}
	return dst
}

// appendArray writes a list as {a,"b c",NULL}.
func (t Type) appendArray(dst []byte, l []value.Value, loc *time.Location) []byte {
	if t.OID == int2vector.OID { // written as 1 2
		for i := range l {
			if i > 0 {
				dst = append(dst, ' ')
			}
			dst = t.Elem.AppendText(dst, &l[i], loc)
		}
		return dst
	}
	dst = append(dst, '{')
	for i := range l {
		if i > 0 {
			dst = append(dst, ',')
		}
		if l[i].Kind == value.Null {
			dst = append(dst, "NULL"...)
			continue
		}
		at := len(dst)
		dst = t.Elem.AppendText(dst, &l[i], loc)
		text := string(dst[at:])
		if text == "" || strings.EqualFold(text, "null") || strings.ContainsAny(text, "{}\",\\ \t\n\r\v\f") {
			dst = append(dst[:at], '"')
			for i := range len(text) {
				if text[i] == '"' || text[i] == '\\' {
					dst = append(dst, '\\')
				}
				dst = append(dst, text[i])
			}
			dst = append(dst, '"')
		}
	}
	return append(dst, '}')
}
