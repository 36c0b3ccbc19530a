package crawler

import "time"

// Pace decides when to poll. In busy hours it polls every Min. While polls find nothing, it backs
// off up to Max.
type Pace struct {
	Min, Max time.Duration

	every time.Duration // the current interval
}

// slower is the factor by which the interval grows after a poll that found nothing.
const slower = 1.5

// Next returns how long to wait after a poll. busy reports that it found changes, or calls in
// progress, which will end soon.
func (p *Pace) Next(busy bool) time.Duration {
	if busy {
		p.every = p.Min
	} else {
		p.every = min(p.Max, time.Duration(float64(max(p.every, p.Min))*slower))
	}
	return p.every
}

// Backoff returns how long to wait after a failure of the service. failures is the number of
// consecutive failures, at least 1.
func (p *Pace) Backoff(failures int) time.Duration {
	return min(p.Min<<min(failures-1, 10), max(p.Max, p.Min))
}

// sweepHour is the hour of the day at which everything is listed that polls do not cover.
const sweepHour = 3

// Sweep returns the time of the first sweep after t, in a zone.
func Sweep(t time.Time, zone *time.Location) time.Time {
	local := t.In(zone)
	at := time.Date(local.Year(), local.Month(), local.Day(), sweepHour, 0, 0, 0, zone)
	if !at.After(t) {
		at = time.Date(local.Year(), local.Month(), local.Day()+1, sweepHour, 0, 0, 0, zone)
	}
	return at
}
