package world

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"callhouse/internal/sandbox/dice"
)

// Campaign is a list of people whom an agent calls one after the other within its time windows. It
// makes no calls of its own: its calls are those of its agent that start while it dials, so a
// company has the same calls with and without campaigns.
type Campaign struct {
	Number int64
	Name   string
	Agent  *Agent

	Created   int64
	Scheduled bool  // Begin was set at creation
	Begin     int64 // when it begins to dial
	Stop      int64 // when its list is exhausted
	// A user pauses it from PausedFrom until PausedTo, and cancels it at Canceled; 0: never.
	PausedFrom, PausedTo, Canceled int64
	// It dials on these days of the week, Monday first, from minute From until minute To, in Zone.
	Days     [7]bool
	From, To int

	once sync.Once
	plan Plan
}

// Plan is the course of a campaign.
type Plan struct {
	Total       int // number of calls planned at creation
	Concurrency int // maximum of simultaneous calls
	Dials       []Dial
	Phases      []Phase
	canceled    []string // numbers that are not called because it is cancelled
}

// Dial is a call made by a campaign.
type Dial struct {
	To                 string
	Queued, Start, End int64
	Talked             bool // it ended like a conversation; otherwise it failed
}

// Zone is the service's name of the company's zone.
const Zone = "Asia/Seoul"

// campaignEvery is the interval of new campaigns; each ends within ten days.
const campaignEvery = 5 * msDay

// Campaigns returns the campaigns created until t, oldest first: about Config.Campaigns by the
// origin, and all later ones.
func (w *World) Campaigns(t int64) []*Campaign {
	var all []*Campaign
	for n := w.firstCampaign; ; n++ {
		c := w.campaign(n)
		if c == nil || c.Created > t {
			return all
		}
		all = append(all, c)
	}
}

// CampaignOf returns the campaign that makes a call; nil if none.
func (w *World) CampaignOf(c *Call) *Campaign {
	m := w.booked(c)
	if m != nil && c.QueuedAt > w.handedOver(m) {
		return nil
	}
	return m
}

// handedOver returns when a client took over a campaign.
func (w *World) handedOver(c *Campaign) int64 {
	if at, ok := w.handed.Load(c.Number); ok {
		return at.(int64)
	}
	return never
}

// HandOver ends a campaign's computed course at t, as a client decides on it from then on. It
// returns the numbers that are still to be called. Its earlier calls stay.
func (w *World) HandOver(c *Campaign, t int64) []string {
	rest := slices.Clone(w.Plan(c).canceled)
	for _, d := range c.plan.Dials {
		if d.Queued > t {
			rest = append(rest, d.To)
		}
	}
	w.handed.Store(c.Number, t)
	return rest
}

// booked returns the campaign that makes a call if no client takes it over.
func (w *World) booked(c *Call) *Campaign {
	if c.Type != "outbound" || c.Order != nil || w.cfg.Campaigns < 0 {
		return nil
	}
	n := floorDiv(c.StartAt-Epoch, campaignEvery)
	for _, n := range [...]int64{n, n - 1} {
		if m := w.campaign(n); m != nil && m.Agent == c.Agent && m.dialsAt(c.StartAt) && (m.Canceled == 0 || c.StartAt < m.Canceled) {
			return m
		}
	}
	return nil
}

// campaign returns campaign n; nil if there is none.
func (w *World) campaign(n int64) *Campaign {
	if n < w.firstCampaign || w.cfg.Campaigns < 0 {
		return nil
	}
	if c, ok := w.campaigns.Load(n); ok {
		return c.(*Campaign)
	}
	c := w.newCampaign(n)
	w.campaigns.Store(n, c)
	return c
}

func (w *World) newCampaign(n int64) *Campaign {
	var outbound []*Agent
	for _, a := range w.agents {
		if a.Direction == "outbound" {
			outbound = append(outbound, a)
		}
	}
	if len(outbound) == 0 {
		return nil
	}
	d := dice.New(dice.Hash(w.Key+10, uint64(n)))
	one, other := outbound[d.Below(len(outbound))], outbound[d.Below(len(outbound))]
	if other.weight[1] > one.weight[1] { // busy agents have more campaigns
		one = other
	}
	midnight := Epoch + n*campaignEvery
	c := &Campaign{Number: n, Agent: one, Created: midnight + d.Between(8*msHour, 10*msHour), From: 9 * 60, To: 18 * 60}
	label := one.scenario.Campaigns[d.Below(len(one.scenario.Campaigns))]
	c.Name = fmt.Sprintf("%s %s", label, time.UnixMilli(c.Created+zoneOffset).UTC().Format("01-02"))
	c.Begin = c.Created + d.Between(10*msMinute, 90*msMinute)
	if c.Scheduled = d.Chance(.5); c.Scheduled {
		c.Begin = midnight + msDay + 9*msHour
	}
	length := d.Between(2*msDay, 6*msDay)
	c.Stop = c.Begin + length
	days := [...]int{5, 5, 6, 7}[d.Below(4)]
	for i := range days {
		c.Days[i] = true
	}
	if days == 7 { // the service's own window
		c.From, c.To = 8*60, 20*60
	}
	if d.Chance(.5) {
		c.PausedFrom = c.Begin + length/5 + d.Between(0, length/3)
		c.PausedTo = c.PausedFrom + d.Between(3*msHour, 20*msHour)
	}
	if d.Chance(.25) {
		c.Canceled = c.Begin + length*2/3
	}
	return c
}

// Open reports whether the campaign's windows are open.
func (c *Campaign) Open(t int64) bool {
	day := floorDiv(t-Epoch, msDay) // Epoch is midnight on a Monday in the company's zone
	minute := int((t - Epoch - day*msDay) / msMinute)
	return c.Days[(day%7+7)%7] && minute >= c.From && minute < c.To
}

// dialsAt reports whether the campaign dials at t unless cancelled.
func (c *Campaign) dialsAt(t int64) bool {
	return t >= c.Begin && t < c.Stop && (t < c.PausedFrom || t >= c.PausedTo) && c.Open(t)
}

// Plan returns the course of a campaign until a client takes it over. It computes every call of its
// days.
func (w *World) Plan(c *Campaign) Plan {
	c.once.Do(func() { w.plan(c) })
	p, end := c.plan, w.handedOver(c)
	if end < never {
		p.Dials = slices.DeleteFunc(slices.Clone(p.Dials), func(d Dial) bool { return d.Queued > end })
		p.Phases = slices.DeleteFunc(slices.Clone(p.Phases), func(p Phase) bool { return p.At > end })
	}
	return p
}

// Dials returns the computed calls of a campaign in order of their start.
func (w *World) Dials(c *Campaign) []Dial { return w.Plan(c).Dials }

// outbound yields the agent's outbound calls that start in a span.
func (w *World) outbound(a *Agent, from, until int64) iter.Seq[*Call] {
	return func(yield func(*Call) bool) {
		var call Call
		last := w.arrivals.before(until - 1)
		for k := w.arrivals.before(from - 1); k < last; k++ {
			if w.agentOf(k, w.arrivals.start(k)) != a {
				continue
			}
			if w.call(&call, k); call.Type == "outbound" && !yield(&call) {
				return
			}
		}
	}
}

// plan computes a campaign's calls, which are those booked for it, and its states.
func (w *World) plan(c *Campaign) {
	plan := &c.plan
	plan.Concurrency = 5
	var running []int64 // ends of the ongoing calls
	for call := range w.outbound(c.Agent, c.Begin, c.Stop) {
		of := w.booked(call)
		if !c.dialsAt(call.StartAt) || of != nil && of.Number != c.Number || call.Index < 0 { // the company's list begins with call 0
			continue
		}
		plan.Total++
		if of == nil { // cancelled by then
			plan.canceled = append(plan.canceled, call.To())
			continue
		}
		running = append(slices.DeleteFunc(running, func(end int64) bool { return end <= call.StartAt }), call.EndAt)
		plan.Concurrency = max(plan.Concurrency, len(running))
		plan.Dials = append(plan.Dials, Dial{
			To: call.To(), Queued: call.QueuedAt, Start: call.StartAt, End: call.EndAt, Talked: call.Status == "ended",
		})
	}
	if plan.Total == 0 { // a draft
		return
	}
	schedule := c.Schedule(never)
	plan.Phases = schedule.Run(func(_, until int64) (left bool, last int64) {
		left = len(plan.Dials) < plan.Total
		for _, d := range plan.Dials {
			left = left || d.Start >= until
			last = max(last, d.End)
		}
		return left, last
	}, func() string {
		if slices.ContainsFunc(plan.Dials, func(d Dial) bool { return d.Talked }) {
			return "success"
		}
		return "fail"
	})
}

// Schedule returns when the campaign may call, with what its author does until a time.
func (c *Campaign) Schedule(until int64) Schedule {
	zone := time.FixedZone(Zone, int(zoneOffset/msSecond))
	s := Schedule{Begin: c.Begin, Hours: Hours{Zone: zone, Windows: []Window{{c.Days, c.From, c.To}}, Resume: true}}
	for _, own := range []Change{{At: c.PausedFrom, Do: Pause}, {At: c.PausedTo, Do: Resume}, {At: c.Canceled, Do: Cancel}} {
		if own.At > 0 && own.At <= until {
			s.Changes = append(s.Changes, own)
		}
	}
	slices.SortStableFunc(s.Changes, func(a, b Change) int { return cmp.Compare(a.At, b.At) })
	return s
}

// agentOf returns the agent of call k, which starts at a time.
func (w *World) agentOf(k, start int64) *Agent {
	d := dice.New(dice.Hash(w.Key, uint64(k)))
	return w.roster.at(start, d.Unit())
}
