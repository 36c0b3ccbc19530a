package service

import (
	"fmt"
	"slices"
	"time"
)

// hours are the times in which a campaign may call, by the wall clock of a zone. Where
// clocks are put back, an hour that comes twice counts twice; one that is left out
// does not come.
type hours struct {
	zone    *time.Location
	windows []window
}

type window struct {
	days     []time.Weekday
	from, to int // minutes after midnight
}

// readHours reads a call_time_window whose shape is right.
func readHours(settings Object) (hours, *Problem) {
	name, _ := settings["timezone"].(string)
	zone, err := time.LoadLocation(name)
	if err != nil || name == "" || name == "Local" {
		return hours{}, invalid("call_time_window.timezone", "%q is not an IANA time zone", name)
	}
	h := hours{zone: zone}
	for i, w := range list(settings["windows"]) {
		next := window{from: number(inside(w, "start_min")), to: number(inside(w, "end_min"))}
		if next.from >= next.to {
			return h, invalid(fmt.Sprintf("call_time_window.windows.%d.end_min", i), "must be later than start_min")
		}
		for _, day := range list(inside(w, "days")) {
			for d := time.Sunday; d <= time.Saturday; d++ {
				if d.String() == day {
					next.days = append(next.days, d)
				}
			}
		}
		h.windows = append(h.windows, next)
	}
	return h, nil
}

// open reports whether calls may be made at t.
func (h hours) open(t int64) bool {
	local := time.UnixMilli(t).In(h.zone)
	minute := local.Hour()*60 + local.Minute()
	return slices.ContainsFunc(h.windows, func(w window) bool {
		return slices.Contains(w.days, local.Weekday()) && minute >= w.from && minute < w.to
	})
}

// change returns when the hours next open or close after t, to the minute: zones differ
// by whole minutes. It looks two weeks ahead, so that a window is found whose hour is left
// out in one of them; ok is false if nothing changes.
func (h hours) change(t int64) (at int64, ok bool) {
	const minute = int64(60_000)
	was := h.open(t)
	for at = t - t%minute + minute; at < t+15*24*60*minute; at += minute {
		if h.open(at) != was {
			return at, true
		}
	}
	return 0, false
}
