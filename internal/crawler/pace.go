package crawler

import "time"

// Pace decides when to poll. In busy hours it polls every Least. While polls find nothing, it backs
// off up to Most.
type Pace struct {
	Least, Most time.Duration

	every time.Duration // the current interval
}

// slower is the factor by which the interval grows after a poll that found nothing.
const slower = 1.5

// Next returns how long to wait after a poll. busy reports that it found changes, or calls in
// progress, which will end soon.
func (p *Pace) Next(busy bool) time.Duration {
	if busy {
		p.every = p.Least
	} else {
		p.every = min(p.Most, time.Duration(float64(max(p.every, p.Least))*slower))
	}
	return p.every
}

// Backoff returns how long to wait after a failure of the service. failures is the number of
// consecutive failures, at least 1.
func (p *Pace) Backoff(failures int) time.Duration {
	return min(p.Least<<min(failures-1, 10), max(p.Most, p.Least))
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
