package organisation

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"callhouse/internal/sandbox/dice"
	"callhouse/internal/sandbox/operation"
	"callhouse/internal/sandbox/world"
)

// startUp is the delay of an unscheduled campaign.
const startUp = 5 * 1000

// clients is a campaign of which clients decide: what determines its course.
type clients struct {
	id       string
	order    world.Order   // of each of its calls, except the callee
	callees  []world.Order // with the members that differ
	most     int           // maximum of simultaneous calls
	schedule world.Schedule

	since int64        // when a client took it over; 0: it made it
	dials []world.Dial // the calls until then
}

// createCampaign makes a campaign, as in v2. It is pending until it begins.
func (s *writing) createCampaign() (Object, *Problem) {
	version, problem := s.version(s.body["agent_id"], "agent_id", s.body["agent_version"], "agent_version")
	if problem != nil {
		return nil, problem
	}
	given, _ := s.body["call_time_window"].(Object)
	window, hours, problem := withDefaults(given)
	if problem != nil {
		return nil, problem
	}
	mine := &clients{id: fmt.Sprint(9_000_000 + s.writes), order: s.order("call_from", ""), most: 5}
	scheduled := any(nil)
	if text, ok := s.body["scheduled_at"].(string); ok {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return nil, invalid("scheduled_at", "%q is not an ISO timestamp", text)
		}
		mine.schedule.Begin = at.UnixMilli()
		scheduled = mine.schedule.Begin
	}
	if s.body["concurrency"] != nil {
		mine.most = whole(s.body["concurrency"])
	}
	mine.order.Agent, _ = world.ParseUUID(fmt.Sprint(s.body["agent_id"])) // it exists
	mine.order.Version, mine.order.Campaign = version, mine.id
	for _, task := range list(s.body["tasks"]) {
		to, _ := inside(task, "call_to").(string)
		mine.callees = append(mine.callees, world.Order{
			To: to, Metadata: text(inside(task, "metadata")), Variables: text(inside(task, "dynamic_variables")),
		})
	}
	s.write(Created, "campaigns", "", mine.id, operation.New("CampaignResponse", Object{
		"id": mine.id, "name": s.body["name"], "agent": Object{"agent_id": s.body["agent_id"], "agent_version": version},
		"from_number": s.body["call_from"], "presentation_number": s.body["presentation_number"],
		"created_at": s.now.UnixMilli(), "scheduled_at": scheduled,
		"total_calls": int64(len(mine.callees)), "concurrency": int64(mine.most), "call_time_window": window,
	}, nil))
	s.clients[mine.id] = mine
	s.steer(mine.id, world.Change{Do: world.Rehour, Hours: &hours})
	return s.find("campaigns", mine.id), nil
}

// withDefaults fills in the default hours: 08:00 to 20:00 on every day.
func withDefaults(window Object) (Object, world.Hours, *Problem) {
	window = merge(Object{
		"auto_resume": true, "timezone": world.Zone, "windows": []any{Object{
			"days":      []any{"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"},
			"start_min": 8 * 60, "end_min": 20 * 60,
		}},
	}, window)
	hours, problem := readHours(window)
	return window, hours, problem
}

// readHours reads a valid call_time_window.
func readHours(settings Object) (world.Hours, *Problem) {
	name, _ := settings["timezone"].(string)
	zone, err := time.LoadLocation(name)
	if err != nil || name == "" || name == "Local" {
		return world.Hours{}, invalid("call_time_window.timezone", "%q is not an IANA time zone", name)
	}
	h := world.Hours{Zone: zone, Resume: settings["auto_resume"] != false}
	for i, w := range list(settings["windows"]) {
		next := world.Window{From: whole(inside(w, "start_min")), To: whole(inside(w, "end_min"))}
		if next.From >= next.To {
			return h, invalid(fmt.Sprintf("call_time_window.windows.%d.end_min", i), "must be later than start_min")
		}
		for _, day := range list(inside(w, "days")) {
			for d := range next.Days {
				if time.Weekday((d+1)%7).String() == day {
					next.Days[d] = true
				}
			}
		}
		h.Windows = append(h.Windows, next)
	}
	return h, nil
}

// updateCampaign changes the name and hours of a campaign that has not begun.
func (s *writing) updateCampaign() (Object, *Problem) {
	c := s.find("campaigns", s.id)
	if c == nil {
		return nil, missing("")
	}
	status := c["status"]
	if status != "draft" && status != "pending" {
		return nil, &Problem{Conflict, "", fmt.Sprintf("a campaign can only be modified while in draft or pending; it is %v", status)}
	}
	fields := Object{}
	if s.body["name"] != nil {
		fields["name"] = s.body["name"]
	}
	if given, ok := s.body["call_time_window"].(Object); ok {
		window, hours, problem := withDefaults(given)
		if problem != nil {
			return nil, problem
		}
		fields["call_time_window"] = window
		if status == "pending" {
			s.steer(s.id, world.Change{Do: world.Rehour, Hours: &hours})
		}
	}
	return s.edit("campaigns", s.id, fields)
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
		c, is := s.find("campaigns", s.id), turns[do]
		if c == nil {
			return nil, missing("")
		}
		if !is.may(c) {
			return nil, &Problem{Conflict, "", fmt.Sprintf("a campaign that is %v cannot be %s", c["status"], is.done)}
		}
		if c["status"] == "draft" { // it has no course
			return s.edit("campaigns", s.id, entered(world.Phase{At: s.now.UnixMilli(), Status: "canceled"}))
		}
		s.steer(s.id, world.Change{Do: do})
		return s.find("campaigns", s.id), nil
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

// steer changes a campaign now, and computes its further course. A client that changes a computed
// campaign takes it over.
func (s *writing) steer(id string, change world.Change) {
	c := s.clients[id]
	if c == nil {
		c = s.takeOver(id)
		s.clients[id] = c
	}
	change.At = s.now.UnixMilli()
	c.schedule.Take(change, startUp)
	s.foresee(id, s.course(c, change.At))
}

// takeOver makes a computed campaign one of clients. Its earlier calls stay.
func (s *writing) takeOver(id string) *clients {
	now := s.now.UnixMilli()
	computed := s.Campaign(id, now)
	c := &clients{id: id, most: s.world.Plan(computed).Concurrency, schedule: computed.Schedule(now), since: now}
	for _, to := range s.world.HandOver(computed, now) {
		c.callees = append(c.callees, world.Order{To: to, Metadata: "{}", Variables: "{}"})
	}
	c.dials = s.world.Dials(computed)
	agent := computed.Agent
	c.order = world.Order{Agent: agent.ID, Version: "production", From: agent.Line, Presentation: agent.Presentation, Campaign: id}
	return c
}

// course computes everything that will happen to a campaign without further actions, and orders
// its calls. The past before an instant is unchanged.
func (s *writing) course(c *clients, from int64) []Event {
	var events []Event
	s.world.Withdraw(c.id, from+1)
	callees, made := c.callees, 0
	last, result := int64(0), "fail"
	var ends []int64
	took := func(end int64, talked bool) {
		if ends, last = append(ends, end), max(last, end); talked {
			result = "success"
		}
	}
	for _, d := range c.dials {
		took(d.End, d.Talked)
	}
	phases := c.schedule.Run(func(t, until int64) (left bool, _ int64) {
		t = max(t, c.since+1)
		for len(callees) > 0 {
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
			call := s.dial(c, made, callees[0], t)
			callees, made = callees[1:], made+1
			took(call.EndAt, call.Status == "ended")
			count := "failed_calls"
			if call.Status == "ended" {
				count = "completed_calls"
			}
			events = append(events, Event{At: call.StartAt, Add: map[string]int64{"active_concurrency": 1}},
				Event{At: call.EndAt, Add: map[string]int64{"active_concurrency": -1, count: 1}})
		}
		return false, last
	}, func() string { return result })
	for _, phase := range phases {
		if phase.At >= c.since {
			events = append(events, Event{At: phase.At, Set: entered(phase)})
		}
	}
	return events
}

// dial makes the call of a callee, or finds it if it was made before.
func (s *writing) dial(c *clients, n int, callee world.Order, t int64) *world.Call {
	o := c.order
	o.ID, o.At = world.NewUUID(dice.Text(dice.Hash(s.world.Key+13, uint64(n)), c.id)), t
	o.To, o.Metadata, o.Variables = callee.To, callee.Metadata, callee.Variables
	return s.world.Order(o)
}

// whole returns a whole number from JSON.
func whole(value any) int {
	n, _ := strconv.ParseFloat(fmt.Sprint(value), 64) // validated
	return int(n)
}
