package api

import (
	"cmp"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Other clients use the same limits, invisible to a run. Their only sign is a 429 to one of our
// requests: the number of slots that we held of the window at that moment is what fits beside them.
// The values below were chosen by simulation: see TestNeighbours and docs/design/benchmarks.md.
const (
	// A part of each window, 1/sparePart, is left free every spareEvery, and used up again within
	// spareFor. In that time, a client that was locked out can send; one of our requests is then
	// refused, which reveals the client.
	sparePart  = 20
	spareEvery = 20 * time.Second
	spareFor   = 10 * time.Second
	// After a refusal we hold 1/backOff less than fitted, for steadyFirst. If refusals come within
	// a minute, before the ceiling has risen, we hold less by twice, four and eight times as much.
	// The time doubles whenever the next refusal finds the same number, up to steadyMost. Then the
	// ceiling rises: by the spare part within the first rise, and by twice as much in each
	// following one.
	backOff     = 10
	steadyFirst = 6 * time.Second
	steadyMost  = 64 * time.Second
	rise        = 5 * time.Second
	// A service that asks to wait this long has a window that is full until then, so it was used
	// too fast: we hold less by what the limit allows in that time.
	longWait = 5 * time.Second
	// A single refusal is often just a fault. It is ignored if the ceiling has not been lowered for
	// aloneAfter. Below what fitted, it is also ignored if no refusal was for ignoreAfter.
	aloneAfter  = 90 * time.Second
	pairWithin  = 6 * time.Second
	ignoreAfter = 20 * time.Second
	// A run begins with half of the limits for this time, since there may be other clients. It
	// sends no faster than 7/10 of the limit of a second, so that a client that sends at an even
	// pace gets through.
	warmUp = 15 * time.Second
	// closeFirst is how long nothing is sent after a refusal that specifies no wait. It doubles
	// while requests are only refused, up to maxPause.
	closeFirst = time.Second
	// rowGap is how many requests may be accepted between two refusals of a row. After every third
	// refusal of a row the ceiling drops to half of what fitted.
	rowGap = 3
	// recheck is how soon a waiting request checks again whether the ceiling has risen.
	recheck = time.Second
)

// pace is the part of the limits that we may use now.
type pace struct {
	closed         instant // nothing is sent before: the service refuses requests
	next           instant // nor before this: requests are spread over the minute
	second, minute ceiling

	lastRefusal instant // the last one that changed the pace
	accepted    int     // requests since then
	row         int     // refusals in a row
	closing     time.Duration
}

func newPace(perSecond, perMinute int) pace {
	p := pace{lastRefusal: -1, second: newCeiling(time.Second, perSecond), minute: newCeiling(time.Minute, perMinute)}
	p.second.level = max(p.second.level, perSecond-p.second.spare())
	return p
}

// refused reports a refused request, sent less than a second after second others, when minute
// others held slots of the minute. asked is how long the service asks to wait; 0: unspecified.
// Requests sent before the last refusal was known carry no new information.
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
	// Which window was full? The one in which we hold more than fitted last time, or else the one
	// that is nearer to its ceiling. A full second ends within a second.
	c, fitted := &p.minute, minute
	inSecond, inMinute := p.second.exceeds(now, second), p.minute.exceeds(now, minute)
	nearer := inSecond && !inMinute || inSecond == inMinute && second*p.minute.at(now) > minute*p.second.at(now)
	if nearer && asked <= time.Second+margin(time.Second) {
		c, fitted = &p.second, second
	}
	c.lower(now, p.closed, asked, fitted, p.row)
}

// spread reports an admitted request. Once the minute is half used, the next request waits for its
// part of the minute. A burst would lock others out, and fill a service that counts by the clock
// for the rest of its minute.
func (p *pace) spread(now instant, held int) {
	if now < warmUp {
		p.next = now + p.second.span*10/7/time.Duration(p.second.limit)
	}
	if c := p.minute.at(now); 2*held > c {
		p.next = now + p.minute.span*8/10/time.Duration(c)
	}
}

// ceiling is the number of a window's slots that we may hold.
type ceiling struct {
	span     time.Duration
	limit    int
	level    int           // until rises; after that, more
	rises    instant       // when it begins to rise
	steady   time.Duration // how long it stayed after the last refusal; 0: no refusal yet
	fitted   int           // number of slots that fitted then
	again    int           // refusals in a row that found it too high before it had risen
	ignored  instant       // time of a refusal that was ignored
	lowered  instant       // time of the last refusal that was not
	provoked bool          // the row of refusals began when we exceeded what fitted
}

func newCeiling(span time.Duration, limit int) ceiling {
	half := max(1, limit/2)
	return ceiling{span: span, limit: limit, level: half, fitted: half, rises: min(span, warmUp), ignored: -ignoreAfter, lowered: -aloneAfter}
}

// spare returns the spare part in slots; the smallest windows have none.
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

// shown is the ceiling for reports: below the limit only while others use it.
func (c *ceiling) shown(now instant) int {
	if n := c.at(now); c.steady > 0 && n < c.limit-c.spare() {
		return n
	}
	return c.limit
}

// exceeds reports whether a request beside held others exceeds what fitted last time.
func (c *ceiling) exceeds(now instant, held int) bool { return now > c.rises && held >= c.level }

// lower lowers the ceiling after a refusal. fitted is the number of slots that we held, opens is
// when requests may be sent again, asked is how long the service asks to wait, and row is the number
// of refusals in a row.
func (c *ceiling) lower(now, opens, asked instant, fitted, row int) {
	less := fitted / backOff
	long := asked >= longWait && asked < c.span
	if long {
		less = max(less, int(time.Duration(c.limit)*asked/c.span))
	}
	exceeded := c.exceeds(now, fitted)
	if c.again++; exceeded || now-c.lowered > time.Minute {
		c.again = 0
	}
	less = min(less<<min(c.again, 3), fitted/2)
	level, steady := fitted-less, steadyFirst
	alone := row == 1 && now-c.ignored >= pairWithin && !long
	switch {
	case alone && (now-c.lowered >= aloneAfter || !exceeded && now-c.ignored >= ignoreAfter):
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
	c.rises, c.steady, c.fitted, c.lowered = opens+steady, steady, fitted, now
}

// maxRetryAfter bounds the wait that a service may ask for. No run lasts as long.
const maxRetryAfter = 31 * 24 * time.Hour

// retryAfter parses the wait that a service asks for in an answer of a time: a number of seconds,
// perhaps with a fraction, or a date. It returns zero if the wait is missing, over or malformed, which
// never means to go on at once; and otherwise at least a second.
func retryAfter(v string, at time.Time) time.Duration {
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
