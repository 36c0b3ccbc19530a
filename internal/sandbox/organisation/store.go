package organisation

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// Write is a change by a client or test. Everything not computed from the seed is an ordered list
// of them.
type Write struct {
	At       int64
	Do       Action
	Resource string
	Parent   string
	ID       string
	Fields   Object // the new object, or the fields set
}

// Action is the kind of a write.
type Action string

// Only Published creates versions of an agent.
const (
	Created   Action = "created"
	Edited    Action = "edited"
	Deleted   Action = "deleted"
	Published Action = "published" // ID is the agent's
)

// Apply applies a write. An object that it changes must exist; one that it creates must not.
func (o *Organisation) Apply(w Write) error {
	r, now := Named(w.Resource), time.UnixMilli(w.At)
	there := o.Find(r, w.Parent, w.ID, now) != nil
	switch {
	case there && w.Do == Created:
		return fmt.Errorf("write %s %s: it already exists", w.Resource, w.ID)
	case !there && w.Do != Created:
		return fmt.Errorf("write %s %s: it does not exist", w.Resource, w.ID)
	case w.Do == Edited && len(w.Fields) == 0:
		return fmt.Errorf("write %s %s: no fields given", w.Resource, w.ID)
	}
	if w.Do == Published {
		p := publication{at: w.At, description: w.Fields["description"]}
		o.publishing.Lock()
		o.published[w.ID] = append(o.published[w.ID], p)
		o.publishing.Unlock()
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if w.Do == Published {
		clear(o.histories) // versions, calls and campaigns depend on it
		return nil
	}
	name := listName(r, w.Parent)
	o.written[name] = append(o.written[name], w)
	o.recompute(r, name, w.ID, func(h *history) { h.apply(w) })
	for _, child := range All() { // children vanish with their parent
		if child.Parent == r.Name {
			delete(o.histories, listName(child, w.ID))
		}
	}
	return nil
}

// recompute recomputes one object of a list. Concurrent readers keep the old state; o.mu is held.
func (o *Organisation) recompute(r *Resource, name, id string, change func(*history)) {
	was := o.histories[name]
	if was == nil {
		return // it will include the write
	}
	h := &history{until: was.until, lives: slices.Clone(was.lives), byID: maps.Clone(was.byID), made: was.made}
	if l := h.byID[id]; l != nil {
		h.replace(l, &life{id: l.id, serial: l.serial, born: l.born, died: l.died, first: l.first, steps: slices.Clone(l.steps)})
	}
	change(h)
	h.byID[id].live(o.foreseen[r.Name][id])
	o.histories[name] = h
}

func (h *history) replace(was, is *life) {
	h.lives[slices.Index(h.lives, was)] = is
	h.byID[is.id] = is
}

// apply adds a write to the history of a list.
func (h *history) apply(w Write) {
	l := h.byID[w.ID]
	switch {
	case w.Do == Created:
		h.made++
		l = &life{id: w.ID, serial: 1<<60 + h.made, born: w.At, first: w.Fields}
		h.lives = append(h.lives, l)
		h.byID[w.ID] = l
	case l == nil:
	case w.Do == Edited:
		s := set(w.At, w.Fields)
		s.requested = true
		l.steps = append(l.steps, s)
	case l.died == 0 || w.At < l.died:
		l.died = w.At
	}
}

// Event is a future change of an object: fields that are set, and numbers that are added to.
type Event struct {
	At  int64
	Set Object
	Add map[string]int64
}

// Foresee replaces the future changes of a written object.
func (o *Organisation) Foresee(resource, id string, events []Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.foreseen[resource] == nil {
		o.foreseen[resource] = map[string][]Event{}
	}
	o.foreseen[resource][id] = events
	r := Named(resource)
	o.recompute(r, listName(r, ""), id, func(*history) {})
}

// step converts an event.
func (e *Event) step() step {
	return step{at: e.At, requested: true, do: func(was Object) Object {
		fields := maps.Clone(e.Set)
		if fields == nil {
			fields = Object{}
		}
		for name, n := range e.Add {
			count, _ := was[name].(int64)
			fields[name] = count + n
		}
		return fields
	}}
}

// Edit sets fields of an object from now on, like its author, and moves its updated_at if it has
// one.
func (o *Organisation) Edit(now time.Time, resource, parent, id string, fields Object) error {
	return o.Apply(Write{At: now.UnixMilli(), Do: Edited, Resource: resource, Parent: parent, ID: id, Fields: fields})
}

// Delete makes an object vanish now. Calls still name a deleted agent.
func (o *Organisation) Delete(now time.Time, resource, parent, id string) error {
	return o.Apply(Write{At: now.UnixMilli(), Do: Deleted, Resource: resource, Parent: parent, ID: id})
}

// Publish makes a version of an agent now, puts it into production, and returns its name.
func (o *Organisation) Publish(now time.Time, id, description string) (string, error) {
	w := Write{At: now.UnixMilli(), Do: Published, Resource: "agents", ID: id, Fields: Object{}}
	if description != "" {
		w.Fields["description"] = description
	}
	if err := o.Apply(w); err != nil {
		return "", err
	}
	name, _ := o.Find(Named("agents"), "", id, now)["production_version"].(string)
	return name, nil
}
