package organisation

import (
	"fmt"

	"callhouse/internal/sandbox/operation"
	"callhouse/internal/sandbox/world"
)

// campaigns returns the world's campaigns. Their counts follow their calls, their status their
// windows and the actions of users.
func init() { lives["campaigns"] = campaigns }

func campaigns(o *Organisation, _ string, until int64) []*life {
	var all []*life
	for _, c := range o.world.Campaigns(until) {
		all = append(all, o.campaign(c))
	}
	return all
}

// CampaignID returns the service's id of a campaign.
func CampaignID(c *world.Campaign) string { return fmt.Sprint(5000 + c.Number) }

// Campaign returns the campaign of an id created until t; nil if none.
func (o *Organisation) Campaign(id string, t int64) *world.Campaign {
	for _, c := range o.world.Campaigns(t) {
		if CampaignID(c) == id {
			return c
		}
	}
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
	l.first = operation.New("CampaignResponse", Object{
		"id": CampaignID(c), "name": c.Name, "agent": Object{"agent_id": c.Agent.ID.String(), "agent_version": "production"},
		"from_number": c.Agent.Line, "created_at": c.Created, "total_calls": int64(p.Total), "concurrency": int64(p.Concurrency),
		"call_time_window": Object{
			"windows":  []any{Object{"days": days, "start_min": c.From, "end_min": c.To}},
			"timezone": world.Zone, "auto_resume": true,
		},
	}, nil)
	if c.Agent.Presentation != "" {
		l.first["presentation_number"] = c.Agent.Presentation
	}
	if c.Scheduled {
		l.first["scheduled_at"] = c.Begin
	}
	if p.Total == 0 { // its list was empty
		l.first["status"], l.first["scheduled_at"] = "draft", nil
	}
	for _, phase := range p.Phases {
		l.steps = append(l.steps, set(phase.At, entered(phase)))
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
	e := Event{At: at, Add: map[string]int64{field: n}}
	return e.step()
}

// entered returns the fields of a campaign that enters a state.
func entered(t world.Phase) Object {
	o := Object{"status": t.Status, "paused_by": nil, "paused_at": nil}
	switch t.Status {
	case "paused":
		o["paused_by"], o["paused_at"] = t.By, t.At
	case "success", "fail", "canceled":
		o["finished_at"] = t.At
	}
	return o
}
