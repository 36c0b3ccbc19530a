package schema

import (
	"math/bits"
	"strings"
)

// field is the position of a field in its object: see node.
type field uint8

// fieldSet is a set of fields of one object.
type fieldSet uint64

func (s fieldSet) has(f field) bool { return s>>f&1 != 0 }

func (s fieldSet) count() int { return bits.OnesCount64(uint64(s)) }

// Resource is one kind of object that the service has, and the tables that its
// JSON becomes: one row of Table, and rows of each of Lists.
type Resource struct {
	Table *Table
	Lists []*Table

	nodes  []*node // the objects of its JSON; the first one is the whole
	source int     // the column for the version of the API that it came from, or -1
	// parents are, for each list and each of its columns, the column of Table that it
	// repeats; ownPlace for the row's position, or ownValue.
	parents [][]int
}

// resource compiles what the fields of a table say of the JSON.
func resource(t *Table, lists ...*Table) *Resource {
	r := &Resource{Table: t, Lists: lists, source: t.Column("source")}
	r.node(t, "", t.fields, nil)
	for _, l := range lists {
		from := make([]int, len(l.Columns))
		for i, c := range l.Columns {
			switch c.Parent {
			case "":
				from[i] = ownValue
			case Position:
				from[i] = ownPlace
			default:
				from[i] = t.Column(c.Parent)
			}
		}
		r.parents = append(r.parents, from)
	}
	return r
}

const (
	ownValue = -1
	ownPlace = -2
)

// node describes one kind of object in the JSON of a resource: its fields, by
// whatever name, and where the object stands.
type node struct {
	id       int
	prefix   string // of the paths of its fields
	slots    []slot
	table    *Table // whose row its columns are of
	extra    int    // the column for what no other one can hold
	byName   map[string]field
	lists    fieldSet
	plain    fieldSet           // columns by their type, under one name
	shown    [2]fieldSet        // by source: what is sent even where it is null
	only     [2]fieldSet        // by source: what the other one does not have
	withheld bool               // it must not outlive an opt-out
	by       func(Row) fieldSet // instead of shown: by what is in the row so far
}

// slot is a field of an object: a column, an object, or a list of objects.
type slot struct {
	quoted []byte  // as the JSON has it, with quotes and colon
	col    int     // in the table, or -1
	column *Column // of a column or list
	inner  *node   // of an object; of a list, its elements
	list   int     // in Resource.Lists, or -1
	simple bool    // a column of texts, of whatever words
	name   []byte
	path   string
	in     [2]bool // by source: this is the name that it has there
	// group are this field and those which tell the same: in the other version of the
	// API, under another name or in another shape. Empty: there is one name.
	group                            fieldSet
	twins                            fieldSet // those of group that only the other version has
	later, withheld, maskable, phone bool
}

var sources = [...]Source{V3, V2}

// place is where a column stands below an object, by source.
type place struct {
	column *Column
	path   [2]string
}

// node adds the node of an object. Its fields are columns of t, or lists.
func (r *Resource) node(t *Table, prefix string, fields []Column, inner []place) *node {
	n := &node{id: len(r.nodes), prefix: prefix, table: t, extra: t.Column("extra"), byName: map[string]field{}}
	r.nodes = append(r.nodes, n)
	for i := range fields {
		if c := &fields[i]; c.V3 != "" || c.V2 != "" {
			inner = append(inner, place{c, [2]string{c.V3, c.V2}})
		}
	}
	below := map[field][]place{}
	for _, p := range inner {
		var group fieldSet
		for _, source := range sources {
			path := p.path[source]
			if path == "" {
				continue
			}
			name, rest, _ := strings.Cut(path, ".")
			shown := !strings.HasSuffix(name, "?")
			f := n.slot(strings.TrimSuffix(name, "?"))
			s := &n.slots[f]
			s.in[source] = true
			n.only[source] |= 1 << f
			if group |= 1 << f; shown {
				n.shown[source] |= 1 << f
			}
			if rest == "" {
				s.column, s.col = p.column, t.Column(p.column.Name)
				continue
			}
			places := below[f]
			if len(places) == 0 || places[len(places)-1].column != p.column {
				places = append(places, place{column: p.column})
			}
			places[len(places)-1].path[source] = rest
			below[f] = places
		}
		n.join(group, p)
	}
	for f := range n.slots {
		s := &n.slots[f]
		switch {
		case below[field(f)] != nil:
			s.inner = r.node(t, s.path+".", nil, below[field(f)])
			s.later, s.withheld = true, true
			for i := range s.inner.slots {
				in := &s.inner.slots[i]
				s.later, s.withheld, s.maskable = s.later && in.later, s.withheld && in.withheld, s.maskable || in.maskable
			}
			if s.in[V3] != s.in[V2] { // it is as in the version that has it
				s.inner.shown[V3] |= s.inner.shown[V2]
				s.inner.shown[V2] = s.inner.shown[V3]
			}
			continue
		case s.column.list != nil:
			s.list, s.inner = r.list(s.column.list), r.element(s)
			n.lists |= 1 << f
			for i := range s.inner.slots {
				s.maskable = s.maskable || s.inner.slots[i].maskable
			}
		}
		if s.list < 0 && s.column.custom == nil && s.group == 0 {
			n.plain |= 1 << f
			s.simple = (s.column.Type == Text || s.column.Type == Word) && s.column.Known == nil
		}
		s.later, s.withheld, s.phone = s.column.Later, s.column.Withheld, s.column.Phone
		s.maskable = s.maskable || s.column.Mask != NeverMasked
	}
	for f := range n.slots {
		s := &n.slots[f]
		if s.inner != nil {
			s.inner.withheld = s.withheld
		}
		for g := range n.slots {
			if s.group.has(field(g)) && n.slots[g].in != s.in {
				s.twins |= 1 << g
			}
		}
	}
	n.only[V3], n.only[V2] = n.only[V3]&^n.only[V2], n.only[V2]&^n.only[V3]
	return n
}

// slot returns the field of a name, which it adds.
func (n *node) slot(name string) field {
	f, ok := n.byName[name]
	if !ok {
		f = field(len(n.slots))
		n.byName[name] = f
		n.slots = append(n.slots, slot{name: []byte(name), quoted: []byte(`"` + name + `":`), path: n.prefix + name, col: -1, list: -1})
	}
	return f
}

// join notes that fields tell the same. One that has a name in one version alone
// is taken under that name in the other as well.
func (n *node) join(group fieldSet, p place) {
	if group.count() == 1 {
		if p.path[V3] == "" || p.path[V2] == "" {
			n.slots[bits.TrailingZeros64(uint64(group))].in = [2]bool{true, true}
		}
		return
	}
	for f := range n.slots {
		if group.has(field(f)) {
			group |= n.slots[f].group
		}
	}
	for f := range n.slots {
		if group.has(field(f)) {
			n.slots[f].group = group
		}
	}
}

// list returns the position of a table among the resource's lists.
func (r *Resource) list(t *Table) int {
	for i, l := range r.Lists {
		if l == t {
			return i
		}
	}
	panic("schema: " + t.Name + " is no list of " + r.Table.Name)
}

// element returns the node of a list's elements; lists of one table share it.
func (r *Resource) element(s *slot) *node {
	for _, n := range r.nodes {
		if n.table == s.column.list {
			return n
		}
	}
	n := r.node(s.column.list, s.path+"[].", s.column.list.fields, nil)
	if n.lists != 0 || n.shown[V3] != n.shown[V2] {
		// The rows of a list are made before the version is known; and a list inside would
		// be emptied at each element.
		panic("schema: " + s.column.list.Name + " has lists of its own, or fields that differ by version")
	}
	return n
}

// find returns the field of a name; of an unknown one, a number that no field has.
func (n *node) find(name []byte) field {
	if f, ok := n.byName[string(name)]; ok {
		return f
	}
	return unknown
}

const unknown field = 255

// shownIn returns the fields that the service sends even where they are null: by
// the source of the object, or by what else is in its row.
func (n *node) shownIn(source Source, row Row) fieldSet {
	if n.by != nil {
		return n.by(row)
	}
	return n.shown[source]
}

// named returns the set of the fields of these names.
func (n *node) named(names ...string) (set fieldSet) {
	for _, name := range names {
		set |= 1 << n.byName[name]
	}
	return set
}

// empty says whether a row has nothing in the columns and lists of an object.
func (n *node) empty(o *Object, row Row) bool {
	for i := range n.slots {
		switch s := &n.slots[i]; {
		case s.list >= 0:
			if o.Lists[s.list].Len() > 0 {
				return false
			}
		case s.inner != nil:
			if !s.inner.empty(o, row) {
				return false
			}
		case !row[s.col].IsNull():
			return false
		}
	}
	return true
}
