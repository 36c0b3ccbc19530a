package wire

import (
	"bytes"
	"slices"

	"callhouse/internal/schema"
	"callhouse/internal/wire/scan"
)

// The column extra is a JSON object of the members of an object that no column holds, under the
// names with which they were sent:
//
//   - members without a column, null or not;
//   - values that do not fit their column, which is then null, or that it holds only in part, such as
//     a time with fractions of milliseconds;
//   - an inner object (of a call: agent, call_analysis and call_cost), with the same rules inside. An
//     empty one shows that an object without any value was sent, and not null;
//   - an empty list of those with a [schema.Column.Count]: null would mean that it may still come.
//
// It is null if there are none. An element of a list that is not an object is in extra as it is.
// Known members come first, in the order of their declaration, the others follow by their names'
// bytes; of members with the same name only the last is kept. So the same values result in the same
// extra, whatever order they are sent in. Values are verbatim.

// extraValues is the content of extra: the values of known fields, and the unknown members.
type extraValues struct {
	known   map[Field]scan.Value
	unknown []scan.Member
}

// appendExtra appends the part of extra for an object that was decoded into row.
func (d *Decoder) appendExtra(dst []byte, p *part) []byte {
	dst = append(dst, '{')
	from := len(dst)
	for f := range p.slots {
		v, inner := &p.vals[f], p.slots[f].inner
		switch {
		case p.direct.has(Field(f)):
			dst = append(appendName(dst, from, p.slots[f].name), v.Raw...)
		case p.inside.has(Field(f)):
			dst = d.appendExtra(appendName(dst, from, p.slots[f].name), &d.parts[inner.id])
		}
	}
	return append(appendUnknown(dst, from, p.unknown), '}')
}

// setExtra sets the column extra.
func (d *Decoder) setExtra(p *part, row schema.Row) {
	if p.fits() {
		return
	}
	from := len(d.arena)
	d.arena = d.appendExtra(d.arena, p)
	row[p.extra] = schema.TextValue(d.arena[from:len(d.arena):len(d.arena)])
}

// fits reports whether the columns hold all members of an object.
func (p *part) fits() bool { return p.direct|p.inside == 0 && len(p.unknown) == 0 }

// appendUnknown appends the unknown members in order, and of each name only the last.
func appendUnknown(dst []byte, from int, members []scan.Member) []byte {
	slices.SortStableFunc(members, func(a, b scan.Member) int { return bytes.Compare(a.Name, b.Name) })
	for i := range members {
		if m := &members[i]; i+1 == len(members) || !bytes.Equal(m.Name, members[i+1].Name) {
			dst = append(appendName(dst, from, m.Name), m.Value.Raw...)
		}
	}
	return dst
}

// appendName appends a member's name and a colon, after a comma if needed.
func appendName(dst []byte, from int, name []byte) []byte {
	return append(scan.AppendString(scan.Comma(dst, from), name), ':')
}

// readExtra returns the content of extra, or of an inner object in it.
func readExtra(text []byte, of *node) extraValues {
	var k extraValues
	for m := range scan.Members(text) {
		if f := of.find(m.Name); f == unknown {
			k.unknown = append(k.unknown, m)
		} else if m.Value.Shape != scan.IsNull {
			k.put(f, m.Value)
		}
	}
	return k
}

// put sets the value of a known field.
func (k *extraValues) put(f Field, v scan.Value) {
	if k.known == nil {
		k.known = map[Field]scan.Value{}
	}
	k.known[f] = v
}

// append appends the content as JSON.
func (k *extraValues) append(dst []byte, of *node) []byte {
	dst = append(dst, '{')
	from := len(dst)
	for f := range of.slots {
		if v, ok := k.known[Field(f)]; ok {
			dst = append(appendName(dst, from, of.slots[f].name), v.Raw...)
		}
	}
	return append(appendUnknown(dst, from, k.unknown), '}')
}

// extraOf returns the text of the column extra, or nil.
func extraOf(o *schema.Object) []byte { return schema.TextOf(o.Row[codecOf(o.Of).nodes[0].extra]) }

// InExtra returns the value at a path in the column extra of an object: names of members, the outer
// one first. It is absent if there is none.
func InExtra(o *schema.Object, path ...string) (v scan.Value) {
	v.Raw = extraOf(o)
	for _, name := range path {
		v = member(v.Raw, name)
	}
	return v
}

// member returns a member's value; absent if there is none.
func member(text []byte, name string) (v scan.Value) {
	if text == nil {
		return v
	}
	for m := range scan.Members(text) {
		if string(m.Name) == name {
			v = m.Value
		}
	}
	return v
}

// DropExtra removes members from the column extra of an object.
func DropExtra(o *schema.Object, names ...string) {
	text := extraOf(o)
	if text == nil {
		return
	}
	top := codecOf(o.Of).nodes[0]
	k := readExtra(text, top)
	for _, name := range names {
		delete(k.known, top.find([]byte(name)))
	}
	k.set(o, top)
}

// set makes the content that of an object's column extra.
func (k *extraValues) set(o *schema.Object, top *node) {
	o.Row[top.extra] = schema.TextValue(nil)
	if len(k.known)+len(k.unknown) > 0 {
		o.Row[top.extra] = schema.TextValue(k.append(nil, top))
	}
}
