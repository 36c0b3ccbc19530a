package commit

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
	"callhouse/internal/sink/journal"
	"callhouse/internal/sink/table"
	"callhouse/internal/wire"
)

// arrivals are the new records of one resource.
type arrivals struct {
	objects map[string]*arrival
	listed  map[string]listed // complete lists, by the key of the parent
	kept    map[string]listed // those that are empty and not yet confirmed
}

// arrival is the set of new records of one object.
type arrival struct {
	key     string
	run     string
	entries []entry // in the order in which they came
	seen    int64   // when a list last contained it, ms UTC
}

// listed is a complete list.
type listed struct {
	schema.Listed
	resource.Fetched
}

// addObject adds a record of a resource, unless its object was forgotten.
func (in *Intake) addObject(at entry, r *schema.Record, run string) error {
	of := resource.ByName(r.Resource)
	if of == nil {
		return fmt.Errorf("%w: there is no resource %q", journal.ErrUnreadable, r.Resource)
	}
	a := in.arrivals[of]
	if a == nil {
		a = &arrivals{objects: map[string]*arrival{}, listed: map[string]listed{}, kept: map[string]listed{}}
		in.arrivals[of] = a
	}
	if r.Kind == schema.KindListed {
		l := listed{Fetched: resource.Fetched{At: r.FetchedAt, Run: run}}
		if err := json.Unmarshal(r.Body, &l.Listed); err != nil {
			return fmt.Errorf("%w: a complete list: %w", journal.ErrUnreadable, err)
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

// objects merges the new records of the resources, and also rewrites others. It returns the days on
// which the set of the organisation's numbers changes.
func (m *maker) objects(others []*resource.Resource) (moved []tenure, err error) {
	var changes, numbers []schema.Row
	for _, of := range resource.All {
		if a := m.in.arrivals[of]; a != nil {
			if err := (&objectMerge{maker: m, of: of, a: a}).doubtEmpty(); err != nil {
				return nil, fmt.Errorf("%s: %w", of.Name, err)
			}
		}
	}
	for _, of := range resource.All {
		a := m.in.arrivals[of]
		respells := of == resource.Customers && m.readElsewhere(of.Name, "")
		if a == nil && (respells || len(m.gone[of.Parent]) > 0 || slices.Contains(others, of)) {
			a = new(arrivals)
		}
		if a == nil {
			continue
		}
		o := &objectMerge{maker: m, of: of, a: a, left: map[string]listed{}}
		o.w = m.objectFiles(of)
		if err := m.write(o.w, []string{of.Name}, func() (bool, error) { err := o.merge(); return respells || o.edited > 0, err }); err != nil {
			return nil, fmt.Errorf("%s: %w", of.Name, err)
		}
		m.gone[of] = o.left
		if of == resource.Numbers {
			numbers = o.rows
		}
		changes = append(changes, o.changes...)
	}
	if moved, err = m.setLines(numbers); err != nil {
		return nil, fmt.Errorf("%s: %w", resource.Numbers.Name, err)
	}
	if len(changes) > 0 {
		err = m.rewriteChanges(changes, func(schema.Row) bool { return false })
	}
	m.made.ObjectsChanged += resource.Edits(changes)
	return moved, err
}

// objectFiles returns writers of the files of a resource.
func (m *maker) objectFiles(of *resource.Resource) table.Files {
	files := table.NewFiles(m.b, "", of.Table)
	if of == resource.Customers {
		files.ReadIn(m.Country)
	}
	return files
}

// readElsewhere reports whether the national numbers of an old file were read in another region.
func (m *maker) readElsewhere(table, period string) bool {
	f := m.was.FileOf(table, period)
	return f != nil && f.Country != m.Country
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
			for parent, l := range a.kept {
				set(parent, layout.List{ListedAt: m.was.ListOf(of, parent).ListedAt, EmptyAt: l.Begun})
			}
		}
		for parent := range m.gone[of.Parent] {
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
	w := table.NewFiles(m.b, "", &resource.Changes)
	return m.write(w, []string{resource.Changes.Name}, func() (bool, error) {
		err := m.Old.EachChange(func(now schema.Row) error {
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
		return true, err
	})
}

// objectMerge merges the new records of one resource into its files.
type objectMerge struct {
	*maker
	of      *resource.Resource
	a       *arrivals
	left    map[string]listed // objects that are now deleted, with the list that no longer has them
	w       table.Files
	dec     wire.Decoder
	changes []schema.Row
	rows    []schema.Row // all objects, if these are numbers
	edited  int          // objects whose row changed
}

// doubtEmpty ignores lists that are empty although objects were known: the service may be wrong. An
// empty list is accepted if another run finds it empty again.
func (m *objectMerge) doubtEmpty() error {
	empty := map[string]listed{}
	for parent, l := range m.a.listed {
		if l.Items == 0 && m.was.ListOf(m.of, parent).EmptyAt == 0 {
			empty[parent] = l
		}
	}
	if len(empty) == 0 {
		return nil
	}
	return m.each(func(o *schema.Object) error {
		if m.of.Deleted(o) {
			return nil
		}
		parent := m.of.ParentOf(m.of.KeyOf(o.Row))
		if l, ok := empty[parent]; ok {
			delete(empty, parent)
			delete(m.a.listed, parent)
			m.a.kept[parent] = l
			if !slices.Contains(m.made.Doubted, m.of.Name) {
				m.made.Doubted = append(m.made.Doubted, m.of.Name)
			}
		}
		return nil
	})
}

// doubted reports whether one of an object's lists is empty and not yet confirmed. The next run
// requests it again.
func (m *objectMerge) doubted(key string) bool {
	return slices.ContainsFunc(m.of.Children(), func(child *resource.Resource) bool {
		empty, believed := false, false
		if a := m.in.arrivals[child]; a != nil {
			_, empty = a.kept[key]
			_, believed = a.listed[key]
		}
		return empty || !believed && m.was.ListOf(child, key).EmptyAt > 0
	})
}

// each visits the objects of the previous snapshot.
func (m *objectMerge) each(visit func(*schema.Object) error) error {
	return m.Old.EachObject(m.of, visit)
}

// merge writes the current state of the objects in the order of their keys.
func (m *objectMerge) merge() error {
	news := slices.SortedFunc(maps.Values(m.a.objects), func(a, b *arrival) int { return cmp.Compare(a.key, b.key) })
	return weave(m.each, news, func(a *arrival, old *schema.Object) int { return cmp.Compare(a.key, m.of.KeyOf(old.Row)) }, m.fold)
}

// fold writes the current state of an object, which has an old row, new records, or both.
func (m *objectMerge) fold(old *schema.Object, a *arrival) error {
	f := folding{objectMerge: m}
	if old != nil {
		f.key, f.old, f.now = m.of.KeyOf(old.Row), old, old
	}
	if a != nil {
		f.key = a.key
		for _, e := range a.entries {
			if err := f.take(e, a.run); err != nil {
				return err
			}
		}
	}
	if f.now == nil {
		return nil
	}
	f.leave(a)
	if f.changed {
		if row := m.of.Change(old, f.now, f.at, m.was.ListOf(m.of, m.of.ParentOf(f.key)).ListedAt); row != nil {
			m.changes = append(m.changes, row)
		}
	}
	respelled := m.of == resource.Customers && resource.SetPhones(f.now,
		func(number string) (string, bool) { return phone.Normal(number, m.Country) })
	if f.changed || f.completed || respelled {
		m.edited++
	}
	if m.of == resource.Numbers {
		m.rows = append(m.rows, f.now.Row)
	}
	return m.w.Write(f.now)
}

// folding is an object while it is merged.
type folding struct {
	*objectMerge
	key       string
	old, now  *schema.Object
	at        resource.Fetched // of the last record
	changed   bool
	completed bool // its record was fetched
}

// take merges one record: an item of a list, or the object's own record.
func (f *folding) take(e entry, run string) error {
	r, err := f.in.record(e)
	if err != nil {
		return err
	}
	f.at = resource.Fetched{At: r.FetchedAt, Run: run}
	var came *schema.Object
	if r.Kind == schema.KindItem || f.now != nil && len(r.Body) > 0 {
		if came, err = f.decode(&r, f.key); err != nil {
			return err
		}
	}
	if r.Kind == schema.KindItem {
		if f.of.MergeItem(f.now, came, f.at) {
			f.now, f.changed = came, true
		}
		return nil
	}
	if f.now == nil {
		return nil // no list contained it
	}
	f.now = copied(f.now, f.old)
	f.changed = f.of.MergeRecord(f.now, came, f.at) || f.changed
	f.completed = true
	if f.doubted(f.key) {
		f.of.Reopen(f.now)
	}
	return nil
}

// leave marks an object as deleted if its list no longer has it, or if its parent is gone.
func (f *folding) leave(a *arrival) {
	parent := f.of.ParentOf(f.key)
	l, ok := f.a.listed[parent]
	if !ok {
		l, ok = f.gone[f.of.Parent][parent]
	}
	if !ok || a != nil && a.seen >= l.Begun || l.Parted {
		return
	}
	f.now = copied(f.now, f.old)
	if f.of.MergeGone(f.now, l.Fetched) {
		f.at, f.changed = l.Fetched, true
		f.left[f.key] = l
	}
}

// copied returns an object that may be changed: a copy if o is stays, which must stay unchanged.
func copied(o, stays *schema.Object) *schema.Object {
	if o != stays {
		return o
	}
	out := new(schema.Object)
	out.Set(o)
	return out
}

// decode decodes a record, which must have the given key.
func (m *objectMerge) decode(r *schema.Record, key string) (*schema.Object, error) {
	o := new(schema.Object)
	if err := m.dec.Decode(m.of.Resource, slices.Clone(r.Body), schema.KindItem, o); err != nil { // the journal's memory is reused
		return nil, fmt.Errorf("read %q again: %w", key, err)
	}
	m.of.SetParent(o, m.of.ParentOf(key))
	o.Own()
	if is := m.of.KeyOf(o.Row); is != key {
		return nil, fmt.Errorf("read %q again: it is %q", key, strings.ToValidUTF8(is, "?"))
	}
	return o, nil
}
