package service

import (
	"fmt"
	"time"

	"callhouse/internal/sandbox/world"
)

// readHours reads a valid call_time_window.
func readHours(settings Object) (world.Hours, *Problem) {
	name, _ := settings["timezone"].(string)
	zone, err := time.LoadLocation(name)
	if err != nil || name == "" || name == "Local" {
		return world.Hours{}, invalid("call_time_window.timezone", "%q is not an IANA time zone", name)
	}
	h := world.Hours{Zone: zone, Resume: settings["auto_resume"] != false}
	for i, w := range list(settings["windows"]) {
		next := world.Window{From: number(inside(w, "start_min")), To: number(inside(w, "end_min"))}
		if next.From >= next.To {
			return h, invalid(fmt.Sprintf("call_time_window.windows.%d.end_min", i), "must be later than start_min")
		}
		for _, day := range list(inside(w, "days")) {
			for d := range next.Days {
				if time.Weekday((d+1)%7).String() == day {
					next.Days[d] = true
				}
			}
		}
		h.Windows = append(h.Windows, next)
	}
	return h, nil
}
