package wire

import (
	"slices"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/schema"
	"callhouse/internal/wire/scan"
)

// Merge folds the known state of an object into a newer response: new becomes the object's current
// state. old is not changed. Afterwards new aliases memory of its own, or memory that old and new
// aliased. Its columns without a place in the JSON are undefined.
//
//   - A field that new has wins, even if it is null. A field that new does not have
//     at all keeps its known value, also inside objects, and in extra.
//   - But an object whose fields are all [schema.Column.Later] never replaces a known
//     one if it is null or holds only nulls and empty lists. One with any content
//     wins as a whole, as above.
//   - The same holds for a list with a [schema.Column.Count] that is null or empty.
//   - The flag of [schema.Column.OptOut] removes [schema.Column.Withheld] and unknown
//     fields, also those of old. It remains until false is sent.
func Merge(old, new *schema.Object) {
	c := codecOf(new.Of)
	if c.plainMerge(old, new) {
		c.mergePlain(old, new)
	} else {
		c.mergeJSON(old, new)
	}
}

// Without returns an object as if some expected fields had not been sent.
func Without(o *schema.Object, fields ...string) (out schema.Object) {
	body := []byte{'{'}
	for m := range scan.Members(AppendJSON(nil, o)) {
		if !slices.Contains(fields, string(m.Name)) {
			body = scan.AppendMember(body, 1, m.Key, m.Value.Raw)
		}
	}
	d := Decoder{forced: true, source: o.Source()}
	if d.Decode(o.Of, append(body, '}'), schema.KindItem, &out) != nil {
		return *o // not an object with an id
	}
	return out
}

// flagged reports whether the flag that forbids storage is set.
func (c *codec) flagged(o *schema.Object) bool {
	if c.optOut == unknown {
		return false
	}
	return o.Row[c.nodes[0].slots[c.optOut].col].Boolean()
}

// plainMerge reports whether new replaces old in every column: both objects follow the rules of v3
// exactly, and all columns that v3 omits when null are null in old.
func (c *codec) plainMerge(old, new *schema.Object) bool {
	top := c.nodes[0]
	return old.Row[top.extra].IsNull() && new.Row[top.extra].IsNull() && old.Source() == schema.V3 &&
		new.Source() == schema.V3 &&
		(c.optOut == unknown || !new.Row[top.slots[c.optOut].col].IsNull() || !c.flagged(old)) && top.expected(old.Row)
}

// expected reports whether v3 sends all known columns of an object even when null.
func (n *node) expected(row schema.Row) bool {
	for f := range n.slots {
		switch s := &n.slots[f]; {
		case s.list >= 0, s.custom != nil:
		case s.inner != nil:
			if !s.inner.expected(row) {
				return false
			}
		case s.in[schema.V3] && !n.shown[schema.V3].has(Field(f)) && !row[s.col].IsNull():
			return false
		}
	}
	return true
}

func (c *codec) mergePlain(old, new *schema.Object) {
	n, optedOut := c.nodes[0], c.flagged(new)
	for f := range n.slots {
		if s := &n.slots[f]; s.inner != nil && s.later && s.list < 0 && s.inner.empty(new, new.Row) && !(s.withheld && optedOut) {
			s.inner.keep(old, new)
		}
	}
	if t := c.twice; t != nil && !optedOut && t.rows(new).Len() == 0 && (t.rows(old).Len() > 0 || new.Row[t.count].IsNull()) {
		t.rows(new).Set(t.rows(old))
		new.Row[t.count] = old.Row[t.count]
	}
}

// keep copies the columns and lists of an inner object from an older state.
func (n *node) keep(old, new *schema.Object) {
	for f := range n.slots {
		if s := &n.slots[f]; s.list >= 0 {
			new.Lists[s.list].Set(&old.Lists[s.list])
		} else {
			new.Row[s.col] = old.Row[s.col]
		}
	}
}

// mergeJSON handles the general case: it merges two JSON objects.
func (c *codec) mergeJSON(old, new *schema.Object) {
	m := merger{codec: c, top: c.nodes[0]}
	kind := schema.KindDetail
	if t := c.twice; t != nil {
		m.rowsOfOld = t.rows(new).Len() == 0 && !old.Row[t.count].IsNull()
		if !m.rowsOfOld && new.Row[t.count].IsNull() {
			kind = schema.KindItem
		}
	}
	known := old
	if old.Source() != new.Source() {
		// In the names of the newer source. Details of the old one that only its own extra can
		// express are lost.
		known = &schema.Object{}
		known.Set(old)
		known.SetSource(new.Source())
		known.Row[m.top.extra] = parquet.Value{}
	}
	a, b := AppendJSON(nil, known), AppendJSON(nil, new)
	m.old, m.new = slices.Collect(scan.Members(a)), slices.Collect(scan.Members(b))
	body := m.object(make([]byte, 0, len(a)+len(b)))
	d := Decoder{forced: true, source: new.Source()}
	var o schema.Object
	if err := d.Decode(new.Of, body, kind, &o); err != nil {
		return // not two objects with an id
	}
	*new = o
}

// merger merges the members of two objects.
type merger struct {
	*codec
	top       *node
	old, new  []scan.Member
	rowsOfOld bool // for the list that is sent twice
}

// object appends the merged object.
func (m *merger) object(dst []byte) []byte {
	dst = append(dst, '{')
	from := len(dst)
	sent := make(map[string]*scan.Value, len(m.new))
	var fields fieldSet
	for i := range m.new {
		n := &m.new[i]
		if m.sentTwice(n.Name) && m.rowsOfOld {
			continue
		}
		sent[string(n.Name)] = &n.Value
		if f := m.top.find(n.Name); f != unknown {
			fields |= 1 << f
		}
	}
	withheld := false
	if m.optOut != unknown {
		flag := sent[string(m.top.slots[m.optOut].name)]
		withheld = flag != nil && optedOut(flag)
	}
	for i := range m.old {
		o := &m.old[i]
		if m.sentTwice(o.Name) && !m.rowsOfOld {
			continue
		}
		n, f := sent[string(o.Name)], m.top.find(o.Name)
		switch {
		case f != unknown && m.top.slots[f].twins&fields != 0: // the same value in another form
		case n == nil:
			dst = scan.AppendMember(dst, from, o.Key, o.Value.Raw)
		case f != unknown:
			m.both(f, o, n, withheld)
		}
	}
	for i := range m.new {
		n := &m.new[i]
		if !m.sentTwice(n.Name) || !m.rowsOfOld {
			dst = scan.AppendMember(dst, from, n.Key, n.Value.Raw)
		}
	}
	return append(dst, '}')
}

// both merges the older value of a field into the newer one, unless the newer one simply replaces
// it.
func (m *merger) both(f Field, o *scan.Member, n *scan.Value, withheld bool) {
	s := &m.top.slots[f]
	switch {
	case f == m.optOut:
		if optedOut(&o.Value) && n.Shape == scan.IsNull {
			*n = o.Value
		}
		return
	case s.inner == nil || s.list >= 0:
		return
	case withheld && !s.withheld && s.later:
		// Values without a column are about to be removed, so none of them counts as a cost.
		o.Value = known(o.Value, s.inner)
	}
	if s.later && !onlyNulls(&o.Value) && onlyNulls(n) {
		*n = o.Value
	} else {
		mergeInner(n, o)
	}
}

// mergeInner merges an inner object of the older object into the newer one's.
func mergeInner(n *scan.Value, o *scan.Member) {
	if n.Shape != scan.IsObject || o.Value.Shape != scan.IsObject {
		return
	}
	dst := []byte{'{'}
	sent := map[string]bool{}
	for m := range scan.Members(n.Raw) {
		sent[string(m.Name)] = true
		dst = scan.AppendMember(dst, 1, m.Key, m.Value.Raw)
	}
	for m := range scan.Members(o.Value.Raw) {
		if !sent[string(m.Name)] {
			dst = scan.AppendMember(dst, 1, m.Key, m.Value.Raw)
		}
	}
	n.Raw = append(dst, '}')
}

// sentTwice reports whether a name belongs to the list that is sent twice.
func (m *merger) sentTwice(name []byte) bool {
	f := m.top.find(name)
	return m.twice != nil && (f == m.twice.some || f == m.twice.whole)
}

// known returns an object without the values that have no column.
func known(v scan.Value, n *node) scan.Value {
	if v.Shape != scan.IsObject {
		return v
	}
	dst := []byte{'{'}
	for m := range scan.Members(v.Raw) {
		if n.find(m.Name) != unknown {
			dst = scan.AppendMember(dst, 1, m.Key, m.Value.Raw)
		}
	}
	v.Raw = append(dst, '}')
	return v
}

// onlyNulls reports whether a value is null or an object of nulls and empty arrays.
func onlyNulls(v *scan.Value) bool {
	if v.Shape != scan.IsObject {
		return v.Shape == scan.IsNull
	}
	for m := range scan.Members(v.Raw) {
		if m.Value.Shape != scan.IsNull && string(m.Value.Raw) != "[]" {
			return false
		}
	}
	return true
}
