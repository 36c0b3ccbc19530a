package follow

import "time"

// Pace decides when to poll. In busy hours that is every Least; while polls find nothing, ever more
// rarely, up to Most.
type Pace struct {
	Least, Most time.Duration

	every time.Duration // the present interval
}

// slower is how much longer the interval is after a poll that found nothing.
const slower = 1.5

// Next returns how long to wait after a poll. busy means that it found news, or calls in progress,
// which will end soon; sure that hints bring all news, so that polls only check them.
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

// Backoff returns how long to wait after a failure of the service: the number of failures in a row
// counts from 1.
func (p *Pace) Backoff(failures int) time.Duration {
	return min(p.Least<<min(failures-1, 10), max(p.Most, p.Least))
}
