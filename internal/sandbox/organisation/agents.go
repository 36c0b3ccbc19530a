package organisation

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"callhouse/internal/sandbox/dice"
	"callhouse/internal/sandbox/operation"
	"callhouse/internal/sandbox/world"
)

// publication is a version of an agent: its state at that time.
type publication struct {
	number      int
	at          int64
	description any // string or nil
}

// publications returns the times of an agent's versions, in order. Those that calls name by number
// were made before world.Epoch. o.mu is held.
func (o *Organisation) publications(a *profile, until int64) []publication {
	var all []publication
	old := min(max(o.size("old_versions"), 8), a.newest) // older ones are not kept
	gap := (world.Epoch - msDay - a.born) / int64(max(a.newest, 1))
	for n := a.newest - old; n < a.newest; n++ {
		all = append(all, publication{at: a.born + int64(n+1)*gap})
	}
	if a.newest > 0 { // drafts are not published by themselves
		o.edits(&life{born: a.born}, dice.Hash(a.key, 7), 24, until, func(h uint64, at int64) {
			p := publication{at: at}
			if h%8 == 0 {
				p.description = "Reviewed with " + a.Staff()
			}
			all = append(all, p)
		})
	}
	all = append(all, o.published[a.id]...)
	slices.SortStableFunc(all, func(a, b publication) int { return cmp.Compare(a.at, b.at) })
	for i := range all {
		all[i].number = a.newest - old + 1 + i
	}
	return all
}

// agents are the agents that make calls, in order of their numbers, which never vanish by
// themselves, and drafts, which make no calls and come and go.
func init() { lives["agents"], lives["agent_versions"] = agents, agentVersions }

func agents(o *Organisation, _ string, until int64) []*life {
	var all []*life
	for _, a := range o.world.Agents() {
		p := o.caller(a)
		l := &life{serial: int64(a.Number), born: p.born, first: p.object()}
		for _, v := range o.publications(p, world.Epoch) {
			if v.number%5 == 0 { // so that versions differ
				l.steps = append(l.steps, p.edit(dice.Hash(p.key, uint64(v.number)+1000), v.at-msHour))
			}
		}
		o.edits(l, dice.Hash(p.key, 1), 14, until, func(h uint64, at int64) { l.steps = append(l.steps, p.edit(h, at)) })
		o.publish(l, p, until)
		all = append(all, l)
	}
	places := o.size("drafts")
	if len(o.world.Agents()) == 0 {
		places = 0 // drafts are based on these agents
	}
	drafts := o.populate(population{
		resource: "agents", name: "drafts", behind: true, lifetime: 20, every: 3,
		born: func(d *draw) Object { return o.draft(d).object() },
		edit: func(d *draw, was Object) Object { return o.draft(d).edit(d.Next(), d.at).do(was) },
	}, places, until)
	for _, l := range drafts {
		o.publish(l, &profile{id: l.first["id"].(string), born: l.born}, until)
	}
	return append(all, drafts...)
}

// caller returns the profile of an agent that makes calls.
func (o *Organisation) caller(a *world.Agent) *profile {
	h := dice.Hash(o.key("agents"), uint64(a.Number))
	p := o.profile(a, a.ID.String(), h, world.Epoch-span(h, 400)-100*msDay)
	p.newest = a.Newest
	if a.Number%8 == 5 { // names may repeat
		p.name = o.caller(o.world.Agents()[a.Number-2]).name
	}
	p.long = a.Number%7 == 3 && a.Number/7 < o.size("long_prompts")
	return p
}

func (o *Organisation) draft(d *draw) *profile {
	all := o.world.Agents()
	h := dice.Hash(o.key(d.id), 0)
	p := o.profile(all[dice.Pick(h, len(all))], d.id, h, d.at)
	p.name += " (draft)"
	return p
}

// publish makes an agent show its newest version.
func (o *Organisation) publish(l *life, p *profile, until int64) {
	for _, v := range o.publications(p, until) {
		s := set(v.at, Object{"production_version": v.name()})
		s.quiet = true // whether the service changes updated_at is unknown
		l.steps = append(l.steps, s)
	}
}

func (p publication) name() string { return fmt.Sprintf("v%d", p.number) }

// agentVersions returns an agent's versions, newest first. A version never changes, except for
// being in production.
func agentVersions(o *Organisation, parent string, until int64) []*life {
	agent := o.history(Named("agents"), "", until).byID[parent]
	if agent == nil {
		return nil
	}
	var all []*life
	for n, v := range o.publications(o.profileOf(agent), until) {
		l := &life{serial: int64(v.number), born: v.at, first: operation.New("AgentVersion", Object{
			"version": v.name(), "created_at": v.at, "description": v.description,
		}, nil)}
		if n > 0 {
			all[n-1].steps = append(all[n-1].steps, set(v.at, Object{"is_production": false}))
		}
		all = append(all, l)
	}
	return all
}

// profileOf returns the part of an agent's profile on which its publications depend.
func (o *Organisation) profileOf(l *life) *profile {
	for _, a := range o.world.Agents() {
		if a.ID.String() == l.id {
			return o.caller(a)
		}
	}
	return &profile{id: l.id, born: l.born}
}

// AgentAt returns an agent with its field version: current, production, or vN; nil if there is no
// such version.
func (o *Organisation) AgentAt(id, version string, t int64) Object {
	l := o.read(Named("agents"), "", t).byID[id]
	now := l.at(t)
	if now == nil {
		return nil
	}
	if version == "" || version == "current" {
		now["version"] = nil
		return now
	}
	if version == "production" {
		version, _ = now["production_version"].(string)
	}
	v := o.read(Named("agent_versions"), id, t).byID[version]
	is := v.at(t)
	if is == nil {
		return nil
	}
	then := l.at(v.born)
	now["data"], now["flow"], now["version"] = then["data"], then["flow"], is
	return now
}

// profile is what determines an agent's settings.
type profile struct {
	*world.Agent
	o      *Organisation
	id     string
	key    uint64
	born   int64
	name   string
	newest int // version at world.Epoch
	long   bool
}

func (o *Organisation) profile(a *world.Agent, id string, key uint64, born int64) *profile {
	name := a.Company + " " + strings.ReplaceAll(a.Scenario, "_", " ")
	return &profile{Agent: a, o: o, id: id, key: key, born: born, name: name}
}

// Staff returns who is behind an agent, for templates too.
func (p *profile) Staff() string {
	return [...]string{"operations", "legal", "the call centre", "sales"}[p.key%4]
}

func (p *profile) object() Object {
	o := operation.New("Agent", Object{"id": p.id, "name": p.name, "created_at": p.born, "updated_at": p.born, "data": p.data()}, nil)
	if p.Flow {
		o["type"], o["flow"] = "flow", p.flow(p.key)
	}
	return o
}

// edit is an author's edit of an agent: mostly one of its settings.
func (p *profile) edit(h uint64, at int64) step {
	return step{at: at, do: func(was Object) Object {
		if h%10 == 0 {
			if n := h >> 8 % 4; n > 1 {
				return Object{"name": fmt.Sprintf("%s %d", p.name, n)}
			}
			return Object{"name": p.name}
		}
		if h%10 == 1 && was["flow"] != nil {
			return Object{"flow": p.flow(h)}
		}
		data, _ := was["data"].(Object)
		return Object{"data": p.changed(data, dice.New(h))}
	}}
}
