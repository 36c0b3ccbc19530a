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

	seen int // number of changes of its agent's campaigns
	once sync.Once
	plan Plan
}

// Plan is the course of a campaign.
type Plan struct {
	Total       int // number of calls planned at creation
	Concurrency int // maximum of simultaneous calls
	Dials       []Dial
	Phases      []Phase
}

// Dial is a call made by a campaign.
type Dial struct {
	Index      int64 // of the call
	Start, End int64
	Talked     bool // it ended like a conversation; otherwise it failed
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
	booked, changed := w.booked(c), w.cfg.Changes.now()
	if changed == nil || c.Type != "outbound" || c.Order != nil || booked != nil && changed.of[booked.Number] == nil {
		return booked
	}
	for _, n := range changed.order {
		if m := w.campaign(n); m.Agent.Number == c.Agent.Number && w.Plan(m).dial(c.Index) != nil {
			return m
		}
	}
	return nil
}

// booked returns the campaign that makes a call if no campaign is changed.
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
	changed := w.cfg.Changes.now()
	if c, ok := w.campaigns.Load(n); ok && c.(*Campaign).fresh(changed) {
		return c.(*Campaign)
	}
	c := w.newCampaign(n)
	if c != nil && changed != nil {
		c.seen = changed.count[c.Agent.Number]
	}
	w.campaigns.Store(n, c)
	return c
}

// fresh reports whether nothing has changed since the campaign was computed.
func (c *Campaign) fresh(changed *changes) bool {
	return c == nil || changed == nil || c.seen == changed.count[c.Agent.Number]
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

// Plan returns the course of a campaign. It computes every call of its days.
func (w *World) Plan(c *Campaign) *Plan {
	c.once.Do(func() { w.plan(c) })
	return &c.plan
}

// Dials returns the calls of a campaign in order of their start.
func (w *World) Dials(c *Campaign) []Dial { return w.Plan(c).Dials }

// Last returns a time not before the start of a campaign's last call.
func (w *World) Last(c *Campaign) int64 {
	last := c.Stop
	if w.cfg.Changes.now() != nil {
		for _, d := range w.Dials(c) {
			last = max(last, d.Start)
		}
	}
	return last
}

// dial returns the dial of a call; nil if it is not in the plan.
func (p *Plan) dial(index int64) *Dial {
	i, ok := slices.BinarySearchFunc(p.Dials, index, func(d Dial, index int64) int { return cmp.Compare(d.Index, index) })
	if !ok {
		return nil
	}
	return &p.Dials[i]
}

// planner finds the calls of a campaign.
type planner struct {
	*World
	c       *Campaign
	running []int64 // ends of the ongoing calls
}

// active returns the number of ongoing calls of the campaign at a start.
func (p *planner) active(start int64) int {
	p.running = slices.DeleteFunc(p.running, func(end int64) bool { return end <= start })
	return len(p.running)
}

// add assigns a call to the campaign.
func (p *planner) add(call *Call) {
	d := Dial{Index: call.Index, Start: call.StartAt, End: call.EndAt, Talked: call.Status == "ended"}
	if call.Index >= 0 { // the company's list begins with call 0
		p.c.plan.Dials = append(p.c.plan.Dials, d)
		p.running = append(p.running, d.End)
	}
}

// outbound yields the agent's outbound calls that start in a span.
func (p *planner) outbound(from, until int64) iter.Seq[*Call] {
	return func(yield func(*Call) bool) {
		var call Call
		last := p.arrivals.before(until - 1)
		for k := p.arrivals.before(from - 1); k < last; k++ {
			if p.agentOf(k, p.arrivals.start(k)) != p.c.Agent {
				continue
			}
			if p.call(&call, k); call.Type == "outbound" && !yield(&call) {
				return
			}
		}
	}
}

// plan computes a campaign's calls: those booked for it, until it is changed. After that, calls of
// its agent booked for no campaign belong to it as well, so that it makes the planned number.
func (w *World) plan(c *Campaign) {
	p, plan := &planner{World: w, c: c}, &c.plan
	changed := w.cfg.Changes.now()
	requested := changed.of1(c.Number)
	since := int64(never)
	if len(requested) > 0 {
		since = requested[0].At
	}
	plan.Concurrency = 5
	unchanged := planner{} // for the calls without changes
	for call := range p.outbound(c.Begin, c.Stop) {
		of := w.booked(call)
		if !c.dialsAt(call.StartAt) || of != nil && of.Number != c.Number {
			continue
		}
		if call.Index >= 0 {
			plan.Total++
		}
		if of == nil { // cancelled by then
			continue
		}
		if call.Index >= 0 {
			plan.Concurrency = max(plan.Concurrency, unchanged.active(call.StartAt)+1)
			unchanged.running = append(unchanged.running, call.EndAt)
		}
		if call.QueuedAt <= since {
			p.add(call)
		}
	}
	schedule := c.schedule(requested)
	if plan.Total == 0 { // a draft
		for _, change := range schedule.Changes {
			if change.Do == Cancel && len(requested) > 0 {
				plan.Phases = []Phase{{At: change.At, Status: "canceled"}}
			}
		}
		return
	}
	seen := since + 1
	plan.Phases = schedule.Run(func(from, until int64) (left bool, last int64) {
		if len(requested) > 0 {
			until = min(until, schedule.Until)
			p.goOn(max(from, seen), until, &schedule.Hours, changed)
			seen = max(seen, until)
		}
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
	slices.SortFunc(plan.Dials, func(a, b Dial) int { return cmp.Compare(a.Index, b.Index) })
}

// goOn adds the calls of a changed campaign: those queued in a span in which it may call, and
// started within its hours.
func (p *planner) goOn(from, until int64, hours *Hours, changed *changes) {
	plan := &p.c.plan
	for call := range p.outbound(from, until+maxQueue) {
		if len(plan.Dials) >= plan.Total {
			return
		}
		of := p.booked(call)
		if call.Index < 0 || call.QueuedAt < from || call.QueuedAt >= until || !hours.Open(call.StartAt) || of != nil && of.Number != p.c.Number {
			continue
		}
		taken := slices.ContainsFunc(changed.before(p.c.Number), func(n int64) bool {
			m := p.campaign(n)
			return m.Agent == p.c.Agent && p.Plan(m).dial(call.Index) != nil
		})
		if p.active(call.StartAt) < plan.Concurrency && !taken {
			p.add(call)
		}
	}
}

// followed is how long a campaign is followed after its last change. Otherwise hours without calls
// of its agent would keep it forever.
const followed = 60 * msDay

// schedule returns when the campaign may call. After the first change by a client, its author's
// later edits do not apply.
func (c *Campaign) schedule(requested []Change) Schedule {
	zone := time.FixedZone(Zone, int(zoneOffset/msSecond))
	s := Schedule{Begin: c.Begin, Hours: Hours{Zone: zone, Windows: []Window{{c.Days, c.From, c.To}}, Resume: true}}
	for _, own := range []Change{{At: c.PausedFrom, Do: Pause}, {At: c.PausedTo, Do: Resume}, {At: c.Canceled, Do: Cancel}} {
		if own.At > 0 && (len(requested) == 0 || own.At <= requested[0].At) {
			s.Changes = append(s.Changes, own)
		}
	}
	slices.SortStableFunc(s.Changes, func(a, b Change) int { return cmp.Compare(a.At, b.At) })
	for _, change := range requested {
		s.Take(change, 0)
		s.Until = change.At + followed
	}
	return s
}

// agentOf returns the agent of call k, which starts at a time.
func (w *World) agentOf(k, start int64) *Agent {
	d := dice.New(dice.Hash(w.Key, uint64(k)))
	return w.roster.at(start, d.Unit())
}
