package follow

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
// progress, which will end soon. sure reports that hints cover all changes, so that polls only
// check them.
func (p *Pace) Next(busy, sure bool) time.Duration {
	switch {
	case busy:
		p.every = p.Least
	case sure:
		p.every = p.Most
	default:
		p.every = time.Duration(float64(max(p.every, p.Least)) * slower)
	}
	p.every = min(p.every, p.Most)
	return p.every
}

// Backoff returns how long to wait after a failure of the service. failures is the number of
// consecutive failures, at least 1.
func (p *Pace) Backoff(failures int) time.Duration {
	return min(p.Least<<min(failures-1, 10), max(p.Most, p.Least))
}
