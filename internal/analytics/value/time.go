package value

import (
	"strconv"
	"time"
)

// Wall returns the local day (counted from 1970) and the nanoseconds of that day for a Day, a
// Local, an Instant, a Clock or a Zoned in loc, and the offset from UTC in seconds.
func (v *Value) Wall(loc *time.Location) (day, nanos int64, offset int) {
	if v.Kind == Day {
		return v.Int(), 0, 0
	}
	units := perSecond[v.Scale]
	s, rest := floorDiv(v.Int(), units)
	nanos = rest * (1e9 / units)
	switch v.Kind {
	case Clock, Zoned:
		return 0, s*1e9 + nanos, int(v.High) // of a Clock it is 0
	case Instant:
		if loc != time.UTC {
			_, offset = time.Unix(s, 0).In(loc).Zone()
		}
	}
	day, s = floorDiv(s+int64(offset), daySeconds)
	return day, s*1e9 + nanos, offset
}

// perSecond are the units of a second by their decimals.
var perSecond = [...]int64{0: 1, 3: 1e3, 6: 1e6, 9: 1e9}

func floorDiv(n, by int64) (whole, rest int64) {
	if whole, rest = n/by, n%by; rest < 0 {
		return whole - 1, rest + by
	}
	return whole, rest
}

const daySeconds = 86_400

// Micros returns the microseconds of a Local or Instant since 1970.
func (v *Value) Micros() int64 {
	if v.Scale == 6 {
		return v.Int()
	}
	return v.Time().UnixMicro()
}

// Interval returns a Span.
func Interval(months, days int32, micros int64) Value {
	return Value{Kind: Span, High: int64(months)<<32 | int64(uint32(days)), Low: uint64(micros)}
}

// Span returns the parts of a Span.
func (v *Value) Span() (months, days int32, micros int64) {
	return int32(v.High >> 32), int32(v.High), v.Int()
}

// firstDay is 0001-01-01.
const firstDay = -719_162

// AppendDay appends a day; before 1 AD comes 1 BC, not year 0.
func AppendDay(dst []byte, day int64) []byte {
	year, m, d := time.Unix(day*daySeconds, 0).UTC().Date()
	if year < 1 {
		year = 1 - year
	}
	dst = append(two(two(dst, year/100), year%100), '-')
	dst = append(two(dst, int(m)), '-')
	return two(dst, d)
}

// AppendEra appends a text to days before 1 AD.
func AppendEra(dst []byte, day int64, era string) []byte {
	if day < firstDay {
		dst = append(dst, era...)
	}
	return dst
}

// AppendTime appends nanoseconds as a time of day; for step, see [AppendFraction].
func AppendTime(dst []byte, nanos int64, step int) []byte {
	return AppendFraction(AppendClock(dst, nanos/1e9), nanos%1e9, step)
}

// AppendClock appends seconds as hours, minutes and seconds.
func AppendClock(dst []byte, s int64) []byte {
	dst = append(two(dst, int(s/3600)), ':')
	dst = append(two(dst, int(s/60%60)), ':')
	return two(dst, int(s%60))
}

// AppendFraction appends a fraction of a second in as few digits as possible, whose number is a
// multiple of step; with step 1, at most microseconds, as Postgres does.
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

// AppendOffset appends an offset from UTC: the hours, and minutes and seconds if they are not 0 or parts requires them.
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
