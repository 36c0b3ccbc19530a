// Package organisation computes what a company has besides calls: agents and their versions,
// campaigns, knowledge bases, tools, numbers and so on, changing over its clock.
//
// Package operation declares the resources and fields; this package determines their values. The
// state of an object at an instant, its edits, and which objects exist follow from the seed and the
// time alone, and from what is written by [Organisation.Apply]. Everything is computed on demand.
//
// As in package world, times are unix milliseconds, UTC.
package organisation

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"callhouse/internal/sandbox/dice"
	"callhouse/internal/sandbox/operation"
	"callhouse/internal/sandbox/world"
)

// Config sets the size and pace of an organisation. The zero value is a small one.
type Config struct {
	Sizes Sizes
	// Pace multiplies the frequency of edits, publications, deletions and incidents. Default 1;
	// negative: no spontaneous changes, but running campaigns continue.
	Pace float64
}

// Sizes are numbers of objects by name, some approximate because objects come and go. The files of
// the resources declare the names; one that is missing here has the number of Small.
type Sizes map[string]int

// Small returns the sizes of an organisation whose lists mostly fit on one page.
func Small() Sizes { return sizes(func(s operation.Size) int { return s.Small }) }

// Large returns the observed sizes of a real organisation.
func Large() Sizes { return sizes(func(s operation.Size) int { return s.Large }) }

// None returns the sizes of an organisation that has only the service's defaults.
func None() Sizes { return sizes(func(s operation.Size) int { return s.None }) }

func sizes(of func(operation.Size) int) Sizes {
	all := Sizes{}
	for _, r := range All() {
		for name, s := range r.Sizes {
			all[name] = of(s)
		}
	}
	return all
}

// size returns a declared size.
func (o *Organisation) size(name string) int {
	n, ok := o.cfg.Sizes[name]
	if !ok {
		panic("sandbox: no resource declares the size " + name)
	}
	return n
}

// Organisation is safe for concurrent use.
type Organisation struct {
	cfg    Config
	world  *world.World
	origin int64
	called []string // names of the API tools that agents call

	mu        sync.Mutex
	histories map[string]*history
	written   map[string][]Write       // by list, in order
	foreseen  map[string][]Event       // of campaigns, by id
	published map[string][]publication // by agent: versions made by tests

	writing sync.Mutex          // mu may be locked under it
	writes  uint64              // counts writes of clients, for ids
	clients map[string]*clients // campaigns by id
}

// history is the objects of a list until some time, with all their changes.
type history struct {
	until int64
	lives []*life
	byID  map[string]*life
	made  int64 // number of written lives
}

// New prepares an organisation.
func New(cfg Config, w *world.World) (*Organisation, error) {
	cfg.Pace = max(cmp.Or(cfg.Pace, 1), 0)
	given := cfg.Sizes
	cfg.Sizes = Small()
	for name, n := range given {
		if _, declared := cfg.Sizes[name]; !declared {
			return nil, fmt.Errorf("check organisation: unknown size %q", name)
		} else if n < 0 || n > 100_000 {
			return nil, fmt.Errorf("check organisation: %s must be 0 to 100,000, not %d", name, n)
		}
		cfg.Sizes[name] = n
	}
	return &Organisation{
		cfg: cfg, world: w, origin: w.Origin().UnixMilli(), called: calledBy(w.Agents()),
		histories: map[string]*history{}, written: map[string][]Write{},
		foreseen: map[string][]Event{}, clients: map[string]*clients{},
		published: map[string][]publication{},
	}, nil
}

// ID returns the organisation's own id.
func (o *Organisation) ID() string { return world.NewUUID(o.key("organisation")).String() }

func (o *Organisation) key(name string) uint64 { return dice.Text(dice.Hash(o.world.Key, 30), name) }

// listName identifies a list: of a resource, or of the children of one parent.
func listName(r *Resource, parent string) string { return r.Name + "/" + parent }

// history returns the changes of a list until t or later; o.mu is held.
func (o *Organisation) history(r *Resource, parent string, t int64) *history {
	name := listName(r, parent)
	if h := o.histories[name]; h != nil && h.until >= t {
		return h
	}
	h := &history{until: t + 30*msDay, byID: map[string]*life{}}
	if of := lives[r.Name]; of != nil {
		h.lives = of(o, parent, h.until)
	} else {
		h.lives = o.populate(populationOf(r), o.size(r.Name), h.until)
	}
	for _, l := range h.lives {
		if l.id == "" {
			l.id = r.ID(l.first)
		}
		h.byID[l.id] = l
	}
	for _, w := range o.written[name] {
		h.apply(w)
	}
	if r.Parent != "" { // children vanish with their parent
		if p := o.history(Named(r.Parent), "", t).byID[parent]; p != nil && p.died > 0 {
			h.lives = slices.DeleteFunc(h.lives, func(l *life) bool { return l.born >= p.died })
			for _, l := range h.lives {
				if l.died == 0 || l.died > p.died {
					l.died = p.died
				}
			}
		}
	}
	for _, l := range h.lives {
		var foreseen []Event
		if r.Name == "campaigns" {
			foreseen = o.foreseen[l.id]
		}
		l.live(foreseen)
	}
	o.histories[name] = h
	return h
}

// Entry is an object of a list with its place.
type Entry struct {
	ID     string
	Serial int64 // constant
	Object Object
}

// read is history for callers that do not hold o.mu.
func (o *Organisation) read(r *Resource, parent string, t int64) *history {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.history(r, parent, t)
}

// List returns the objects of a list at an instant, in no particular order; parent is empty except
// for children.
func (o *Organisation) List(r *Resource, parent string, at time.Time) []Entry {
	t := at.UnixMilli()
	var all []Entry
	for _, l := range o.read(r, parent, t).lives {
		if obj := l.at(t); obj != nil {
			all = append(all, Entry{l.id, l.serial, obj})
		}
	}
	return all
}

// BySerial returns the object of a place in a list at an instant, or its last state if it had
// vanished by then.
func (o *Organisation) BySerial(r *Resource, parent string, serial int64, at time.Time) (Entry, bool) {
	t := at.UnixMilli()
	lives := o.read(r, parent, t).lives
	i := slices.IndexFunc(lives, func(l *life) bool { return l.serial == serial })
	if i < 0 {
		return Entry{}, false
	}
	l := lives[i]
	if l.died > 0 {
		t = min(t, l.died-1)
	}
	was := l.at(t)
	return Entry{l.id, serial, was}, was != nil
}

// Find returns an object at an instant; nil if missing.
func (o *Organisation) Find(r *Resource, parent, id string, at time.Time) Object {
	t := at.UnixMilli()
	return o.read(r, parent, t).byID[id].at(t)
}

// Record is an object as it should be stored.
type Record struct {
	ID     string // within its parent or resource; provider/id of a voice
	Parent string // id of the agent of a version, of the knowledge base of a document
	Object Object
}

// Truth returns every object of a resource at an instant, as in its detail, regardless of faults.
func (o *Organisation) Truth(resource string, at time.Time) []Record {
	r := Named(resource)
	var all []Record
	for _, parent := range o.parents(r, at, at) {
		for _, e := range o.List(r, parent, at) {
			all = append(all, Record{e.ID, parent, e.Object})
		}
	}
	return all
}

// parents returns the objects with lists of a resource that existed during a span; one empty id for
// a top-level list.
func (o *Organisation) parents(r *Resource, after, until time.Time) []string {
	if r.Parent == "" {
		return []string{""}
	}
	var ids []string
	for _, l := range o.read(Named(r.Parent), "", until.UnixMilli()).lives {
		if l.born <= until.UnixMilli() && (l.died == 0 || l.died > after.UnixMilli()) {
			ids = append(ids, l.id)
		}
	}
	return ids
}

// Edit is a change of an object.
type Edit struct {
	Resource string
	Parent   string
	ID       string
	At       int64
	Fields   []string // the changed fields, in order; nil at creation and deletion
	// The values of these fields; the whole object at creation (no Before) or deletion (no After).
	Before Object
	After  Object
}

// Edits returns the changes of a resource's objects after one instant and until another, in order
// of time.
func (o *Organisation) Edits(resource string, after, until time.Time) []Edit {
	r := Named(resource)
	from, to := after.UnixMilli(), until.UnixMilli()
	var all []Edit
	for _, parent := range o.parents(r, after, until) {
		for _, l := range o.read(r, parent, to).lives {
			if within(l.born, from, to) {
				all = append(all, Edit{r.Name, parent, l.id, l.born, nil, nil, l.at(l.born)})
			}
			for _, c := range l.changes[l.changed(from):l.changed(to)] {
				all = append(all, Edit{r.Name, parent, l.id, c.at, slices.Sorted(maps.Keys(c.after)), c.before, c.after})
			}
			if l.died > 0 && within(l.died, from, to) {
				all = append(all, Edit{r.Name, parent, l.id, l.died, nil, l.at(l.died - 1), nil})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Edit) int { return cmp.Compare(a.At, b.At) })
	return all
}

// Seen returns how a resource's objects differ between two instants for an observer of these two
// only: at most one edit per object, at the time of its last change.
func (o *Organisation) Seen(resource string, after, until time.Time) []Edit {
	was, is := map[[2]string]Object{}, map[[2]string]Object{}
	for _, r := range o.Truth(resource, after) {
		was[[2]string{r.Parent, r.ID}] = r.Object
	}
	for _, r := range o.Truth(resource, until) {
		is[[2]string{r.Parent, r.ID}] = r.Object
	}
	edits := o.Edits(resource, after, until)
	slices.Reverse(edits)
	var all []Edit
	for _, e := range edits {
		id := [2]string{e.Parent, e.ID}
		e.Fields, e.Before, e.After = nil, was[id], is[id]
		if e.Before != nil && e.After != nil {
			e.Before, e.After = Object{}, Object{}
			for name, now := range is[id] {
				if then := was[id][name]; !reflect.DeepEqual(then, now) {
					e.Fields, e.Before[name], e.After[name] = append(e.Fields, name), then, now
				}
			}
			slices.Sort(e.Fields)
		}
		if len(e.Before)+len(e.After) > 0 { // otherwise unchanged, or created and deleted between
			all = append(all, e)
		}
		delete(was, id)
		delete(is, id)
	}
	slices.Reverse(all)
	return all
}

func within(t, after, until int64) bool { return after < t && t <= until }
