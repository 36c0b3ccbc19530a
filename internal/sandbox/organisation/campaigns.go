package organisation

import (
	"fmt"

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

// ChangeCampaign does something to a campaign that is computed. Which calls it made
// until then stays as it was.
func (o *Organisation) ChangeCampaign(id string, changes []world.Change) error {
	if len(changes) == 0 {
		return nil
	}
	c := o.Campaign(id, changes[0].At)
	if c == nil {
		return fmt.Errorf("write campaigns %s: it is not there", id)
	}
	o.world.Change(c, changes...)
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.histories, listName(campaigns, ""))
	return nil
}

func (o *Organisation) campaign(c *world.Campaign) *life {
	p := o.world.Plan(c)
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
		"total_calls": int64(p.Total), "completed_calls": int64(0), "failed_calls": int64(0),
		"concurrency": int64(p.Concurrency), "active_concurrency": int64(0),
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
	if p.Total == 0 { // nobody was put on its list
		l.first["status"], l.first["scheduled_at"] = "draft", nil
	}
	for _, phase := range p.Phases {
		l.steps = append(l.steps, set(phase.At, Entered(phase)))
	}
	for _, d := range p.Dials {
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

// Entered are the fields of a campaign that comes into a state.
func Entered(t world.Phase) Object {
	o := Object{"status": t.Status, "paused_by": nil, "paused_at": nil}
	switch t.Status {
	case "paused":
		o["paused_by"], o["paused_at"] = t.By, t.At
	case "success", "fail", "canceled":
		o["finished_at"] = t.At
	}
	return o
}
