package cell

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
	case value.Float: // Postgres uses an exponent if the shortest digits need more places than this
		if v.Scale == 32 {
			return v.AppendFloat(dst, 1e-4, 1e6)
		}
		return v.AppendFloat(dst, 1e-4, 1e15)
	case value.Bytes:
		return hex.AppendEncode(append(dst, `\x`...), []byte(v.Text))
	case value.Day:
		return appendEra(value.AppendDay(dst, v.Time()), v.Time())
	case value.Local:
		return appendLocal(dst, v.Time(), "")
	case value.Instant:
		wall, offset := v.Wall(loc)
		return appendLocal(dst, wall, string(value.AppendOffset(make([]byte, 0, 9), offset, 1)))
	case value.Clock:
		return appendClock(dst, v)
	case value.Zoned:
		return value.AppendOffset(appendClock(dst, v), int(v.High), 1)
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

func appendEra(dst []byte, t time.Time) []byte {
	if t.Year() < 1 {
		dst = append(dst, " BC"...)
	}
	return dst
}

// appendLocal writes a date and time, an offset, and the era.
func appendLocal(dst []byte, t time.Time, offset string) []byte {
	dst = value.AppendTime(append(value.AppendDay(dst, t), ' '), t, 1)
	return appendEra(append(dst, offset...), t)
}

func appendClock(dst []byte, v *value.Value) []byte {
	return value.AppendFraction(value.AppendClock(dst, v.Nanos()/1e9), v.Nanos()%1e9, 1)
}

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
