package world

import (
	"slices"
	"time"
)

// Hours are the times in which a campaign may call, on the wall clock of a zone. A repeated hour
// counts twice; a skipped hour does not occur.
type Hours struct {
	Zone    *time.Location
	Windows []Window
	// Resume makes a campaign resume when they open again. Otherwise it waits for a user.
	Resume bool
}

// Window is a span of minutes after midnight on some days.
type Window struct {
	Days     [7]bool // Monday first
	From, To int
}

// Open reports whether calls are allowed at t.
func (h *Hours) Open(t int64) bool {
	_, offset := time.UnixMilli(t).In(h.Zone).Zone()
	local := t + int64(offset)*msSecond
	day := floorDiv(local, msDay)
	minute := int((local - day*msDay) / msMinute)
	weekday := ((day+3)%7 + 7) % 7 // 1970 began on a Thursday
	return slices.ContainsFunc(h.Windows, func(w Window) bool {
		return w.Days[weekday] && minute >= w.From && minute < w.To
	})
}

// Change returns when the hours next open or close after t, to the minute: zones differ by whole
// minutes. It looks two weeks ahead, in case a window is skipped in one of them; ok is false if
// nothing changes.
func (h *Hours) Change(t int64) (at int64, ok bool) {
	was := h.Open(t)
	for at = t - t%msMinute + msMinute; at < t+15*msDay; at += msMinute {
		if h.Open(at) != was {
			return at, true
		}
	}
	return 0, false
}
