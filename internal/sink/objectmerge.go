package sink

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"callhouse/internal/layout"
	"callhouse/internal/phone"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
	"callhouse/internal/wire"
)

// arrivals are the new records of one resource.
type arrivals struct {
	objects     map[string]*arrival
	listed      map[string]completeList // complete lists, by the key of the parent
	unconfirmed map[string]completeList // those that are empty and not yet confirmed
	gone        map[string]completeList // deleted objects, with the list that no longer has them
}

// of returns the new records of a resource, to be added to.
func (in *intake) of(of *resource.Resource) *arrivals {
	a := in.arrivals[of]
	if a == nil {
		a = &arrivals{objects: map[string]*arrival{}, listed: map[string]completeList{}, unconfirmed: map[string]completeList{},
			gone: map[string]completeList{}}
		in.arrivals[of] = a
	}
	return a
}

// arrival is the set of new records of one object.
type arrival struct {
	key     string
	run     string
	entries []entry // in the order in which they came
	seen    int64   // when a list last contained it, ms UTC
}

// completeList is a complete list.
type completeList struct {
	schema.Listed
	resource.Fetched
}

// addObject adds a record of a resource, unless its object was forgotten.
func (in *intake) addObject(at entry, r *schema.Record, run string) error {
	of := resource.ByName(r.Resource)
	if of == nil {
		return fmt.Errorf("%w: there is no resource %q", errUnreadable, r.Resource)
	}
	a := in.of(of)
	if r.Kind == schema.KindListed {
		l := completeList{Fetched: resource.Fetched{At: r.FetchedAt, Run: run}}
		if err := json.Unmarshal(r.Body, &l.Listed); err != nil {
			return fmt.Errorf("%w: a complete list: %w", errUnreadable, err)
		}
		a.listed[r.CallID] = l
		return nil
	}
	if of.Forgot(r.CallID, in.forgotten.Forgot) {
		return nil
	}
	o := a.objects[r.CallID]
	if o == nil {
		o = &arrival{key: r.CallID}
		a.objects[r.CallID] = o
	}
	o.run = run
	if o.entries = append(o.entries, at); r.Kind == schema.KindItem {
		o.seen = r.FetchedAt
	}
	return nil
}

// objects merges the new records of the resources. It returns when the organisation's numbers
// change.
func (m *maker) objects() (moved []ownedSpan, err error) {
	var changes []schema.Row
	for _, of := range resource.All {
		if err := m.holdBackEmpty(of); err != nil {
			return nil, fmt.Errorf("%s: %w", of.Name, err)
		}
	}
	for _, of := range resource.All {
		a := m.in.arrivals[of]
		normalizes := of == resource.Customers && m.readElsewhere(of.Name, "")
		if a == nil && (normalizes || len(m.gone(of.Parent)) > 0) {
			a = m.in.of(of)
		}
		if a == nil {
			continue
		}
		o := &objectMerge{m: m, of: of, a: a, w: m.objectFiles(of)}
		records := slices.SortedFunc(maps.Values(a.objects), func(a, b *arrival) int { return cmp.Compare(a.key, b.key) })
		err := inOrder(o.each, records, func(a *arrival, old *schema.Object) int { return cmp.Compare(a.key, of.KeyOf(old.Row)) }, o.visit)
		if err := m.finish(o.w, []string{of.Name}, normalizes || o.edited > 0, err); err != nil {
			return nil, fmt.Errorf("%s: %w", of.Name, err)
		}
		if of == resource.Numbers {
			if m.lines, err = readNumbers(m.old, m.country); err != nil {
				return nil, fmt.Errorf("%s: %w", of.Name, err)
			}
			was := m.lines
			m.lines = numbersOf(m.country, o.rows)
			moved = was.moved(m.lines)
		}
		changes = append(changes, o.changes...)
	}
	if len(changes) > 0 {
		err = m.rewriteChanges(changes, func(schema.Row) bool { return false })
	}
	m.made.ObjectsChanged += resource.Edits(changes)
	return moved, err
}

// gone returns the deleted objects of a resource, with the list that no longer has them.
func (m *maker) gone(of *resource.Resource) map[string]completeList {
	if a := m.in.arrivals[of]; a != nil {
		return a.gone
	}
	return nil
}

// objectFiles returns writers of the files of a resource.
func (m *maker) objectFiles(of *resource.Resource) dataFiles {
	files := newDataFiles(m.b, "", of.Table)
	if of == resource.Customers {
		files.ReadIn(m.country)
	}
	return files
}

// readElsewhere reports whether the national numbers of an old file were read in another region.
func (m *maker) readElsewhere(table, period string) bool {
	f := m.was.FileOf(table, period)
	return f != nil && f.Country != m.country
}

// lists returns the states of the lists for the new snapshot.
func (m *maker) lists() map[string]layout.List {
	out := map[string]layout.List{}
	maps.Copy(out, m.was.Lists)
	for _, of := range resource.All {
		all := out[of.Name]
		set := func(parent string, l layout.List) {
			if of.Parent == nil {
				all = l
				return
			}
			if all.Of == nil {
				all.Of = map[string]layout.List{}
			}
			all.ListedAt, all.Of[parent] = max(all.ListedAt, l.ListedAt), l
		}
		all.Of = maps.Clone(all.Of)
		if a := m.in.arrivals[of]; a != nil {
			for parent, l := range a.listed {
				set(parent, layout.List{ListedAt: l.Begun})
			}
			for parent, l := range a.unconfirmed {
				set(parent, layout.List{ListedAt: m.was.ListOf(of, parent).ListedAt, EmptyAt: l.Begun})
			}
		}
		for parent := range m.gone(of.Parent) {
			delete(all.Of, parent)
		}
		if all.ListedAt > 0 || all.EmptyAt > 0 {
			out[of.Name] = all
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// changeID identifies the changes of one object seen by one run.
type changeID struct{ resource, key, run string }

func changeOf(row schema.Row) changeID {
	text := func(name string) string { return string(schema.TextOf(row[resource.Changes.Column(name)])) }
	return changeID{text("resource"), text("key"), text("run_id")}
}

// rewriteChanges rewrites the table of changes: it drops the rows that are gone, and adds others,
// either as separate rows or joined to earlier changes of the same object in this run.
func (m *maker) rewriteChanges(rows []schema.Row, gone func(schema.Row) bool) error {
	later := map[changeID]int{} // index of the row of a change, from 1
	for i, row := range rows {
		later[changeOf(row)] = i + 1
	}
	w := newDataFiles(m.b, "", &resource.Changes)
	err := m.old.EachChange(func(now schema.Row) error {
		if gone(now) {
			return nil
		}
		if i := later[changeOf(now)]; i > 0 && rows[i-1] != nil {
			if both := resource.Join(now, rows[i-1]); both != nil {
				now, rows[i-1] = both, nil
			}
		}
		return w[0].Add(now)
	})
	for _, row := range rows {
		if err == nil && row != nil {
			err = w[0].Add(row)
		}
	}
	return m.finish(w, []string{resource.Changes.Name}, true, err)
}

// holdBackEmpty ignores lists that are empty although objects were known: the service may be wrong. An
// empty list is accepted if another run finds it empty again.
func (m *maker) holdBackEmpty(of *resource.Resource) error {
	a, empty := m.in.arrivals[of], map[string]completeList{}
	if a == nil {
		return nil
	}
	for parent, l := range a.listed {
		if l.Items == 0 && m.was.ListOf(of, parent).EmptyAt == 0 {
			empty[parent] = l
		}
	}
	if len(empty) == 0 {
		return nil
	}
	return m.old.EachObject(of, func(o *schema.Object) error {
		parent := of.ParentOf(of.KeyOf(o.Row))
		if l, ok := empty[parent]; ok && !of.Deleted(o) {
			delete(empty, parent)
			delete(a.listed, parent)
			a.unconfirmed[parent] = l
			if !slices.Contains(m.made.Unconfirmed, of.Name) {
				m.made.Unconfirmed = append(m.made.Unconfirmed, of.Name)
			}
		}
		return nil
	})
}

// unconfirmedList reports whether one of an object's lists is empty and not yet confirmed. The next run
// requests it again.
func (m *maker) unconfirmedList(of *resource.Resource, key string) bool {
	return slices.ContainsFunc(of.Children(), func(child *resource.Resource) bool {
		empty, believed := false, false
		if a := m.in.arrivals[child]; a != nil {
			_, empty = a.unconfirmed[key]
			_, believed = a.listed[key]
		}
		return empty || !believed && m.was.ListOf(child, key).EmptyAt > 0
	})
}

// objectMerge merges the new records of one resource into its files.
type objectMerge struct {
	m       *maker
	of      *resource.Resource
	a       *arrivals
	w       dataFiles
	dec     wire.Decoder
	changes []schema.Row
	rows    []schema.Row // all objects, if these are numbers
	edited  int          // objects whose row changed
}

// each visits the objects of the previous snapshot.
func (o *objectMerge) each(visit func(*schema.Object) error) error {
	return o.m.old.EachObject(o.of, visit)
}

// objectState is an object while it is merged.
type objectState struct {
	key       string
	old, now  *schema.Object
	at        resource.Fetched // of the last record
	changed   bool
	completed bool // its record was fetched
}

// writable returns the object, which may be changed: not old, which must stay unchanged.
func (s *objectState) writable() *schema.Object {
	if s.now == s.old {
		s.now = new(schema.Object)
		s.now.Set(s.old)
	}
	return s.now
}

// visit writes the current state of an object, which has an old row, new records, or both.
func (o *objectMerge) visit(old *schema.Object, a *arrival) error {
	s := &objectState{old: old, now: old}
	if old != nil {
		s.key = o.of.KeyOf(old.Row)
	}
	if a != nil {
		s.key = a.key
		for _, e := range a.entries {
			if err := o.take(s, e, a.run); err != nil {
				return err
			}
		}
	}
	if s.now == nil {
		return nil
	}
	o.leave(s, a)
	if s.changed {
		if row := o.of.Change(old, s.now, s.at, o.m.was.ListOf(o.of, o.of.ParentOf(s.key)).ListedAt); row != nil {
			o.changes = append(o.changes, row)
		}
	}
	normalized := o.of == resource.Customers && resource.SetPhones(s.now,
		func(number string) (string, bool) { return phone.Normal(number, o.m.country) })
	if s.changed || s.completed || normalized {
		o.edited++
	}
	if o.of == resource.Numbers {
		o.rows = append(o.rows, s.now.Row)
	}
	return o.w.Write(s.now)
}

// take merges one record: an item of a list, or the object's own record. One that cannot be decoded
// is skipped.
func (o *objectMerge) take(s *objectState, e entry, run string) error {
	r, err := o.m.in.frames.Record(e.framePlace, e.line)
	if err != nil {
		return err
	}
	var came *schema.Object
	if r.Kind == schema.KindItem || s.now != nil && len(r.Body) > 0 {
		if came, err = o.decode(&r, s.key); err != nil {
			o.m.lose(o.m.in.frames.Segments[e.Segment].Run, s.key, err)
			return nil
		}
	}
	s.at = resource.Fetched{At: r.FetchedAt, Run: run}
	switch {
	case r.Kind == schema.KindItem:
		if o.of.MergeItem(s.now, came, s.at) {
			s.now, s.changed = came, true
		}
	case s.now != nil: // otherwise no list contained it
		s.changed = o.of.MergeRecord(s.writable(), came, s.at) || s.changed
		s.completed = true
		if o.m.unconfirmedList(o.of, s.key) {
			o.of.Reopen(s.now)
		}
	}
	return nil
}

// leave marks an object as deleted if its list no longer has it, or if its parent is gone.
func (o *objectMerge) leave(s *objectState, a *arrival) {
	parent := o.of.ParentOf(s.key)
	l, ok := o.a.listed[parent]
	if !ok {
		l, ok = o.m.gone(o.of.Parent)[parent]
	}
	if !ok || a != nil && a.seen >= l.Begun || l.InParts {
		return
	}
	if o.of.MergeGone(s.writable(), l.Fetched) {
		s.at, s.changed = l.Fetched, true
		o.a.gone[s.key] = l
	}
}

// decode decodes a record, which must have the given key.
func (o *objectMerge) decode(r *schema.Record, key string) (*schema.Object, error) {
	out := new(schema.Object)
	if err := o.dec.Decode(o.of.Resource, slices.Clone(r.Body), schema.KindItem, out); err != nil { // the journal's memory is reused
		return nil, err
	}
	o.of.SetParent(out, o.of.ParentOf(key))
	out.Own()
	if is := o.of.KeyOf(out.Row); is != key {
		return nil, fmt.Errorf("it is %q", strings.ToValidUTF8(is, "?"))
	}
	return out, nil
}
