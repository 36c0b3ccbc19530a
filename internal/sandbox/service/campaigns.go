package service

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"callhouse/internal/sandbox/dice"
	"callhouse/internal/sandbox/operation"
	"callhouse/internal/sandbox/organisation"
	"callhouse/internal/sandbox/world"
)

// campaigns is the resource of writes to campaigns.
const campaigns = "campaigns"

// startUp is the delay of an unscheduled campaign.
const startUp = 5 * 1000

// campaign is a client's campaign: what determines its course.
type campaign struct {
	id       string
	order    world.Order // of each of its calls, except the callee
	tasks    []any
	most     int // maximum of simultaneous calls
	schedule world.Schedule
}

// createCampaign makes a campaign, as in v2. It is pending until it begins.
func (s *writing) createCampaign() (Object, *Problem) {
	version, problem := s.version(s.body["agent_id"], "agent_id", s.body["agent_version"], "agent_version")
	if problem != nil {
		return nil, problem
	}
	given, _ := s.body["call_time_window"].(Object)
	hours, problem := withDefaults(given)
	if problem != nil {
		return nil, problem
	}
	scheduled := any(nil)
	if text, ok := s.body["scheduled_at"].(string); ok {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return nil, invalid("scheduled_at", "%q is not an ISO timestamp", text)
		}
		scheduled = at.UnixMilli()
	}
	most := int64(5)
	if s.body["concurrency"] != nil {
		most = int64(number(s.body["concurrency"]))
	}
	id := fmt.Sprint(9_000_000 + s.writes)
	c := operation.New("CampaignResponse", Object{
		"id": id, "name": s.body["name"], "agent": Object{"agent_id": s.body["agent_id"], "agent_version": version},
		"from_number": s.body["call_from"], "presentation_number": s.body["presentation_number"],
		"created_at": s.now.UnixMilli(), "scheduled_at": scheduled,
		"total_calls": int64(len(list(s.body["tasks"]))), "concurrency": most, "call_time_window": hours, "tasks": s.body["tasks"],
	}, nil)
	s.write(organisation.Created, campaigns, "", id, c)
	return s.find(campaigns, id), nil
}

// withDefaults fills in the default hours: 08:00 to 20:00 on every day.
func withDefaults(hours Object) (Object, *Problem) {
	hours = merge(Object{
		"auto_resume": true, "timezone": world.Zone, "windows": []any{Object{
			"days":      []any{"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"},
			"start_min": 8 * 60, "end_min": 20 * 60,
		}},
	}, hours)
	_, problem := readHours(hours)
	return hours, problem
}

// updateCampaign changes the name and hours of a campaign that has not begun.
func (s *writing) updateCampaign() (Object, *Problem) {
	c := s.find(campaigns, s.id)
	if c == nil {
		return nil, missing("")
	}
	if status := c["status"]; status != "draft" && status != "pending" {
		return nil, &Problem{Conflict, "", fmt.Sprintf("a campaign can only be modified while in draft or pending; it is %v", status)}
	}
	fields := Object{}
	if s.body["name"] != nil {
		fields["name"] = s.body["name"]
	}
	if given, ok := s.body["call_time_window"].(Object); ok {
		hours, problem := withDefaults(given)
		if problem != nil {
			return nil, problem
		}
		fields["call_time_window"] = hours
	}
	return s.edit(campaigns, s.id, fields)
}

// turns are the actions of users on a campaign, and the states in which they are allowed. The
// schedule determines the next state.
var turns = map[world.Action]struct {
	done string
	may  func(c Object) bool
}{
	world.Pause: {"paused", func(c Object) bool {
		return c["status"] == "pending" || c["status"] == "ongoing" || c["paused_by"] == "system"
	}},
	world.Resume: {"resumed", func(c Object) bool { return c["status"] == "paused" }},
	world.Cancel: {"cancelled", func(c Object) bool { return c["finished_at"] == nil }},
}

// turn performs an action: a paused or cancelled campaign makes no new calls, but ongoing calls
// continue; a resumed one continues at once, or when its hours open.
func turn(do world.Action) func(*writing) (Object, *Problem) {
	return func(s *writing) (Object, *Problem) {
		c, is := s.find(campaigns, s.id), turns[do]
		if c == nil {
			return nil, missing("")
		}
		if !is.may(c) {
			return nil, &Problem{Conflict, "", fmt.Sprintf("a campaign that is %v cannot be %s", c["status"], is.done)}
		}
		return s.edit(campaigns, s.id, Object{actionField: string(do)})
	}
}

// pauseCampaignV2 is the pause of v2.
func (s *writing) pauseCampaignV2() (Object, *Problem) {
	c, problem := turn(world.Pause)(s)
	if problem != nil {
		return nil, problem
	}
	return Object{
		"success": true, "campaign_id": s.id, "status": c["status"], "paused_by": c["paused_by"], "ongoing_calls": c["active_concurrency"],
		"paused_at": s.now.UTC().Format("2006-01-02T15:04:05.000Z07:00"),
	}, nil
}

// actionField is the field of a write with the action on a campaign.
const actionField = "deed"

// applyCampaign applies a write to a campaign, and computes its further course.
func (s *Service) applyCampaign(w organisation.Write) error {
	fields := maps.Clone(w.Fields)
	delete(fields, "tasks")
	delete(fields, actionField)
	if w.Do == organisation.Created {
		c, err := readCampaign(w)
		if err != nil {
			return err
		}
		s.campaigns[w.ID] = c
	}
	if len(fields) > 0 {
		shown := w
		shown.Fields = fields
		if err := s.company.Apply(shown); err != nil {
			return err
		}
	}
	var changes []world.Change
	if do, ok := w.Fields[actionField].(string); ok {
		changes = append(changes, world.Change{At: w.At, Do: world.Action(do)})
	}
	if hours, ok := fields["call_time_window"].(Object); ok {
		h, problem := readHours(hours)
		if problem != nil {
			return fmt.Errorf("write campaigns %s: %s", w.ID, problem.Reason)
		}
		changes = append(changes, world.Change{At: w.At, Do: world.Rehour, Hours: &h})
	}
	c := s.campaigns[w.ID]
	if c == nil {
		return s.company.ChangeCampaign(w.ID, changes)
	}
	for _, change := range changes {
		c.schedule.Take(change, startUp)
	}
	s.company.Foresee(campaigns, w.ID, s.foresee(c, w.At))
	return nil
}

// readCampaign reads the write that made a campaign.
func readCampaign(w organisation.Write) (*campaign, error) {
	agent, ok := world.ParseUUID(fmt.Sprint(inside(w.Fields, "agent", "agent_id")))
	if !ok {
		return nil, fmt.Errorf("write campaigns %s: its agent has no id of the service", w.ID)
	}
	c := &campaign{id: w.ID, tasks: list(w.Fields["tasks"]), most: number(w.Fields["concurrency"])}
	c.order = world.Order{Agent: agent, Version: fmt.Sprint(inside(w.Fields, "agent", "agent_version")), Campaign: w.ID}
	c.order.From, _ = w.Fields["from_number"].(string)
	c.order.Presentation, _ = w.Fields["presentation_number"].(string)
	if w.Fields["scheduled_at"] != nil {
		c.schedule.Begin = int64(number(w.Fields["scheduled_at"]))
	}
	return c, nil
}

// foresee computes everything that will happen to a campaign without further actions, and orders
// its calls. The past before an instant is unchanged.
func (s *Service) foresee(c *campaign, from int64) []organisation.Event {
	var events []organisation.Event
	s.world.Withdraw(c.id, from+1)
	tasks, made := c.tasks, 0
	var ends []int64
	last, result := int64(0), "fail"
	phases := c.schedule.Run(func(t, until int64) (left bool, _ int64) {
		for len(tasks) > 0 {
			ends = slices.DeleteFunc(ends, func(end int64) bool { return end <= t })
			if len(ends) >= c.most {
				t = slices.Min(ends)
			}
			if t >= until {
				return true, last
			}
			if len(ends) >= c.most {
				continue
			}
			call := s.dial(c, made, tasks[0], t)
			tasks, made, ends, last = tasks[1:], made+1, append(ends, call.EndAt), max(last, call.EndAt)
			count := "failed_calls"
			if call.Status == "ended" {
				count, result = "completed_calls", "success"
			}
			events = append(events, organisation.Event{At: t, Add: map[string]int64{"active_concurrency": 1}},
				organisation.Event{At: call.EndAt, Add: map[string]int64{"active_concurrency": -1, count: 1}})
		}
		return false, last
	}, func() string { return result })
	for _, phase := range phases {
		events = append(events, organisation.Event{At: phase.At, Set: organisation.Entered(phase)})
	}
	return events
}

// dial makes the call of a task, or finds it if it was made before.
func (s *Service) dial(c *campaign, n int, task any, t int64) *world.Call {
	o := c.order
	o.ID, o.At = world.NewUUID(dice.Text(dice.Hash(s.world.Key+13, uint64(n)), c.id)), t
	o.To, _ = inside(task, "call_to").(string)
	o.Metadata, o.Variables = text(inside(task, "metadata")), text(inside(task, "dynamic_variables"))
	return s.world.Order(o)
}

// text returns an object as JSON.
func text(value any) string {
	b, err := json.Marshal(value)
	if err != nil || value == nil {
		return "{}"
	}
	return string(b)
}

// number returns a whole number from JSON.
func number(value any) int {
	n, _ := strconv.ParseFloat(fmt.Sprint(value), 64) // validated
	return int(n)
}
