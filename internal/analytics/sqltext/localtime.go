package sqltext

import (
	"fmt"
	"time"

	"callhouse/internal/layout"
)

// maxOffsets bounds the table of a zone's offsets: 100 years of daylight saving.
const maxOffsets = 200

// LocalTime returns the statement that creates the macro local_time for a zone. Between the first and the last call it adds the
// zone's offset; outside, it uses DuckDB's calendar, which takes 400 ns per row and an extension. With onlyCalls, the macro
// is only valid for the calls, and needs no calendar.
func LocalTime(loc *time.Location, m *layout.Manifest, onlyCalls bool) string {
	lo, hi := m.Starts()
	if onlyCalls && lo <= hi {
		hi = max(hi, m.CommittedAt.UnixMilli())
	}
	offsets := offsetsOf(loc, lo, hi)
	text := "timezone('" + loc.String() + "', instant)" // zone names have no quotes
	switch {
	case len(offsets) > 0:
		within := "make_timestamp(" + wallMicros("instant", offsets,
			func(until int64) string { return fmt.Sprintf("epoch_ms(instant) < %d", until) }) + ")"
		if !onlyCalls {
			within = fmt.Sprintf("CASE WHEN epoch_ms(instant) >= %d AND epoch_ms(instant) < %d THEN %s ELSE %s END", lo, hi, within, text)
		}
		text = within
	case onlyCalls && lo > hi: // no call has a start
		text = "make_timestamp(epoch_us(instant))"
	}
	return "CREATE MACRO local_time(instant) AS " + text
}

// LocalMicros returns SQL for the local time at a stored call's start_at, in microseconds since 1970: as local_time between the
// first and the last call.
func LocalMicros(loc *time.Location, m *layout.Manifest) string {
	lo, hi := m.Starts()
	offsets := offsetsOf(loc, lo, hi)
	if len(offsets) == 0 {
		return "epoch_us(local_time(start_at))"
	}
	return wallMicros("start_at", offsets, func(until int64) string { return "start_at < " + Instant(time.UnixMilli(until)) })
}

// wallMicros returns SQL for the local time at an instant covered by one of the offsets. before
// returns the condition that the instant is before until.
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

// offset is a zone's offset from UTC, until an instant in ms.
type offset struct {
	until   int64
	seconds int
}

// offsetsOf returns a zone's offsets from lo to hi, in order; nil if there are none or too many.
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

// Instant returns t as an SQL literal.
func Instant(t time.Time) string {
	return "TIMESTAMPTZ '" + t.UTC().Format("2006-01-02 15:04:05.999999") + "+00'"
}
