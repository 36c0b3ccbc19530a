package organisation

import (
	"fmt"

	"callhouse/internal/sandbox/dice"
	"callhouse/internal/sandbox/world"
)

// numbers are the organisation's own: those of agents, and spare ones, which are booked, given up
// and expire.
func init() { lives["telephone_numbers"] = numbers }

func numbers(o *Organisation, _ string, until int64) []*life {
	var lines []Object
	of := map[string]Object{}
	for _, a := range o.world.Agents() {
		if of[a.Line] == nil {
			of[a.Line] = Object{"inbound": nil, "outbound": nil, "line": a.Line}
			lines = append(lines, of[a.Line])
		}
		if of[a.Line][a.Direction] == nil {
			of[a.Line][a.Direction] = Object{"agent_id": a.ID.String(), "agent_version": "production"}
		}
	}
	all := o.populate(population{
		resource: "telephone_numbers", name: "lines", every: 60,
		born: func(d *draw) Object {
			n := number(d, lines[d.N]["line"].(string))
			n["inbound_agent"], n["outbound_agent"] = lines[d.N]["inbound"], lines[d.N]["outbound"]
			return n
		},
		edit: func(d *draw, _ Object) Object {
			return Object{"memo": fmt.Sprintf("checked by %s", d.Pick("Nina", "Tom", "지수"))}
		},
	}, len(lines), until)
	return append(all, o.populate(population{
		resource: "telephone_numbers", name: "spare numbers", behind: true, lifetime: 120,
		born: func(d *draw) Object {
			n := number(d, fmt.Sprintf("0211%02d%04d", d.N%100, d.Generation))
			n["status"], n["start_at"] = "scheduled", d.at+2*msDay
			return n
		},
		grow: func(_ *draw, l *life) {
			life := l.died - max(l.born, world.Epoch)
			if l.died == 0 { // without changes, some have expired and some have not
				life = 60 * msDay
			}
			begin := max(l.born, world.Epoch)
			stop, end := begin+life/2, begin+life*2/3
			l.steps = append(l.steps, set(l.born+2*msDay, Object{"status": "active"}),
				set(stop, Object{"status": "cancel_requested", "cancel_requested_at": stop, "end_at": end}), set(end, Object{"status": "expired"}))
		},
	}, o.size("spare_numbers"), until)...)
}

// Split returns the agent whose traffic is split over the calls from a number; nil if none.
func (o *Organisation) Split(number string) *world.Agent {
	for _, a := range o.world.Agents() {
		if a.Line == number && a.Direction == "outbound" { // the number belongs to the first one
			if a.Variants {
				return a
			}
			return nil
		}
	}
	return nil
}

func number(d *draw, digits string) Object {
	return Object{
		"number": digits, "provider": d.Pick("vox", "vox", "custom"), "start_at": d.at,
		"inbound_trunk_id": world.NewUUID(dice.Mix(d.Next())).String(),
	}
}
