package crawler

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// A refusal means that somebody else spends the shared budget too: the pace
// falls to slower of what it was, and regains regain of the whole each minute
// after the window has opened again.
const (
	slower  = 0.7
	regain  = 0.05
	slowest = 0.05
	// recheck is how soon a waiting request looks whether the pace has grown.
	recheck = 5 * time.Second
)

// pace is the part of the limits that we may use now.
type pace struct {
	closed instant // nothing is sent before
	factor float64 // at since
	since  instant
	cutAt  instant
}

func (p *pace) full() { *p = pace{factor: 1, cutAt: -1} }

// at returns the factor at now.
func (p *pace) at(now instant) float64 {
	if p.factor >= 1 || now <= p.since {
		return p.factor
	}
	return min(1, p.factor+regain*(now-p.since).Minutes())
}

// of returns what is left of a limit: at least one.
func (p *pace) of(limit int, now instant) int {
	f := p.at(now)
	if f >= 1 {
		return limit
	}
	return max(1, int(f*float64(limit)))
}

// grows says when to look again whether more is allowed.
func (p *pace) grows(now instant) (at instant, ok bool) {
	return now + recheck, p.at(now) < 1
}

// cut closes the windows for wait. It lowers the pace once for all the requests
// that were sent before we knew: only a refusal of one sent since counts anew.
func (p *pace) cut(sent, now, wait instant) {
	p.closed = max(p.closed, now+wait)
	if sent >= p.cutAt {
		p.factor = max(slowest, p.at(now)*slower)
		p.cutAt = now
	}
	p.since = max(p.since, p.closed)
}

// maxRetryAfter is the longest wait that a service may ask for; more is taken
// for a mistake.
const maxRetryAfter = time.Hour

// retryAfter reads how long a service asks to wait: a count of seconds, or a
// date, which is read against the service's own clock where the answer tells it.
// Zero means that it does not say, or nothing that makes sense. An answer never
// comes out shorter than a second.
func retryAfter(h http.Header, now time.Time) time.Duration {
	v := strings.TrimSpace(h.Get("Retry-After"))
	if v == "" {
		return 0
	}
	var wait time.Duration
	if seconds, err := strconv.ParseUint(v, 10, 31); err == nil {
		wait = time.Duration(seconds) * time.Second
	} else if at, err := http.ParseTime(v); err == nil {
		if theirs, err := http.ParseTime(h.Get("Date")); err == nil {
			now = theirs
		}
		wait = at.Sub(now) + time.Second // dates have no fractions
	} else {
		return 0
	}
	if wait > maxRetryAfter {
		return 0
	}
	wait = max(wait, time.Second)
	return wait + margin(wait)
}
