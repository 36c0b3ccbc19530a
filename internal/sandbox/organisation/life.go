package organisation

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"sort"
)

// Object is a resource's object, or some of its fields, as decoded JSON. It must not be changed.
type Object = map[string]any

// life is one object from creation to deletion.
type life struct {
	id     string // its key within its list, forever
	serial int64  // its place in a cursor, forever
	born   int64
	died   int64 // 0: never
	first  Object
	steps  []step // its changes, except foreseen ones
	// changes are in order of time, each with only the changed fields.
	changes []change
}

// step is a change of an object: do returns the fields that it sets.
type step struct {
	at        int64
	do        func(was Object) Object
	quiet     bool // updated_at does not change
	requested bool // by a client or test; possibly in the millisecond of the object's creation
}

type change struct {
	at            int64
	before, after Object
}

// set is a step with fixed fields.
func set(at int64, fields Object) step {
	return step{at: at, do: func(Object) Object { return fields }}
}

// live applies all changes of the object in order of time.
func (l *life) live(foreseen []Event) {
	steps := slices.Clone(l.steps)
	for i := range foreseen {
		steps = append(steps, foreseen[i].step())
	}
	slices.SortStableFunc(steps, func(a, b step) int { return cmp.Compare(a.at, b.at) })
	now := maps.Clone(l.first)
	_, dated := now["updated_at"]
	for _, s := range steps {
		if s.at < l.born || s.at == l.born && !s.requested || l.died > 0 && s.at >= l.died {
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

// at returns the object at t; nil if it does not exist then.
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

// changed returns the number of changes by t.
func (l *life) changed(t int64) int {
	return sort.Search(len(l.changes), func(i int) bool { return l.changes[i].at > t })
}
