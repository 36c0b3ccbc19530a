package world

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"callhouse/internal/sandbox/dice"
)

// Campaign is a list of people whom an agent calls, one after the other, inside
// its windows of time. It makes no call of its own: it is those calls of its agent
// that start while it dials, so a company has the same calls with campaigns and
// without, unless Config.Redial is set.
type Campaign struct {
	Number int64
	Name   string
	Agent  *Agent

	Created   int64
	Scheduled bool  // Begin was set when it was created
	Begin     int64 // from when it dials
	Stop      int64 // from when it has nobody left to call
	// A user pauses it from PausedFrom until PausedTo, and cancels it at Canceled;
	// 0: nobody does.
	PausedFrom, PausedTo, Canceled int64
	// It dials on these days of the week, Monday first, from minute From until
	// minute To, in Zone.
	Days     [7]bool
	From, To int

	once    sync.Once
	dials   []Dial
	planned int
}

// Dial is a call that a campaign makes.
type Dial struct {
	Index      int64 // of the call
	Start, End int64
	Talked     bool // it ended as a conversation does; otherwise it failed
	Attempt    int  // 1 for the first one to this person, where Config.Redial is set
	customer   int
}

// Zone is the company's, by the name that the service uses.
const Zone = "Asia/Seoul"

// campaignEvery is how often a campaign is created; each is over within ten days.
const campaignEvery = 5 * msDay

// Campaigns returns the campaigns that were created until t, oldest first: about
// Config.Campaigns by the origin, and all that came after it.
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

// CampaignOf returns the campaign that makes a call; nil for none.
func (w *World) CampaignOf(c *Call) *Campaign {
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

// campaign returns campaign n; nil where there is none.
func (w *World) campaign(n int64) *Campaign {
	if n < w.firstCampaign || w.cfg.Campaigns < 0 {
		return nil
	}
	if c, ok := w.campaigns.Load(n); ok {
		return c.(*Campaign)
	}
	c, _ := w.campaigns.LoadOrStore(n, w.newCampaign(n))
	return c.(*Campaign)
}

// Forget makes campaigns anew when they are asked for: to be called when what
// Config.VersionOf answers has changed.
func (w *World) Forget() { w.campaigns.Clear() }

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

// dialsAt reports whether the campaign dials at t unless it was cancelled.
func (c *Campaign) dialsAt(t int64) bool {
	return t >= c.Begin && t < c.Stop && (t < c.PausedFrom || t >= c.PausedTo) && c.Open(t)
}

// Dials returns the calls that the campaign makes, in the order of their start.
// It looks at every call of its days.
func (w *World) Dials(c *Campaign) []Dial {
	c.once.Do(func() { w.plan(c) })
	return c.dials
}

// Planned is how many calls the campaign was to make when it was created.
func (w *World) Planned(c *Campaign) int {
	c.once.Do(func() { w.plan(c) })
	return c.planned
}

// redialAfter is how long a campaign waits until it calls somebody again, and
// attempts how often it does at most.
const (
	redialAfter = 2 * msHour
	attempts    = 3
)

// plan lets the campaign make its calls. Whom nobody answers for is called again
// later by one of the next ones.
func (w *World) plan(c *Campaign) {
	var again []Dial
	var call Call
	last := w.arrivals.before(c.Stop)
	for k := w.arrivals.before(c.Begin - 1); k < last; k++ {
		if start := w.arrivals.start(k); !c.dialsAt(start) || w.agentOf(k, start) != c.Agent {
			continue
		}
		w.draw(&call, k)
		of := w.CampaignOf(&call)
		if call.Type != "outbound" || of != nil && of != c {
			continue
		}
		shows := k >= w.base // the company's list begins with call 0
		if shows {
			c.planned++
		}
		if of == nil { // it was cancelled by then
			continue
		}
		d := Dial{Index: k - w.base, Start: call.StartAt, End: call.EndAt, Talked: call.Status == "ended", Attempt: 1, customer: call.customer}
		due := slices.IndexFunc(again, func(a Dial) bool { return a.End+redialAfter <= d.Start })
		if w.cfg.Redial && due >= 0 {
			d.customer, d.Attempt = again[due].customer, again[due].Attempt+1
			again = slices.Delete(again, due, due+1)
		}
		if answered := d.Talked && call.Reason != "voicemail_reached"; !answered && d.Attempt < attempts {
			again = append(again, d)
		}
		if shows {
			c.dials = append(c.dials, d)
		}
	}
}

// agentOf returns whose call k is, which starts then.
func (w *World) agentOf(k, start int64) *Agent {
	d := dice.New(dice.Hash(w.Key, uint64(k)))
	return w.roster.at(start, d.Unit())
}

// redial lets a campaign's call go to the one whose turn it is.
func (w *World) redial(c *Call) {
	m := w.CampaignOf(c)
	if m == nil {
		return
	}
	dials := w.Dials(m)
	i, ok := slices.BinarySearchFunc(dials, c.Index, func(d Dial, index int64) int { return cmp.Compare(d.Index, index) })
	if ok {
		c.customer = dials[i].customer
	}
}
