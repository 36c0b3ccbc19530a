// Package localtime tells, as SQL, the wall clock's time of the calls of a snapshot in a
// zone. It runs nothing.
package localtime

import (
	"fmt"
	"strings"
	"time"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
)

// maxOffsets bounds the table of a zone's offsets: 100 years of summer times.
const maxOffsets = 200

// Macro returns the statement that makes the macro local_time for a
// zone. Between the first and the last call it adds the offset that the zone had
// at the time; beyond, it asks DuckDB's calendar. The result is the same, but
// the calendar takes 400 ns a row.
func Macro(loc *time.Location, m *layout.Manifest) string {
	const calendar = "timezone(local_zone(), instant)"
	lo, hi := m.Starts()
	offsets := offsetsOf(loc, lo, hi)
	if offsets == nil {
		return "CREATE MACRO local_time(instant) AS " + calendar
	}
	var b strings.Builder
	fmt.Fprintf(&b, "CREATE MACRO local_time(instant) AS CASE WHEN epoch_ms(instant) < %d THEN %s", lo, calendar)
	for _, o := range offsets {
		fmt.Fprintf(&b, " WHEN epoch_ms(instant) < %d THEN make_timestamp(epoch_us(instant) + %d)", o.until, o.seconds*1_000_000)
	}
	fmt.Fprintf(&b, " ELSE %s END", calendar)
	return b.String()
}

// Micros returns, as SQL, the wall clock's time at a stored call's start_at
// in microseconds since 1970: what local_time tells, for no other instants than
// those between the first and the last call, and so without asking for more.
func Micros(loc *time.Location, m *layout.Manifest) string {
	lo, hi := m.Starts()
	offsets := offsetsOf(loc, lo, hi)
	if len(offsets) == 0 {
		return "epoch_us(local_time(start_at))"
	}
	return wallMicros("start_at", offsets, func(until int64) string { return "start_at < " + Instant(time.UnixMilli(until)) })
}

// wallMicros returns, as SQL, the wall clock's time at an instant that one of the
// offsets holds for. before is the condition that the instant lies before until.
func wallMicros(at string, offsets []offset, before func(until int64) string) string {
	text := "epoch_us(" + at + ") + "
	last := offsets[len(offsets)-1].seconds * 1_000_000
	if len(offsets) == 1 {
		return text + fmt.Sprint(last)
	}
	text += "CASE"
	for _, o := range offsets[:len(offsets)-1] {
		text += fmt.Sprintf(" WHEN %s THEN %d", before(o.until), o.seconds*1_000_000)
	}
	return text + fmt.Sprintf(" ELSE %d END", last)
}

// InQuarters says whether all calls that start in the same quarter of an hour
// have the same wall clock's hour: the zone was ahead of UTC by quarters of an
// hour, and changed at the end of one.
func InQuarters(loc *time.Location, m *layout.Manifest) bool {
	lo, hi := m.Starts()
	offsets := offsetsOf(loc, lo, hi)
	for i, o := range offsets {
		if o.seconds*1000%schema.Quarter != 0 || i < len(offsets)-1 && o.until%schema.Quarter != 0 {
			return false
		}
	}
	return len(offsets) > 0
}

// offset is what a zone is ahead of UTC, until an instant in ms.
type offset struct {
	until   int64
	seconds int
}

// offsetsOf returns a zone's offsets from lo to hi, in order; nil where there
// are none, or too many.
func offsetsOf(loc *time.Location, lo, hi int64) []offset {
	var out []offset
	for at := lo; at < hi; {
		t := time.UnixMilli(at).In(loc)
		_, seconds := t.Zone()
		until := hi
		if _, end := t.ZoneBounds(); !end.IsZero() {
			until = min(hi, end.UnixMilli())
		}
		if out = append(out, offset{until, seconds}); len(out) > maxOffsets {
			return nil
		}
		at = until
	}
	return out
}

// FixedMacro returns the statement that makes the macro local_time for a zone so
// that it needs no calendar: the snapshot holds no call before the first of the
// zone's offsets nor after the last.
func FixedMacro(loc *time.Location, m *layout.Manifest) string {
	lo, hi := m.Starts()
	offsets := offsetsOf(loc, lo, hi)
	var text string
	switch {
	case len(offsets) > 0:
		text = "make_timestamp(" + wallMicros("instant", offsets,
			func(until int64) string { return fmt.Sprint("epoch_ms(instant) < ", until) }) + ")"
	case lo > hi: // no call has a start
		text = "make_timestamp(epoch_us(instant))"
	default: // more than 100 years of summer times: this one needs a calendar
		text = "timezone('" + loc.String() + "', instant)" // no zone's name has a quote
	}
	return "CREATE MACRO local_time(instant) AS " + text
}

// Instant returns t as a literal of SQL.
func Instant(t time.Time) string {
	return "TIMESTAMPTZ '" + t.UTC().Format("2006-01-02 15:04:05.999999") + "+00'"
}
