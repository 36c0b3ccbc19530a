package organisation

import (
	"fmt"
	"maps"
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
	o.mu.Lock()
	defer o.mu.Unlock()
	if w.Do == Published {
		o.published[w.ID] = append(o.published[w.ID], publication{at: w.At, description: w.Fields["description"]})
		clear(o.histories) // agents and versions depend on it
		return nil
	}
	name := listName(r, w.Parent)
	o.written[name] = append(o.written[name], w)
	delete(o.histories, name)
	for _, child := range All() { // children vanish with their parent
		if child.Parent == r.Name {
			delete(o.histories, listName(child, w.ID))
		}
	}
	return nil
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

// foresee replaces the future changes of a campaign.
func (o *Organisation) foresee(id string, events []Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.foreseen[id] = events
	delete(o.histories, listName(Named("campaigns"), ""))
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
