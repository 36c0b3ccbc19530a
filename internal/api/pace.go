package api

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Others spend the same limits, and a run cannot see them. All that tells of them
// is a 429 to a request of ours: what we held of a window at that moment is what
// fits beside them. The numbers below were chosen by simulation: see
// TestNeighbours and docs/crawler.md.
const (
	// A part of each window, 1/spare, is left free every spareEvery, and used up
	// again within spareFor. So somebody who was kept out gets in; then one of our
	// requests is refused, and we know of them.
	spare      = 20
	spareEvery = 20 * time.Second
	spareFor   = 10 * time.Second
	// After a refusal we hold less than what fitted, by 1/below of it, for
	// steadyFirst; and twice as long each time that the next refusal finds the same,
	// up to steadyMost. Then the ceiling rises: by the spare part within the first
	// rise, and by twice as much in each that follows.
	below       = 14
	steadyFirst = 4 * time.Second
	steadyMost  = 64 * time.Second
	rise        = 5 * time.Second
	// A single refusal below what fitted is let off if there was none for so long:
	// it is often a mere fault.
	doubt = 20 * time.Second
	// A run begins with half of the limits for so long, since others may be there.
	beginning = 15 * time.Second
	// holdFirst is how long nothing is sent after a refusal that does not say how
	// long. It doubles while requests are only refused, up to maxPause.
	holdFirst = time.Second
	// inARow is how many requests may be accepted between two refusals of a row.
	// After every third one of a row we go down to half of what fitted.
	inARow = 3
	// recheck is how soon a waiting request looks whether the ceiling has risen.
	recheck = time.Second
)

// pace is how much of the limits we may use now.
type pace struct {
	closed         instant // nothing is sent before: the service refuses
	next           instant // nor before: requests are spread over the minute
	second, minute ceiling

	cutAt    instant // when the last refusal was taken in
	accepted int     // requests since
	row      int     // refusals in a row
	hold     time.Duration
}

func newPace(perSecond, perMinute int) pace {
	return pace{cutAt: -1, second: newCeiling(time.Second, perSecond), minute: newCeiling(time.Minute, perMinute)}
}

// refused says that a request was refused which was sent when second and minute
// others held slots. wait is how long the service asks to wait; 0: it does not say.
// Requests that were sent before the last refusal was known tell nothing new.
func (p *pace) refused(sent, now instant, wait time.Duration, second, minute int) {
	fresh := sent >= p.cutAt
	if fresh {
		if p.hold = min(2*p.hold, maxPause); p.accepted > 0 || p.hold == 0 {
			p.hold = holdFirst
		}
		if p.row++; p.accepted > inARow {
			p.row = 1
		}
		p.accepted, p.cutAt = 0, now
	}
	if wait == 0 {
		wait = p.hold
	}
	p.closed = max(p.closed, now+wait)
	if !fresh {
		return
	}
	// Which window was full? The one in which we are above what fitted last time;
	// else the one that is nearer to its ceiling.
	c, fitted := &p.minute, minute
	full, too := p.second.probes(now, second), p.minute.probes(now, minute)
	if full && !too || full == too && second*p.minute.at(now) > minute*p.second.at(now) {
		c, fitted = &p.second, second
	}
	c.cut(now, p.closed, fitted, p.row)
}

// spread says that a request was let in: when the minute is half used, the next
// one waits for its part of it. Others would not get through a burst, and a service
// that counts by the clock would be full for the rest of its minute.
func (p *pace) spread(now instant, held int) {
	if c := p.minute.at(now); 2*held > c {
		p.next = now + p.minute.span*8/10/time.Duration(c)
	}
}

// ceiling is how many slots of a window we may hold.
type ceiling struct {
	span    time.Duration
	limit   int
	level   int           // until rises; from then on more
	rises   instant       // when it begins to rise
	steady  time.Duration // how long it stayed after the last refusal; 0: there was none
	fitted  int           // what fitted then
	doubted instant       // when there was a refusal that may mean nothing
	known   bool          // the row of refusals began with one that we provoked
}

func newCeiling(span time.Duration, limit int) ceiling {
	half := max(1, limit/2)
	return ceiling{span: span, limit: limit, level: half, fitted: half, rises: min(span, beginning), doubted: -doubt}
}

// spare is the spare part in slots; the smallest windows have none.
func (c *ceiling) spare() int {
	if c.limit < 5 {
		return 0
	}
	return (c.limit + spare - 1) / spare
}

// at returns the ceiling at now.
func (c *ceiling) at(now instant) int {
	if now <= c.rises {
		return c.level
	}
	first := float64(max(1, c.spare()))
	if risen := float64(c.level) + first*(math.Exp2(float64(now-c.rises)/float64(rise))-1); risen < float64(c.limit) {
		return int(risen)
	}
	top := c.rises + instant(float64(rise)*math.Log2(float64(c.limit-c.level)/first+1))
	used := float64((now-top)%spareEvery) / float64(spareFor) * float64(c.spare())
	return min(c.limit, c.limit-c.spare()+int(used))
}

// shown is the ceiling as reports show it: less than the limit only while
// others spend.
func (c *ceiling) shown(now instant) int {
	if n := c.at(now); c.steady > 0 && n < c.limit-c.spare() {
		return n
	}
	return c.limit
}

// probes says whether a request beside fitted others tried more than what fitted
// last time.
func (c *ceiling) probes(now instant, fitted int) bool { return now > c.rises && fitted >= c.level }

// cut lowers the ceiling after a refusal. fitted is what we held, opens when
// something may be sent again, and row how many refusals came in a row.
func (c *ceiling) cut(now, opens instant, fitted, row int) {
	less := fitted / below
	level, steady := fitted-less, steadyFirst
	probed := c.probes(now, fitted)
	switch {
	case row == 1 && !probed && now-c.doubted >= doubt:
		c.doubted = now
		return
	case row == 1 && probed && fitted-c.fitted <= less && c.fitted-fitted <= less:
		c.known, steady = true, min(max(2*c.steady, steadyFirst), steadyMost)
	case row%3 == 0 && !c.known:
		level, opens = fitted/2, opens+c.span-steady
	case row == 1:
		c.known = false
	}
	c.level = max(1, c.spare(), min(level, c.at(now)))
	c.rises, c.steady, c.fitted = opens+steady, steady, fitted
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
