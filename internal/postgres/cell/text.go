package cell

import (
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"callhouse/internal/analytics/value"
)

// AppendText appends a value in Postgres' text form. Instants are in loc.
func (t Type) AppendText(dst []byte, v any, loc *time.Location) []byte {
	switch v := v.(type) {
	case *string:
		return append(dst, *v...)
	case *int64:
		return strconv.AppendInt(dst, *v, 10)
	case *value.Micros:
		return appendInstant(dst, time.UnixMicro(int64(*v)), loc)
	case string:
		return append(dst, v...)
	case value.JSON:
		return append(dst, v...)
	case int64:
		return strconv.AppendInt(dst, v, 10)
	case bool:
		if v {
			return append(dst, 't')
		}
		return append(dst, 'f')
	case time.Time:
		return appendInstant(dst, v, loc)
	case value.Decimal:
		return appendDecimal(dst, v)
	case float64:
		return appendFloat(dst, v, 64)
	case float32:
		return appendFloat(dst, float64(v), 32)
	case value.Date:
		return appendEra(appendDay(dst, time.Time(v)), time.Time(v))
	case value.LocalTime:
		return appendEra(appendClock(append(appendDay(dst, time.Time(v)), ' '), time.Time(v)), time.Time(v))
	case value.Clock:
		return appendClock(dst, clock(v))
	case value.ZonedClock:
		return appendOffset(appendClock(dst, clock(v.Clock)), v.Offset)
	case value.Interval:
		return appendInterval(dst, v)
	case []byte:
		return hex.AppendEncode(append(dst, `\x`...), v)
	case value.List:
		if t.Elem != nil {
			return t.appendArray(dst, v, loc)
		}
	}
	if t.OID == json.OID {
		return value.AppendJSON(dst, v, loc)
	}
	return value.AppendText(dst, v, loc)
}

func appendFloat(dst []byte, f float64, bits int) []byte {
	switch {
	case math.IsInf(f, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(f, -1):
		return append(dst, "-Infinity"...)
	}
	// Postgres uses an exponent if the shortest digits need more places than this.
	digits := 15
	if bits == 32 {
		digits = 6
	}
	if a := math.Abs(f); a == 0 || a >= 1e-4 && a < math.Pow10(digits) {
		return strconv.AppendFloat(dst, f, 'f', -1, bits)
	}
	return strconv.AppendFloat(dst, f, 'g', -1, bits)
}

// appendDecimal writes all places of the scale, as Postgres does.
func appendDecimal(dst []byte, d value.Decimal) []byte {
	if d.Scale == 0 {
		return d.Units.Append(dst, 10)
	}
	var buf [48]byte
	digits := new(big.Int).Abs(d.Units).Append(buf[:0], 10)
	if d.Units.Sign() < 0 {
		dst = append(dst, '-')
	}
	whole := len(digits) - int(d.Scale)
	if whole <= 0 {
		dst = append(dst, '0', '.')
		for ; whole < 0; whole++ {
			dst = append(dst, '0')
		}
		return append(dst, digits...)
	}
	dst = append(append(dst, digits[:whole]...), '.')
	return append(dst, digits[whole:]...)
}

func clock(c value.Clock) time.Time { return time.Unix(0, 0).UTC().Add(time.Duration(c)) }

func two(dst []byte, n int) []byte { return append(dst, byte('0'+n/10), byte('0'+n%10)) }

func appendDay(dst []byte, t time.Time) []byte {
	y, m, d := t.Date()
	if y < 1 {
		y = 1 - y
	}
	if y < 1000 || y > 9999 {
		dst = fmt.Appendf(dst, "%04d", y)
	} else {
		dst = two(two(dst, y/100), y%100)
	}
	dst = two(append(dst, '-'), int(m))
	return two(append(dst, '-'), d)
}

func appendEra(dst []byte, t time.Time) []byte {
	if t.Year() < 1 {
		dst = append(dst, " BC"...)
	}
	return dst
}

// appendClock writes a time of day with the necessary digits of its fraction.
func appendClock(dst []byte, t time.Time) []byte {
	h, m, s := t.Clock()
	dst = two(append(two(append(two(dst, h), ':'), m), ':'), s)
	return appendMicros(dst, t.Nanosecond()/1000)
}

func appendMicros(dst []byte, us int) []byte {
	if us == 0 {
		return dst
	}
	dst = append(dst, '.')
	for unit := 100_000; us > 0; unit /= 10 {
		dst = append(dst, byte('0'+us/unit))
		us %= unit
	}
	return dst
}

func appendInstant(dst []byte, t time.Time, loc *time.Location) []byte {
	t = t.In(loc)
	dst = append(appendDay(dst, t), ' ')
	_, offset := t.Zone()
	return appendEra(appendOffset(appendClock(dst, t), offset), t)
}

func appendOffset(dst []byte, offset int) []byte {
	sign := byte('+')
	if offset < 0 {
		sign, offset = '-', -offset
	}
	dst = two(append(dst, sign), offset/3600)
	if offset%3600 != 0 {
		dst = two(append(dst, ':'), offset/60%60)
	}
	if offset%60 != 0 {
		dst = two(append(dst, ':'), offset%60)
	}
	return dst
}

func appendInterval(dst []byte, i value.Interval) []byte {
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
	part(i.Months/12, "year", "years")
	part(i.Months%12, "mon", "mons")
	part(i.Days, "day", "days")
	if us := i.Micros; us != 0 || len(dst) == start {
		if len(dst) > start {
			dst = append(dst, ' ')
		}
		if us < 0 {
			dst, us = append(dst, '-'), -us
		}
		h := us / 3_600_000_000
		if h < 10 {
			dst = append(dst, '0')
		}
		dst = append(strconv.AppendInt(dst, h, 10), ':')
		dst = append(two(dst, int(us/60_000_000%60)), ':')
		dst = appendMicros(two(dst, int(us/1_000_000%60)), int(us%1_000_000))
	}
	return dst
}

// appendArray writes a list as {a,"b c",NULL}.
func (t Type) appendArray(dst []byte, l value.List, loc *time.Location) []byte {
	if t.OID == int2vector.OID { // written as 1 2
		for i, v := range l {
			if i > 0 {
				dst = append(dst, ' ')
			}
			dst = t.Elem.AppendText(dst, v, loc)
		}
		return dst
	}
	dst = append(dst, '{')
	for i, v := range l {
		if i > 0 {
			dst = append(dst, ',')
		}
		if v == nil {
			dst = append(dst, "NULL"...)
			continue
		}
		at := len(dst)
		dst = t.Elem.AppendText(dst, v, loc)
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
