package organisation

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"sort"
)

// Object is a resource's object, or some of its fields: what its JSON holds.
// It must not be changed.
type Object = map[string]any

// life is one object from when it came to when it vanished.
type life struct {
	id     string // names it within its list, for ever
	serial int64  // its place in a cursor, for ever
	born   int64
	died   int64 // 0: never
	first  Object
	steps  []step // what happens to it, but for what is foreseen
	// changes are in the order of time, each with no more than what it changed.
	changes []change
}

// step is something that happens to an object: do returns the fields that it sets.
type step struct {
	at    int64
	do    func(was Object) Object
	quiet bool // updated_at stays as it is
	asked bool // by a client or a test; it may be in the millisecond in which the object came
}

type change struct {
	at            int64
	before, after Object
}

// set is a step that sets fields to what is known beforehand.
func set(at int64, fields Object) step {
	return step{at: at, do: func(Object) Object { return fields }}
}

// live lets everything happen that happens to the object, in the order of time.
func (l *life) live(foreseen []Event) {
	steps := slices.Clone(l.steps)
	for i := range foreseen {
		steps = append(steps, foreseen[i].step())
	}
	slices.SortStableFunc(steps, func(a, b step) int { return cmp.Compare(a.at, b.at) })
	now := maps.Clone(l.first)
	_, dated := now["updated_at"]
	for _, s := range steps {
		if s.at < l.born || s.at == l.born && !s.asked || l.died > 0 && s.at >= l.died {
			continue
		}
		c := change{at: s.at, before: Object{}, after: Object{}}
		for name, value := range s.do(now) {
			if was := now[name]; !reflect.DeepEqual(was, value) {
				c.before[name], c.after[name] = was, value
			}
		}
		if len(c.after) == 0 {
			continue
		}
		if dated && !s.quiet {
			c.before["updated_at"], c.after["updated_at"] = now["updated_at"], s.at
		}
		maps.Copy(now, c.after)
		l.changes = append(l.changes, c)
	}
}

// at returns what the object is at t; nil where it is not there, or was never made.
func (l *life) at(t int64) Object {
	if l == nil || t < l.born || l.died > 0 && t >= l.died {
		return nil
	}
	o := maps.Clone(l.first)
	for _, c := range l.changes[:l.changed(t)] {
		maps.Copy(o, c.after)
	}
	return o
}

// changed is how many changes there were by t.
func (l *life) changed(t int64) int {
	return sort.Search(len(l.changes), func(i int) bool { return l.changes[i].at > t })
}
