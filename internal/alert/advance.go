package alert

import (
	"maps"
	"slices"
	"time"
)

// Policy holds a rule's settings for its messages.
type Policy struct {
	Name       string
	Definition string // hash of the rule; a different one restarts it
	Source     string
	Condition  string
	Channels   []string
}

// Reading is one group of calls in one window.
type Reading struct {
	Key   string // identifies the group
	Item  Item
	Fires bool // the condition is met, beyond chance
	Holds bool // a running alert continues: the condition is met, perhaps by chance
}

// quiet is how long a group may lack enough calls before its alert ends.
const quiet = 7 * 24 * time.Hour

// Advance applies the readings of a rule, for the window that ends at until, to the state, adds the
// due messages to the outbox, and returns them. A group without a reading could not be judged, so
// its alert continues, but for at most a week of calls, even if these arrive late.
func (s *State) Advance(p Policy, readings []Reading, until, now time.Time) (due []*Message) {
	r := s.rule(p)
	r.Error = ""
	var ids [2][]string
	var items [2][]Item
	notify := func(event int, id string, item Item) {
		ids[event], items[event] = append(ids[event], id), append(items[event], item)
	}
	for _, read := range readings {
		g := r.Groups[read.Key]
		if g == nil {
			g = &Group{}
			r.Groups[read.Key] = g
		}
		if event, id := g.take(p, read); event != none {
			notify(event, id, g.Alert.Last)
			if event == ended {
				g.Alert = nil
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(r.Groups)) {
		g := r.Groups[key]
		if slices.ContainsFunc(readings, func(read Reading) bool { return read.Key == key }) || until.Sub(g.Window) < quiet {
			continue
		}
		if g.Alert != nil {
			g.Alert.Last.Note = "No longer judged: too few calls for a week."
			notify(ended, g.Alert.ID, g.Alert.Last)
		}
		delete(r.Groups, key)
	}
	for event, name := range []Event{Started, Ended} {
		if len(items[event]) == 0 {
			continue
		}
		id := idOf(append([]string{string(name)}, ids[event]...)...)
		for _, c := range p.Channels {
			m := &Message{ID: id + "-" + idOf(c)[:6], Channel: c, Event: name, Source: p.Source, Rule: p.Name, Condition: p.Condition,
				At: now.UTC(), Items: items[event]}
			due = append(due, m)
		}
	}
	s.Outbox = append(s.Outbox, due...)
	return due
}

// Indexes of the events.
const (
	started = iota
	ended
	none
)

// take applies a reading to a group, and returns the due event and its id.
func (g *Group) take(p Policy, read Reading) (event int, id string) {
	item := read.Item
	if item.To.After(g.Window) {
		g.Window = item.To
	}
	switch {
	case g.Alert == nil && read.Fires:
		item.Since = item.From
		g.Alert = &Alert{ID: idOf(p.Name, p.Definition, read.Key, item.To.UTC().String()), Since: item.Since, Last: item}
		return started, g.Alert.ID
	case g.Alert == nil:
		return none, ""
	}
	item.Since = g.Alert.Since
	g.Alert.Last = item
	if !read.Fires && !read.Holds {
		return ended, g.Alert.ID
	}
	return none, ""
}

// Fail records that a rule could not be evaluated; waits means that its calls are not all listed
// yet. Its alerts do not change.
func (s *State) Fail(p Policy, why string, waits bool) {
	r := s.rule(p)
	r.Error, r.Waits = clip(why), waits
}

// rule returns the state of a rule. An edited rule starts with an empty state.
func (s *State) rule(p Policy) *Rule {
	r := s.Rules[p.Name]
	if r == nil || r.Definition != p.Definition {
		r = &Rule{Definition: p.Definition, Groups: map[string]*Group{}}
		s.Rules[p.Name] = r
	}
	return r
}
