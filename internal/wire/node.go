package wire

import (
	"bytes"
	"math/bits"
	"slices"
	"strings"
	"sync"

	"callhouse/internal/schema"
)

// Field is the position of a field in its object: see node.
type Field uint8

// fieldSet is a set of fields of one object.
type fieldSet uint64

func (s fieldSet) has(f Field) bool { return s>>f&1 != 0 }

func (s fieldSet) count() int { return bits.OnesCount64(uint64(s)) }

// codec reads and writes a resource's JSON according to its columns.
type codec struct {
	of     *schema.Resource
	nodes  []*node // the objects of its JSON, beginning with the top level
	optOut Field   // the flag that forbids storage; unknown if there is none
	twice  *twice  // the list that is sent twice; nil if there is none
	// duration is the column with the time between two others; nil if there is none.
	duration *duration
}

var codecs sync.Map // of *codec, by *Resource

// Check panics if a resource's JSON cannot be read as declared, so that no program starts with such
// a declaration.
func Check(of *schema.Resource) { codecOf(of) }

// codecOf returns the codec of a resource.
func codecOf(of *schema.Resource) *codec {
	if c, ok := codecs.Load(of); ok {
		return c.(*codec)
	}
	c := &codec{of: of, optOut: unknown}
	top := c.node(of.Table, "", of.Table.Fields, nil)
	for f := range top.slots {
		if col := top.slots[f].column; col != nil && col.OptOut {
			c.optOut = Field(f)
		}
	}
	if c.twice != nil && (c.twice.some == unknown || c.twice.whole == unknown) {
		panic("wire: " + c.twice.table.Name + " is counted, and sent but once")
	}
	if len(of.Table.Columns)+len(of.Lists) > 64 {
		panic("wire: " + of.Table.Name + " has more columns than Object.Sent has bits")
	}
	codecs.Store(of, c)
	return c
}

// node describes one kind of object in the JSON of a resource: its fields, under all their names,
// and its place.
type node struct {
	id       int
	prefix   string // prefix of the paths of its fields
	slots    []slot
	table    *schema.Table // the table of its columns
	extra    int           // the column extra
	lists    fieldSet
	grouped  fieldSet    // fields with other names or shapes
	always   fieldSet    // fields that are handled even if they were not sent
	only     [2]fieldSet // by source: fields missing in the other version
	withheld bool        // must be removed after an opt-out
}

// slot is a field of an object: a column, an object, or a list of objects.
type slot struct {
	col       int            // in the table, or -1
	column    *schema.Column // of a column or list
	inner     *node          // of an object; of a list, its elements
	list      int            // in Resource.Lists, or -1
	duplicate bool           // the second list of the same rows, which is stored separately
	short     [2]bool        // by source: a list whose rows are part of another one
	custom    custom         // custom handling; nil: handled by its type
	name      []byte
	path      string
	in        [2]bool // by source: whether the field's name exists in that version
	// group is this field and those that mean the same in the other version of the API, under
	// another name or in another shape. Empty if there is only one name.
	group           fieldSet
	columns         uint64 // the columns and lists in it, as in [schema.Object.Sent]
	named           uint64 // those of its group
	later, withheld bool
}

var sources = [...]schema.Source{schema.V3, schema.V2}

// place is the place of a column below an object, by source.
type place struct {
	column *schema.Column
	path   [2]string
}

// node adds the node of an object. Its fields are columns of t, or lists.
func (c *codec) node(t *schema.Table, prefix string, fields []schema.Column, inner []place) *node {
	n := &node{id: len(c.nodes), prefix: prefix, table: t, extra: t.Column("extra")}
	c.nodes = append(c.nodes, n)
	for i := range fields {
		if c := &fields[i]; c.V3 != "" || c.V2 != "" {
			inner = append(inner, place{c, [2]string{c.V3, c.V2}})
		}
	}
	below := map[Field][]place{}
	for _, p := range inner {
		n.join(n.place(p, below), p)
	}
	for f := range n.slots {
		s := &n.slots[f]
		if below[Field(f)] != nil {
			c.object(n, s, below[Field(f)])
		} else {
			c.leaf(n, Field(f), s)
		}
	}
	n.complete()
	n.only[schema.V3], n.only[schema.V2] = n.only[schema.V3]&^n.only[schema.V2], n.only[schema.V2]&^n.only[schema.V3]
	return n
}

// place adds the fields that contain a column, and returns them. Columns of inner objects are added
// to below.
func (n *node) place(p place, below map[Field][]place) (group fieldSet) {
	for _, source := range sources {
		path := p.path[source]
		if path == "" {
			continue
		}
		name, rest, _ := strings.Cut(path, ".")
		f := n.slot(name)
		s := &n.slots[f]
		s.in[source] = true
		n.only[source] |= 1 << f
		group |= 1 << f
		if rest == "" {
			s.column, s.col = p.column, n.table.Column(p.column.Name)
			continue
		}
		places := below[f]
		if len(places) == 0 || places[len(places)-1].column != p.column {
			places = append(places, place{column: p.column})
		}
		places[len(places)-1].path[source] = rest
		below[f] = places
	}
	return group
}

// object completes the slot of an object with columns in it.
func (c *codec) object(n *node, s *slot, inner []place) {
	s.inner = c.node(n.table, s.path+".", nil, inner)
	s.later, s.withheld = true, true
	for i := range s.inner.slots {
		in := &s.inner.slots[i]
		s.later, s.withheld, s.columns = s.later && in.later, s.withheld && in.withheld, s.columns|in.columns
	}
}

// leaf completes the slot of a column.
func (c *codec) leaf(n *node, f Field, s *slot) {
	if s.column.List == nil {
		s.columns = 1 << s.col
	} else {
		s.list, s.duplicate, s.inner = c.list(s.column.List), c.has(s.column.List), c.element(s)
		s.columns = 1 << (len(c.of.Table.Columns) + s.list)
		n.lists |= 1 << f
	}
	if s.custom = c.customOf(n.table, f, s); s.custom != nil {
		n.always |= 1 << f
	}
	s.later, s.withheld = s.column.Later, s.column.Withheld
}

// complete completes the slots with what follows from all of them.
func (n *node) complete() {
	for f := range n.slots {
		s := &n.slots[f]
		if s.inner != nil {
			s.inner.withheld = s.withheld
		}
		if s.group != 0 {
			n.grouped |= 1 << f
		}
		s.named = s.columns
		if d, ok := s.custom.(*duration); ok {
			s.named = 1 << d.col
		}
		for g := range n.slots {
			if s.group.has(Field(g)) {
				s.named |= n.slots[g].columns
			}
		}
	}
}

// slot returns the field with a name; it adds the field if necessary.
func (n *node) slot(name string) Field {
	f := n.find([]byte(name))
	if f == unknown {
		f = Field(len(n.slots))
		n.slots = append(n.slots, slot{name: []byte(name), path: n.prefix + name, col: -1, list: -1})
	}
	return f
}

// join records that fields have the same meaning. A field with a name in only one version is also
// accepted under that name in the other version.
func (n *node) join(group fieldSet, p place) {
	if group.count() == 1 {
		if p.path[schema.V3] == "" || p.path[schema.V2] == "" {
			n.slots[bits.TrailingZeros64(uint64(group))].in = [2]bool{true, true}
		}
		return
	}
	for f := range n.slots {
		if group.has(Field(f)) {
			group |= n.slots[f].group
		}
	}
	for f := range n.slots {
		if group.has(Field(f)) {
			n.slots[f].group = group
		}
	}
}

// list returns the position of a table among the resource's lists.
func (c *codec) list(t *schema.Table) int {
	for i, l := range c.of.Lists {
		if l == t {
			return i
		}
	}
	panic("wire: " + t.Name + " is no list of " + c.of.Table.Name)
}

// has reports whether a table already has a node.
func (c *codec) has(t *schema.Table) bool {
	return slices.ContainsFunc(c.nodes, func(n *node) bool { return n.table == t })
}

// element returns the node of a list's elements; lists of one table share it.
func (c *codec) element(s *slot) *node {
	for _, n := range c.nodes {
		if n.table == s.column.List {
			return n
		}
	}
	n := c.node(s.column.List, s.path+"[].", s.column.List.Fields, nil)
	if n.lists != 0 { // it would be emptied at each element
		panic("wire: " + s.column.List.Name + " has lists of its own")
	}
	return n
}

// find returns the field with a name, or for an unknown name a number that no field has.
func (n *node) find(name []byte) Field {
	for f := range n.slots {
		if bytes.Equal(n.slots[f].name, name) {
			return Field(f)
		}
	}
	return unknown
}

const unknown Field = 255

// empty reports whether a row has no values in the columns and lists of an object.
func (n *node) empty(o *schema.Object, row schema.Row) bool {
	return n.noneOf(1<<len(n.slots)-1, o, row)
}

// noneOf is like empty for some fields of the object.
func (n *node) noneOf(fields fieldSet, o *schema.Object, row schema.Row) bool {
	for i := range n.slots {
		switch s := &n.slots[i]; {
		case !fields.has(Field(i)):
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
