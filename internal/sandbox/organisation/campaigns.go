package organisation

import (
	"fmt"
	"slices"

	"callhouse/internal/sandbox/world"
)

// campaigns are those of the world. Their counts move with their calls, their
// status with their windows and with what users do.
var campaigns = &Resource{
	Name: "campaigns", Own: "campaign_id", List: "/v3/campaigns", Item: "/v3/campaigns/{campaign_id}",
	From: "contract: the object path; documented: the list and the fields",
	Filters: []Filter{
		is("status", true, "draft", "pending", "ongoing", "paused", "success", "fail", "canceled"),
		{Name: "agent_id", Many: true, Match: func(o Object, value string) bool { return o["agent"].(Object)["agent_id"] == value }},
		since("created_at_after", "created_at"), till("created_at_before", "created_at"),
	},
	ID: own, lives: func(o *Organisation, _ string, until int64) []*life {
		var all []*life
		for _, c := range o.world.Campaigns(until) {
			all = append(all, o.campaign(c))
		}
		return all
	},
}

// CampaignID is how the service names a campaign.
func CampaignID(c *world.Campaign) string { return fmt.Sprint(5000 + c.Number) }

// Campaign returns the campaign of an id that was created until t; nil for none.
func (o *Organisation) Campaign(id string, t int64) *world.Campaign {
	for _, c := range o.world.Campaigns(t) {
		if CampaignID(c) == id {
			return c
		}
	}
	return nil
}

func (o *Organisation) campaign(c *world.Campaign) *life {
	dials := o.world.Dials(c)
	l := &life{serial: c.Number, born: c.Created}
	days := []any{}
	for i, name := range []string{"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"} {
		if c.Days[i] {
			days = append(days, name)
		}
	}
	l.first = Object{
		"id": CampaignID(c), "name": c.Name, "status": "pending", "agent": Object{"agent_id": c.Agent.ID.String(), "agent_version": "production"},
		"from_number": c.Agent.Line, "presentation_number": nil, "created_at": c.Created, "scheduled_at": nil,
		"finished_at": nil, "paused_at": nil, "paused_by": nil,
		"total_calls": int64(o.world.Planned(c)), "completed_calls": int64(0), "failed_calls": int64(0),
		"concurrency": max(5, most(dials)), "active_concurrency": int64(0),
		"call_time_window": Object{
			"windows":  []any{Object{"days": days, "start_min": c.From, "end_min": c.To}},
			"timezone": world.Zone, "auto_resume": true,
		},
	}
	if c.Agent.Presentation != "" {
		l.first["presentation_number"] = c.Agent.Presentation
	}
	if c.Scheduled {
		l.first["scheduled_at"] = c.Begin
	}
	if o.world.Planned(c) == 0 { // nobody was put on its list
		l.first["status"], l.first["scheduled_at"] = "draft", nil
		return l
	}
	l.steps = statuses(c, dials, o.world.Planned(c))
	for _, d := range dials {
		count := "failed_calls"
		if d.Talked {
			count = "completed_calls"
		}
		l.steps = append(l.steps, add(d.Start, "active_concurrency", 1), add(d.End, "active_concurrency", -1), add(d.End, count, 1))
	}
	return l
}

func add(at int64, field string, n int64) step {
	return step{at: at, do: func(was Object) Object {
		count, _ := was[field].(int64)
		return Object{field: count + n}
	}}
}

// statuses are the states that a campaign goes through from its beginning on.
func statuses(c *world.Campaign, dials []world.Dial, planned int) []step {
	end, last := int64(0), "fail"
	for _, d := range dials {
		end = max(end, d.End)
		if d.Talked {
			last = "success"
		}
	}
	if c.Canceled > 0 && (len(dials) < planned || c.Canceled < end) {
		end, last = c.Canceled, "canceled"
	}
	moments := []int64{c.Begin, c.PausedFrom, c.PausedTo}
	for midnight := c.Begin - (c.Begin-world.Epoch)%msDay; midnight < end; midnight += msDay {
		moments = append(moments, midnight+int64(c.From)*msMinute, midnight+int64(c.To)*msMinute)
	}
	steps := []step{set(end, Object{"status": last, "finished_at": end, "paused_at": nil, "paused_by": nil})}
	for _, t := range moments {
		if t < c.Begin || t >= end {
			continue
		}
		steps = append(steps, step{at: t, do: func(was Object) Object {
			now := Object{"status": "ongoing", "paused_by": nil, "paused_at": nil}
			if t >= c.PausedFrom && t < c.PausedTo {
				now = Object{"status": "paused", "paused_by": "user", "paused_at": t}
			} else if !c.Open(t) {
				now = Object{"status": "paused", "paused_by": "system", "paused_at": t}
			}
			if was["status"] == now["status"] && was["paused_by"] == now["paused_by"] {
				return nil // as it was
			}
			return now
		}})
	}
	return steps
}

// most is how many calls go on at once.
func most(dials []world.Dial) int64 {
	var top int64
	var ends []int64
	for _, d := range dials {
		ends = slices.DeleteFunc(ends, func(end int64) bool { return end <= d.Start })
		ends = append(ends, d.End)
		top = max(top, int64(len(ends)))
	}
	return top
}
