package value

import (
	"strconv"
	"time"
)

// Wall returns the date and time that clocks in loc show at an Instant, as UTC, and their offset
// from UTC in seconds.
func (v *Value) Wall(loc *time.Location) (wall time.Time, offset int) {
	t := v.Time()
	if loc == time.UTC {
		return t, 0
	}
	_, offset = t.In(loc).Zone()
	return t.Add(time.Duration(offset) * time.Second), offset
}

// Micros returns the microseconds of a Local or Instant since 1970.
func (v *Value) Micros() int64 {
	if v.Scale == 6 {
		return v.Int()
	}
	return v.Time().UnixMicro()
}

// Nanos returns the nanoseconds of a Clock or Zoned since midnight.
func (v *Value) Nanos() int64 {
	if v.Scale == 9 {
		return v.Int()
	}
	return v.Int() * 1000
}

// Interval returns a Span.
func Interval(months, days int32, micros int64) Value {
	return Value{Kind: Span, High: int64(months)<<32 | int64(uint32(days)), Low: uint64(micros)}
}

// Span returns the parts of a Span.
func (v *Value) Span() (months, days int32, micros int64) {
	return int32(v.High >> 32), int32(v.High), v.Int()
}

func (v *Value) appendZoned(dst []byte) []byte {
	dst = AppendFraction(AppendClock(dst, v.Nanos()/1e9), v.Nanos()%1e9, 3)
	return AppendOffset(dst, int(v.High), 2)
}

func appendLocal(dst []byte, t time.Time, separator byte) []byte {
	dst = append(AppendDay(dst, t), separator)
	dst = AppendTime(dst, t, 3)
	return appendEra(dst, t)
}

func appendZone(dst []byte, offset int) []byte {
	if offset == 0 {
		return append(dst, 'Z')
	}
	return AppendOffset(dst, offset/60*60, 2)
}

func appendEra(dst []byte, t time.Time) []byte {
	if t.Year() < 1 {
		dst = append(dst, " (BC)"...)
	}
	return dst
}

// AppendDay appends a day without its era; before 1 AD comes 1 BC, not year 0.
func AppendDay(dst []byte, t time.Time) []byte {
	y, m, d := t.Date()
	if y < 1 {
		y = 1 - y
	}
	if y > 9999 {
		dst = strconv.AppendInt(dst, int64(y), 10)
	} else {
		dst = two(two(dst, y/100), y%100)
	}
	dst = two(append(dst, '-'), int(m))
	return two(append(dst, '-'), d)
}

// AppendTime appends the time of a day; for step, see [AppendFraction].
func AppendTime(dst []byte, t time.Time, step int) []byte {
	h, m, s := t.Clock()
	return AppendFraction(AppendClock(dst, int64(h*3600+m*60+s)), int64(t.Nanosecond()), step)
}

// AppendClock appends seconds as hours, minutes and seconds.
func AppendClock(dst []byte, s int64) []byte {
	dst = append(two(dst, int(s/3600)), ':')
	dst = append(two(dst, int(s/60%60)), ':')
	return two(dst, int(s%60))
}

// AppendFraction appends a fraction of a second in as few digits as possible, a multiple of step;
// with step 1 up to microseconds, as Postgres does.
func AppendFraction(dst []byte, nanos int64, step int) []byte {
	if step == 1 {
		nanos -= nanos % 1000
	}
	if nanos == 0 {
		return dst
	}
	dst = append(dst, '.')
	for unit := int64(1e9); nanos > 0; {
		for range step {
			unit /= 10
			dst = append(dst, byte('0'+nanos/unit))
			nanos %= unit
		}
	}
	return dst
}

// AppendOffset appends an offset from UTC: the hours, and minutes and seconds if they are not 0 or
// there must be so many parts.
func AppendOffset(dst []byte, offset, parts int) []byte {
	sign := byte('+')
	if offset < 0 {
		sign, offset = '-', -offset
	}
	dst = two(append(dst, sign), offset/3600)
	if parts > 1 || offset%3600 != 0 {
		dst = two(append(dst, ':'), offset/60%60)
	}
	if offset%60 != 0 {
		dst = two(append(dst, ':'), offset%60)
	}
	return dst
}

func two(dst []byte, n int) []byte {
	if n > 99 { // hours
		return strconv.AppendInt(dst, int64(n), 10)
	}
	return append(dst, byte('0'+n/10), byte('0'+n%10))
}
