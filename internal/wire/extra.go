package wire

import (
	"bytes"
	"slices"

	"callhouse/internal/wire/scan"
)

// The column extra holds the data that the other columns of its row cannot: together they reproduce
// the object that the service sent, value for value. It is normally null, which means that there is
// nothing to add.
//
// It is a JSON object, read as a patch on the object that the columns alone produce (rebuild.go):
//
//   - A field without a column is under its own name, as sent.
//   - A field whose column is null because the value does not fit, or holds a
//     converted value, is under the name with which it was sent, as sent.
//   - An inner object (of a call: agent, call_analysis and call_cost) that was sent
//     as an object is itself a patch, with the same rules inside. Such a patch, even
//     an empty one, also shows that an object was sent and not null.
//   - The one reserved key "$" comes first and lists what has no value to keep:
//     "absent" the fields not sent, though the service normally sends them;
//     "null"   the fields sent as null, though they are normally left out, or
//     their column holds a derived value;
//     "empty"  the arrays sent empty where the rule is null;
//     "as"     the fields under their names in the API's other version that gave the
//     columns their values: those of the object's own version were not sent, are
//     null ("null" has them), or gave no value (they are under their names);
//     "is"     the JSON text of a list's element that is not an object;
//     "raw"    the JSON texts of members, "name":value, that are not valid Unicode
//     (half of a surrogate pair), which many readers would refuse.
//     The texts of is and raw are strings, so extra is JSON for any reader.
//   - A name from the service that begins with "$" has one more "$" before it.
//
// The order is fixed: "$" with its keys as above, the known fields in the order of their
// declaration, the others by their names' bytes. So the same values result in the same extra,
// whatever order they are sent in. Values are verbatim, including white space and repeated names
// inside them.
//
// "Normally" means: each object declares which fields are sent even when null; an inner object is
// null if everything in it is null; a list is []. Of a call, the transcript is left out if
// turn_count is null, null if it is 0, and an array otherwise. v2 sends it as
// transcript_with_tool_calls, and its spoken turns once more as transcript; v3 sends no
// duration_ms.

// patch is the extra of one object while it is made.
type patch struct {
	of      *node
	absent  fieldSet
	null    fieldSet
	empty   fieldSet
	as      fieldSet
	is      scan.Value
	over    []override
	unknown []scan.Member
}

// override is the value of a known field that its column cannot reproduce: as sent, or a patch of
// its own.
type override struct {
	f   Field
	v   scan.Value
	sub *patch
}

func (p *patch) reset(of *node) {
	p.of, p.absent, p.null, p.empty, p.as = of, 0, 0, 0, 0
	p.is.Shape = scan.IsAbsent
	p.over, p.unknown = p.over[:0], p.unknown[:0]
}

// isEmpty reports whether the patch is empty.
func (p *patch) isEmpty() bool {
	return p.absent|p.null|p.empty|p.as == 0 && p.is.Shape == scan.IsAbsent && len(p.over)+len(p.unknown) == 0
}

// path returns the place of a field in the JSON.
func (p *patch) path(f Field) string { return p.of.slots[f].path }

// keep stores the value of a known field in extra.
func (p *patch) keep(f Field, v *scan.Value) { p.over = append(p.over, override{f: f, v: *v}) }

// appendPatch appends the text of a patch.
func appendPatch(dst []byte, p *patch) []byte {
	p.sort()
	dst = append(dst, '{')
	from := len(dst)
	dst = p.appendMarks(dst)
	for i := range p.over {
		o := &p.over[i]
		switch {
		case o.sub != nil:
			dst = append(appendName(dst, from, p.of.slots[o.f].name), ':')
			dst = appendPatch(dst, o.sub)
		case o.v.Marks&scan.Lone == 0:
			dst = append(appendName(dst, from, p.of.slots[o.f].name), ':')
			dst = append(dst, o.v.Raw...)
		}
	}
	for i := range p.unknown {
		m := &p.unknown[i]
		if m.Lone() {
			continue
		}
		dst = append(appendName(dst, from, m.Name), ':')
		dst = append(dst, m.Value.Raw...)
	}
	return append(dst, '}')
}

// appendMarks appends the member "$", unless it would be empty.
func (p *patch) appendMarks(dst []byte) []byte {
	whole := len(dst)
	dst = append(dst, `"$":{`...)
	from := len(dst)
	for _, m := range [...]struct {
		name string
		set  fieldSet
	}{{"absent", p.absent}, {"null", p.null}, {"empty", p.empty}, {"as", p.as}} {
		if m.set == 0 {
			continue
		}
		dst = append(scan.Comma(dst, from), '"')
		dst = append(dst, m.name...)
		dst = append(dst, `":[`...)
		list := len(dst)
		for f := range p.of.slots {
			if m.set.has(Field(f)) {
				dst = scan.AppendString(scan.Comma(dst, list), p.of.slots[f].name)
			}
		}
		dst = append(dst, ']')
	}
	if p.is.Shape != scan.IsAbsent {
		dst = append(scan.Comma(dst, from), `"is":`...)
		dst = scan.AppendString(dst, p.is.Raw)
	}
	dst = p.appendRaw(dst, from)
	if len(dst) == from {
		return dst[:whole]
	}
	return append(dst, '}')
}

// appendRaw appends the list of members that are not Unicode.
func (p *patch) appendRaw(dst []byte, from int) []byte {
	whole := len(dst)
	dst = append(scan.Comma(dst, from), `"raw":[`...)
	list := len(dst)
	for i := range p.over {
		if o := &p.over[i]; o.sub == nil && o.v.Marks&scan.Lone != 0 {
			text := scan.AppendString(nil, p.of.slots[o.f].name)
			dst = scan.AppendString(scan.Comma(dst, list), append(append(text, ':'), o.v.Raw...))
		}
	}
	for i := range p.unknown {
		if m := &p.unknown[i]; m.Lone() {
			text := append([]byte(nil), m.Key.Raw...)
			if text == nil {
				text = scan.AppendString(nil, m.Name)
			}
			dst = scan.AppendString(scan.Comma(dst, list), append(append(text, ':'), m.Value.Raw...))
		}
	}
	if len(dst) == list {
		return dst[:whole]
	}
	return append(dst, ']')
}

// sort sorts the unknown fields and keeps only the last of each name.
func (p *patch) sort() {
	if len(p.unknown) < 2 {
		return
	}
	slices.SortStableFunc(p.unknown, func(a, b scan.Member) int { return bytes.Compare(a.Name, b.Name) })
	n := 0
	for i := range p.unknown {
		if n > 0 && bytes.Equal(p.unknown[n-1].Name, p.unknown[i].Name) {
			n--
		}
		p.unknown[n] = p.unknown[i]
		n++
	}
	p.unknown = p.unknown[:n]
}

// appendName appends a member's name, with a comma and a "$" if needed.
func appendName(dst []byte, from int, name []byte) []byte {
	dst = scan.Comma(dst, from)
	at := len(dst)
	dst = scan.AppendString(dst, name)
	if len(name) > 0 && name[0] == '$' {
		dst = slices.Insert(dst, at+1, '$')
	}
	return dst
}
