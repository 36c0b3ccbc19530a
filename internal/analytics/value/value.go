package value

import (
	"fmt"
	"math/big"
	"strings"
	"time"
)

// Decimal is Units / 10^Scale.
type Decimal struct {
	Units *big.Int
	Scale uint8
}

// usualPlaces is the number of decimals kept when trailing zeros are trimmed.
const usualPlaces = 4

// String returns every digit and trailing zeros up to the fourth decimal: money has a scale of 18,
// hardly ever used.
func (d Decimal) String() string {
	s := d.Units.String()
	if d.Scale == 0 {
		return s
	}
	sign := ""
	if s[0] == '-' {
		sign, s = "-", s[1:]
	}
	if missing := int(d.Scale) + 1 - len(s); missing > 0 {
		s = strings.Repeat("0", missing) + s
	}
	point := len(s) - int(d.Scale)
	end := len(s)
	for end > point+usualPlaces && s[end-1] == '0' {
		end--
	}
	return sign + s[:point] + "." + s[point:end]
}

// Float returns the nearest float64.
func (d Decimal) Float() float64 {
	f, _ := new(big.Rat).SetFrac(d.Units, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(d.Scale)), nil)).Float64()
	return f
}

// JSON is the text of one JSON value.
type JSON string

// Date is a day, at midnight UTC.
type Date time.Time

// LocalTime is a date and time without a zone, held as UTC.
type LocalTime time.Time

// Micros is an instant, in microseconds since 1970.
type Micros int64

// Infinity is a date or timestamp before (-1) or after (+1) all others.
type Infinity int8

func (i Infinity) String() string {
	if i < 0 {
		return "-infinity"
	}
	return "infinity"
}

// Clock is a time of day, in nanoseconds since midnight.
type Clock int64

func (c Clock) String() string {
	s := int64(c) / 1e9
	return fmt.Sprintf("%02d:%02d:%02d", s/3600, s/60%60, s%60) + fraction(int(int64(c)%1e9))
}

// ZonedClock is a time of day at an offset from UTC, in seconds.
type ZonedClock struct {
	Clock  Clock
	Offset int
}

func (z ZonedClock) String() string {
	sign, off := '+', z.Offset
	if off < 0 {
		sign, off = '-', -off
	}
	s := fmt.Sprintf("%s%c%02d:%02d", z.Clock, sign, off/3600, off/60%60)
	if off%60 != 0 {
		s += fmt.Sprintf(":%02d", off%60)
	}
	return s
}

// Interval is a span of calendar months, days and microseconds.
type Interval struct {
	Months, Days int32
	Micros       int64
}

// String returns the interval in ISO 8601: P1Y2M3DT4H5M6.5S.
func (i Interval) String() string {
	var b strings.Builder
	b.WriteByte('P')
	part := func(n int64, unit byte) {
		if n != 0 {
			fmt.Fprintf(&b, "%d%c", n, unit)
		}
	}
	part(int64(i.Months/12), 'Y')
	part(int64(i.Months%12), 'M')
	part(int64(i.Days), 'D')
	if i.Micros != 0 {
		b.WriteByte('T')
		part(i.Micros/3_600_000_000, 'H')
		part(i.Micros/60_000_000%60, 'M')
		if us := i.Micros % 60_000_000; us != 0 {
			if us < 0 {
				b.WriteByte('-')
				us = -us
			}
			fmt.Fprintf(&b, "%d%sS", us/1e6, strings.TrimRight(fraction(int(us%1e6)*1000), "0"))
		}
	}
	if b.Len() == 1 {
		return "PT0S"
	}
	return b.String()
}

// List holds the elements of a LIST or an ARRAY.
type List []any

// Struct holds the fields of a STRUCT in order. Values may share the names.
type Struct struct {
	Names  []string
	Values []any
}

// Map holds the entries of a MAP in order.
type Map struct{ Keys, Values []any }

// Union is a value of a UNION and the name of its member.
type Union struct {
	Tag   string
	Value any
}

// fraction returns a fraction of a second in 0, 3, 6 or 9 digits, as needed.
func fraction(nanos int) string {
	switch {
	case nanos == 0:
		return ""
	case nanos%1_000_000 == 0:
		return fmt.Sprintf(".%03d", nanos/1_000_000)
	case nanos%1_000 == 0:
		return fmt.Sprintf(".%06d", nanos/1_000)
	}
	return fmt.Sprintf(".%09d", nanos)
}
