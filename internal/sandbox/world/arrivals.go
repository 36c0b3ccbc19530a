package world

import (
	"math"
	"sort"

	"callhouse/internal/sandbox/dice"
)

const (
	msSecond = int64(1000)
	msMinute = 60 * msSecond
	msHour   = 60 * msMinute
	msDay    = 24 * msHour

	zoneOffset = 9 * msHour // the company's zone

	periodDays  = 13 * 7
	periodHours = periodDays * 24
	period      = periodDays * msDay

	// tieBlock bounds a run of calls that start in the same millisecond.
	tieBlock = 512
)

// Epoch is a Monday, midnight in the company's zone (2026-01-05). Call 0 of the arrival curve
// starts there; earlier calls have negative numbers.
const Epoch = int64(1767538800000)

// hourly weights the hours of an ordinary working day in the company's zone.
var hourly = [24]float64{
	.05, .03, .02, .02, .03, .05, .09, .26, .75, 1.6, 2.0, 1.85,
	1.05, 1.4, 1.9, 1.8, 1.65, 1.4, 1.0, .75, .5, .32, .17, .09,
}

// daily weights the days of the week, Monday first.
var daily = [7]float64{1.18, 1.06, 1.0, 1.02, .94, .42, .26}

// arrivals determines when calls start. The number of calls since Epoch grows with a cumulative
// curve that is linear within each hour and repeats every 13 weeks; call k starts where the curve
// reaches k + a draw from [0, 1). So the start is a non-decreasing function of k in both
// directions, and it and its inverse take a few comparisons.
type arrivals struct {
	key       uint64
	perPeriod float64 // calls in 13 weeks
	tieRate   float64
	cum       [periodHours + 1]float64 // share of the period's calls before each hour
}

func newArrivals(key uint64, perDay, tieRate float64, steady bool) *arrivals {
	a := &arrivals{key: key, perPeriod: perDay * periodDays, tieRate: tieRate}
	d := dice.New(dice.Hash(key, 1))
	var sum float64
	for day := range periodDays {
		weight := daily[day%7] * (.88 + .24*d.Unit())
		switch day {
		case 30, 74: // a public holiday
			weight *= .3
		case 51: // an outage, with many calls
			weight *= 1.5
		}
		for h := range 24 {
			a.cum[day*24+h] = sum
			if steady {
				sum++
			} else {
				sum += hourly[h] * weight
			}
		}
	}
	a.cum[periodHours] = sum
	for i := range a.cum {
		a.cum[i] /= sum
	}
	return a
}

// start returns the start of call k.
func (a *arrivals) start(k int64) int64 {
	if a.tieRate > 0 {
		for k%tieBlock != 0 && dice.Unit(dice.Hash(a.key+2, uint64(k))) < a.tieRate {
			k--
		}
	}
	x := (float64(k) + dice.Unit(dice.Hash(a.key+3, uint64(k)))) / a.perPeriod
	n := int64(math.Floor(x))
	x -= float64(n)
	h := sort.Search(periodHours-1, func(h int) bool { return a.cum[h+1] > x })
	in := (x - a.cum[h]) / (a.cum[h+1] - a.cum[h])
	ms := min(max(int64(in*float64(msHour)), 0), msHour-1)
	return Epoch + n*period + int64(h)*msHour + ms
}

// before returns the number of the first call that starts after t.
func (a *arrivals) before(t int64) int64 {
	t -= Epoch
	n := floorDiv(t, period)
	t -= n * period
	h := t / msHour
	in := float64(t%msHour) / float64(msHour)
	share := float64(n) + a.cum[h] + in*(a.cum[h+1]-a.cum[h])
	guess := int64(share * a.perPeriod)
	t += Epoch + n*period
	// The guess may be off because of the draw, rounding, and ties.
	lo := guess - 4
	hi := guess + 4
	if a.tieRate > 0 {
		lo -= tieBlock
		hi += tieBlock
	}
	for a.start(lo) > t {
		lo -= tieBlock
	}
	for a.start(hi) <= t {
		hi += tieBlock
	}
	return lo + int64(sort.Search(int(hi-lo), func(i int) bool { return a.start(lo+int64(i)) > t }))
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
