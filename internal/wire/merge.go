package wire

import (
	"slices"
	"strconv"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/schema"
	"callhouse/internal/wire/scan"
)

// Merge folds the known state of an object into a newer response: new becomes the object's current
// state. old is not changed. Afterwards new aliases memory of its own, or memory that old and new
// aliased. Its columns without a place in the JSON are undefined.
//
//   - A field that new has wins, even if it is null. A field that new does not have
//     at all keeps its known value, also inside objects, and in extra. new.Sent decides which fields
//     new has.
//   - But an object whose fields are all [schema.Column.Later] never replaces a known
//     one if it is null or holds only nulls and empty lists. One with any content
//     wins as a whole, as above.
//   - The same holds for a list with a [schema.Column.Count] that is null or empty.
//   - The flag of [schema.Column.OptOut] removes [schema.Column.Withheld] and unknown
//     fields, also those of old. It remains until false is sent.
func Merge(old, new *schema.Object) {
	m := merger{codec: codecOf(new.Of), old: old, new: new, sent: new.Sent}
	top := m.nodes[0]
	oldExtra, newExtra := extraOf(old), extraOf(new)
	if m.optOut != unknown {
		if s := &top.slots[m.optOut]; old.Row[s.col].Boolean() && new.Row[s.col].IsNull() {
			m.sent &^= s.columns
			new.Row[s.col] = old.Row[s.col]
		}
		if m.withheld = new.Row[top.slots[m.optOut].col].Boolean(); m.withheld {
			m.withhold()
			oldExtra, newExtra = storable(oldExtra, top), storable(newExtra, top)
		}
	}
	now := readExtra(newExtra, top)
	m.objects(readExtra(oldExtra, top), &now)
	for f := range top.slots {
		if s := &top.slots[f]; !m.withheld || !s.withheld {
			m.keep(s.columns &^ m.sent)
		}
	}
	oldList := m.list(&now)
	m.extra(top, oldExtra, &now, oldList)
	m.times(&now)
	now.set(new, top)
}

// merger is one merge.
type merger struct {
	*codec
	old, new *schema.Object
	sent     uint64 // the columns and lists of which new's values count
	withheld bool   // the caller opted out
	nulls    fieldSet
}

// withhold removes what an opt-out forbids from new's columns and lists.
func (m *merger) withhold() {
	for f := range m.nodes[0].slots {
		s := &m.nodes[0].slots[f]
		if !s.withheld {
			continue
		}
		m.each(s.columns, func(col int) { m.new.Row[col] = parquet.Value{} }, func(list int) { m.new.Lists[list].Cut(0) })
	}
	if t := m.twice; t != nil && t.rows(m.new).Len() > 0 {
		t.rows(m.new).Cut(0)
		t.setCount(m.new)
	}
}

// each calls a function for each of a set of columns and lists.
func (m *merger) each(set uint64, column, list func(int)) {
	for i := range m.new.Row {
		if set>>i&1 != 0 {
			column(i)
		}
	}
	for i := range m.new.Lists {
		if set>>(len(m.new.Row)+i)&1 != 0 {
			list(i)
		}
	}
}

// keep makes old's columns and lists new's.
func (m *merger) keep(set uint64) {
	m.each(set, func(col int) { m.new.Row[col] = m.old.Row[col] }, func(list int) { m.new.Lists[list].Set(&m.old.Lists[list]) })
}

// objects decides for each inner object whether new's counts. If it does not, it is removed from
// new's extra, now.
func (m *merger) objects(was extraValues, now *extraValues) {
	for i := range m.nodes[0].slots {
		f, s := Field(i), &m.nodes[0].slots[i]
		if s.inner == nil || s.list >= 0 {
			continue
		}
		sent, inExtra := now.known[f]
		isEmpty := func(o *schema.Object, v scan.Value) bool { return s.inner.empty(o, o.Row) && onlyNulls(v) }
		switch {
		case s.later && (!m.withheld || !s.withheld) && isEmpty(m.new, sent) && !isEmpty(m.old, was.known[f]):
			m.sent &^= s.columns
			delete(now.known, f)
		case s.columns&^m.sent == 0 && s.inner.empty(m.new, m.new.Row) && !inExtra:
			m.nulls |= 1 << f
		}
	}
}

// list keeps the known rows of the list that is sent twice if new has none, and reports whether it
// did. Its members in extra, now, go with it.
func (m *merger) list(now *extraValues) bool {
	t := m.twice
	if t == nil || m.withheld || t.rows(m.new).Len() > 0 || m.old.Row[t.count].IsNull() {
		return false
	}
	t.rows(m.new).Set(t.rows(m.old))
	m.new.Row[t.count] = m.old.Row[t.count]
	delete(now.known, t.some)
	delete(now.known, t.whole)
	return true
}

// times sets the duration if new has none: to the known one, or if the start or the end has changed
// to the time between them. An end before the start is none: it is in extra, now, until the start is
// corrected.
func (m *merger) times(now *extraValues) {
	t, row, top := m.duration, m.new.Row, m.nodes[0]
	if t == nil {
		return
	}
	end := Field(slices.IndexFunc(top.slots, func(s slot) bool { return s.col == t.to && s.in[m.new.Source()] }))
	if v := now.known[end]; v.Shape == scan.IsNumber && row[t.to].IsNull() {
		n, ok := integer(v.Raw)
		if ok && n >= max(1, schema.MillisOf(row[t.from]).V) && n <= schema.MaxInstant && !otherUnit(n) {
			row[t.to] = schema.InstantValue(n)
			delete(now.known, end)
		}
	}
	duration := m.old.Row[t.col]
	if !parquet.Equal(row[t.from], m.old.Row[t.from]) || !parquet.Equal(row[t.to], m.old.Row[t.to]) {
		if duration = t.of(row); !duration.IsNull() && duration.Int64() < 0 {
			raw := strconv.AppendInt(nil, schema.MillisOf(row[t.to]).V, 10)
			now.put(end, scan.Value{Raw: raw, Shape: scan.IsNumber})
			row[t.to], duration = parquet.Value{}, parquet.Value{}
		}
	}
	if m.sent>>t.col&1 == 0 {
		row[t.col] = duration
	}
}

// extra adds the members of old's extra, or of an inner object in it, that new's does not replace.
// oldList reports whether the rows of the list that is sent twice are old's.
func (m *merger) extra(n *node, old []byte, now *extraValues, oldList bool) {
	was := readExtra(old, n)
	for i := range was.unknown {
		o := &was.unknown[i]
		if !now.hasUnknown(o.Name) {
			now.unknown = append(now.unknown, *o)
		}
	}
	for f := range n.slots {
		s := &n.slots[f]
		o, has := was.known[Field(f)]
		v, sent := now.known[Field(f)]
		inner := s.inner != nil && s.list < 0 && s.in[m.new.Source()]
		switch {
		case inner && has && o.Shape == scan.IsObject && (!sent || v.Shape == scan.IsObject) && !(n == m.nodes[0] && m.nulls.has(Field(f))):
			in := readExtra(v.Raw, s.inner)
			m.extra(s.inner, o.Raw, &in, false)
			v = scan.Value{Raw: in.append(nil, s.inner), Shape: scan.IsObject}
			now.put(Field(f), v)
		case !has || sent:
		case s.short != [2]bool{}:
			if oldList {
				now.put(Field(f), o)
			}
		case s.named&m.sent == 0:
			now.put(Field(f), o)
		}
		if inner && string(v.Raw) == "{}" && !s.inner.empty(m.new, m.new.Row) {
			delete(now.known, Field(f))
		}
	}
}

// hasUnknown reports whether the content has an unknown member of a name.
func (k *extraValues) hasUnknown(name []byte) bool {
	for i := range k.unknown {
		if string(k.unknown[i].Name) == string(name) {
			return true
		}
	}
	return false
}

// onlyNulls reports whether a value is absent, null or an object of nulls and empty arrays.
func onlyNulls(v scan.Value) bool {
	if v.Shape != scan.IsObject {
		return v.Shape <= scan.IsNull
	}
	for m := range scan.Members(v.Raw) {
		if m.Value.Shape != scan.IsNull && string(m.Value.Raw) != "[]" {
			return false
		}
	}
	return true
}
