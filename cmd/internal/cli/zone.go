package cli

import (
	"strings"
	"time"
)

// Zone returns the time zone of a name. It is never the machine's, on which answers would depend.
func Zone(name string) (*time.Location, error) {
	loc, err := time.LoadLocation(name)
	if err != nil || name == "" || strings.EqualFold(name, "local") {
		return nil, UnknownZone(name, "")
	}
	return loc, nil
}

// UnknownZone returns the error for a name of no zone. near is a similar name, if one is known.
func UnknownZone(name, near string) error {
	return Usage(DidYouMean(near, "use a name such as Asia/Seoul, Europe/Berlin or UTC"), "unknown time zone %q", name)
}
