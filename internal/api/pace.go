package api

import (
	"cmp"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Others spend the same limits, and a run cannot see them. All that shows them is
// a 429 to a request of ours: what we held of a window at that moment is what fits
// beside them. The numbers below were chosen by simulation: see TestNeighbours and
// docs/design/crawler.md.
const (
	// A part of each window, 1/sparePart, is left free every spareEvery, and used up
	// again within spareFor. So somebody who was kept out gets in; then one of our
	// requests is refused, and we know of them.
	sparePart  = 20
	spareEvery = 20 * time.Second
	spareFor   = 10 * time.Second
	// After a refusal we hold less than what fitted, by 1/backOff of it, for
	// steadyFirst; and twice as long each time that the next refusal finds the same,
	// up to steadyMost. Then the ceiling rises: by the spare part within the first
	// rise, and by twice as much in each that follows.
	backOff     = 14
	steadyFirst = 4 * time.Second
	steadyMost  = 64 * time.Second
	rise        = 5 * time.Second
	// A single refusal below what fitted is ignored if none came in this time before
	// it: it is often a mere fault.
	ignoreAfter = 20 * time.Second
	// A run begins with half of the limits for this time, since others may be there.
	warmUp = 15 * time.Second
	// closeFirst is how long nothing is sent after a refusal that does not say how
	// long. It doubles while requests are only refused, up to maxPause.
	closeFirst = time.Second
	// rowGap is how many requests may be accepted between two refusals of a row.
	// After every third one of a row we go down to half of what fitted.
	rowGap = 3
	// recheck is how soon a waiting request looks whether the ceiling has risen.
	recheck = time.Second
)

// pace is how much of the limits we may use now.
type pace struct {
	closed         instant // nothing is sent before: the service refuses
	next           instant // nor before: requests are spread over the minute
	second, minute ceiling

	lastRefusal instant // that changed the pace
	accepted    int     // requests since
	row         int     // refusals in a row
	closing     time.Duration
}

func newPace(perSecond, perMinute int) pace {
	return pace{lastRefusal: -1, second: newCeiling(time.Second, perSecond), minute: newCeiling(time.Minute, perMinute)}
}

// refused says that a request was refused which was sent when second and minute
// others held slots. asked is how long the service asks to wait; 0: it does not say.
// Requests that were sent before the last refusal was known say nothing new.
func (p *pace) refused(sent, now instant, asked time.Duration, second, minute int) {
	news := sent >= p.lastRefusal
	if news {
		if p.closing = min(2*p.closing, maxPause); p.accepted > 0 || p.closing == 0 {
			p.closing = closeFirst
		}
		if p.row++; p.accepted > rowGap {
			p.row = 1
		}
		p.accepted, p.lastRefusal = 0, now
	}
	p.closed = max(p.closed, now+cmp.Or(asked, p.closing))
	if !news {
		return
	}
	// Which window was full? The one in which we are above what fitted last time;
	// else the one that is nearer to its ceiling.
	c, fitted := &p.minute, minute
	inSecond, inMinute := p.second.exceeds(now, second), p.minute.exceeds(now, minute)
	if inSecond && !inMinute || inSecond == inMinute && second*p.minute.at(now) > minute*p.second.at(now) {
		c, fitted = &p.second, second
	}
	c.lower(now, p.closed, fitted, p.row)
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
	span     time.Duration
	limit    int
	level    int           // until rises; from then on more
	rises    instant       // when it begins to rise
	steady   time.Duration // how long it stayed after the last refusal; 0: there was none
	fitted   int           // what fitted then
	ignored  instant       // when there was a refusal that may mean nothing
	provoked bool          // the row of refusals began when we tried more than what fitted
}

func newCeiling(span time.Duration, limit int) ceiling {
	half := max(1, limit/2)
	return ceiling{span: span, limit: limit, level: half, fitted: half, rises: min(span, warmUp), ignored: -ignoreAfter}
}

// spare is the spare part in slots; the smallest windows have none.
func (c *ceiling) spare() int {
	if c.limit < 5 {
		return 0
	}
	return (c.limit + sparePart - 1) / sparePart
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

// exceeds says whether a request beside held others tried more than what fitted
// last time.
func (c *ceiling) exceeds(now instant, held int) bool { return now > c.rises && held >= c.level }

// lower lowers the ceiling after a refusal. fitted is what we held, opens when
// something may be sent again, and row how many refusals came in a row.
func (c *ceiling) lower(now, opens instant, fitted, row int) {
	less := fitted / backOff
	level, steady := fitted-less, steadyFirst
	exceeded := c.exceeds(now, fitted)
	switch {
	case row == 1 && !exceeded && now-c.ignored >= ignoreAfter:
		c.ignored = now
		return
	case row == 1 && exceeded && fitted-c.fitted <= less && c.fitted-fitted <= less:
		c.provoked, steady = true, min(max(2*c.steady, steadyFirst), steadyMost)
	case row%3 == 0 && !c.provoked:
		level, opens = fitted/2, opens+c.span-steady
	case row == 1:
		c.provoked = false
	}
	c.level = max(1, c.spare(), min(level, c.at(now)))
	c.rises, c.steady, c.fitted = opens+steady, steady, fitted
}

// maxRetryAfter is the longest wait that a service may ask for; more is taken
// for a mistake.
const maxRetryAfter = time.Hour

// retryAfter reads how long a service asks to wait: a count of seconds, or a
// date, which is compared with the service's own clock if the answer has it.
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
