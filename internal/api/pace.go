package api

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Other clients use the same limits, invisible to a run. Their only sign is a 429 to one of our
// requests: the number of slots of the minute that we held when it was sent is what fits in addition to them.
// The values below were chosen by simulation: see TestNeighbours and docs/design/benchmarks.md.
const (
	// A part of the minute, 1/sparePart, is left free every spareEvery, and used up again within half
	// of that time. Meanwhile a client that was locked out can send; one of our requests is then
	// refused, which reveals the client.
	sparePart  = 20
	spareEvery = 20 * time.Second
	// After a refusal we hold 1/backOff less than fitted, for steadyFirst. This time doubles with each
	// refusal, up to steadyMost. Then the ceiling rises, by the spare part in each rise.
	backOff     = 10
	steadyFirst = 6 * time.Second
	steadyMost  = 64 * time.Second
	rise        = 3 * time.Second
	// After forgetAfter without a refusal, the first one is ignored, since it is often just a fault.
	// Another within steadyFirst is not.
	forgetAfter = 90 * time.Second
	// A run begins with half of the limit for this time, since there may be other clients.
	warmUp = 15 * time.Second
	// closeFirst is how long nothing is sent after a refusal that specifies no wait. It doubles
	// while requests are only refused, up to maxPause.
	closeFirst = time.Second
	// recheck is how soon a waiting request checks again whether the ceiling has risen.
	recheck = time.Second
)

// pace is the part of the limit of a minute that we may use now.
type pace struct {
	closed instant // nothing is sent before: the service refuses requests
	next   instant // nor before this: requests are spread over the minute

	limit   int
	level   int           // number of slots that we may hold until rises; after that, more
	rises   instant       // when it begins to rise
	steady  time.Duration // how long it stayed after the last refusal; 0: no refusal yet
	lowered instant       // time of the last refusal that lowered it
	ignored instant       // time of the last refusal that did not

	lastRefusal instant // the last one that showed anything new
	accepted    int     // requests since then
	closing     time.Duration
}

func newPace(perMinute int) pace {
	return pace{limit: perMinute, level: max(1, perMinute/2), rises: warmUp, lowered: -forgetAfter, ignored: -steadyFirst, lastRefusal: -1}
}

// share returns the part of the minute that a request takes while held slots are held: little until
// half of them are. A burst would lock others out, and fill a service that counts by the clock for
// the rest of its minute.
func (p *pace) share(now instant, held int) time.Duration {
	if c := p.at(now); 2*held > c {
		return time.Minute * 8 / 10 / time.Duration(c)
	}
	return 0
}

// refused reports a refused request, sent while fitted others held slots. retryAfter is how long the service
// asks to wait; 0: unspecified. Requests sent before the last refusal was known show nothing new.
func (p *pace) refused(sent, now instant, retryAfter time.Duration, fitted int) {
	isNew := sent >= p.lastRefusal
	if isNew {
		if p.closing = min(2*p.closing, maxPause); p.accepted > 0 || p.closing == 0 {
			p.closing = closeFirst
		}
		p.accepted, p.lastRefusal = 0, now
	}
	p.closed = max(p.closed, now+cmp.Or(retryAfter, p.closing))
	if isNew {
		p.lower(now, retryAfter, fitted)
	}
}

// lower lowers the ceiling. A service that asks for a long wait has a minute that is full until
// then, so it was used too fast: by what the limit allows in that time.
func (p *pace) lower(now instant, retryAfter time.Duration, fitted int) {
	less := fitted / backOff
	tooFast := int(time.Duration(p.limit) * retryAfter / time.Minute)
	switch {
	case retryAfter < time.Minute && tooFast >= p.limit/backOff:
		less = min(max(less, tooFast), fitted/2)
	case now-p.lowered >= forgetAfter && now-p.ignored >= steadyFirst:
		p.ignored = now
		return
	}
	p.steady = min(max(2*p.steady, steadyFirst), steadyMost)
	if now-p.lowered > p.steady+forgetAfter {
		p.steady = steadyFirst
	}
	p.level = max(1, p.spare(), min(fitted-less, p.at(now)))
	p.rises, p.lowered = p.closed+p.steady, now
}

// spare returns the spare part in slots; the smallest limits have none.
func (p *pace) spare() int {
	if p.limit < 5 {
		return 0
	}
	return (p.limit + sparePart - 1) / sparePart
}

// at returns the ceiling at now.
func (p *pace) at(now instant) int {
	spare, level := p.spare(), p.level
	if now > p.rises {
		level += int(float64(max(1, spare)) * float64(now-p.rises) / float64(rise))
	}
	used := int(time.Duration(2*spare) * ((now + warmUp) % spareEvery) / spareEvery)
	return min(p.limit, p.limit-spare+used, level)
}

// shown is the ceiling for reports: below the limit only while others use it.
func (p *pace) shown(now instant) int {
	if n := p.at(now); p.steady > 0 && n < p.limit-p.spare() {
		return n
	}
	return p.limit
}

// maxRetryAfter bounds the wait that a service may ask for. No run lasts as long.
const maxRetryAfter = 31 * 24 * time.Hour

// parseRetryAfter parses the wait that a service asks for in an answer of a time: a number of seconds,
// perhaps with a fraction, or a date. It returns zero if the wait is missing, over or malformed, which
// never means to go on at once; and otherwise at least a second.
func parseRetryAfter(v string, at time.Time) time.Duration {
	v = strings.TrimSpace(v)
	var wait time.Duration
	if strings.Trim(v, "0123456789.") == "" {
		seconds, _ := strconv.ParseFloat(v, 64) // 0 if malformed, infinite if too large
		wait = time.Duration(min(seconds, maxRetryAfter.Seconds()) * float64(time.Second))
	} else if until, err := http.ParseTime(v); err == nil {
		wait = min(until.Sub(at), maxRetryAfter) + time.Second // dates have no fractions
	}
	if wait <= 0 {
		return 0
	}
	return max(wait, time.Second)
}
