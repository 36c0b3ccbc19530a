package wire

import (
	"fmt"
	"math/bits"

	"callhouse/internal/schema"
	"callhouse/internal/wire/scan"
)

// The code in this file walks through a body. It records the places of the known fields' values,
// and makes the rows of lists on the way.

// part is one kind of object in the JSON that is being decoded.
type part struct {
	*node
	vals  []scan.Value // by field, the last value found
	has   fieldSet     // the fields with a value
	nulls fieldSet
	// For extra: fields whose value no column holds, inner objects of which it has a part, and the
	// members that are not known.
	direct, inside fieldSet
	unknown        []scan.Member
}

// keep records that extra has the value of a known field.
func (p *part) keep(f Field) { p.direct |= 1 << f }

// scan walks through the body once.
func (d *Decoder) scan(body []byte) (v scan.Value, ok bool) {
	d.s.Reset(body)
	d.s.Space()
	if !d.s.Before('{') {
		return v, d.s.Fail("not a JSON object")
	}
	v, ok = d.object(&d.parts[0], 0)
	return v, ok && d.s.End()
}

// name returns a key's text.
func (d *Decoder) name(key scan.Value) []byte {
	b := key.Raw[1 : len(key.Raw)-1]
	if key.Marks&scan.Escaped == 0 {
		return b
	}
	from := len(d.arena)
	d.arena = scan.AppendUnescaped(d.arena, b)
	return d.arena[from:]
}

// another counts a part of the object, and reports whether the object may have that many parts.
func (d *Decoder) another() bool {
	d.count++
	return !d.tooMany() || d.s.Fail(fmt.Sprintf("more than %d turns, items and unknown fields", d.MaxParts))
}

func (d *Decoder) tooMany() bool { return d.MaxParts > 0 && d.count > d.MaxParts }

// addUnknown adds a field without a column.
func (d *Decoder) addUnknown(p *part, key, v scan.Value) {
	if !d.another() {
		return // the object will be rejected
	}
	p.unknown = append(p.unknown, scan.Member{Name: d.name(key), Value: v})
}

// object scans a value that should be an object, and records its fields. Any other value leaves no
// fields, not even those of an earlier value of the same name. depth is the number of objects and
// arrays around the value.
func (d *Decoder) object(p *part, depth int) (v scan.Value, ok bool) {
	s := &d.s
	p.unknown, p.direct, p.inside = p.unknown[:0], 0, 0
	for met := p.has | p.nulls; met != 0; met &= met - 1 {
		p.vals[bits.TrailingZeros64(uint64(met))].Shape = scan.IsAbsent
	}
	p.has, p.nulls = 0, 0
	for lists := p.lists; lists != 0; lists &= lists - 1 {
		d.rows(&p.slots[bits.TrailingZeros64(uint64(lists))]).Cut(0)
	}
	o, ok := s.Open('{')
	if !ok {
		return s.Value(depth)
	}
	for first := true; ; first = false {
		key, st := s.Key(first)
		switch st {
		case scan.StepEnd:
			return s.Closed(o, scan.IsObject), true
		case scan.StepFail:
			return v, false
		}
		f := p.find(d.name(key))
		if f == unknown {
			m, ok := s.Value(depth + 1)
			if !ok {
				return v, false
			}
			d.addUnknown(p, key, m)
			continue
		}
		if p.vals[f], ok = d.value(&p.slots[f], depth+1); !ok {
			return v, false
		}
		if p.vals[f].Shape == scan.IsNull {
			p.has, p.nulls = p.has&^(1<<f), p.nulls|1<<f
		} else {
			p.has, p.nulls = p.has|1<<f, p.nulls&^(1<<f)
		}
	}
}

// value scans the value of a known field.
func (d *Decoder) value(s *slot, depth int) (scan.Value, bool) {
	switch {
	case s.list >= 0:
		return d.array(s, depth)
	case s.inner != nil:
		return d.object(&d.parts[s.inner.id], depth)
	}
	return d.s.Value(depth)
}

// rows returns the empty rows for a list.
func (d *Decoder) rows(s *slot) *schema.Rows {
	if s.duplicate {
		d.duplicate.Empty(d.codec.of.Lists[s.list])
		return &d.duplicate
	}
	return &d.o.Lists[s.list]
}

// array scans a value that should be an array of objects, and makes a row of each.
func (d *Decoder) array(list *slot, depth int) (v scan.Value, ok bool) {
	s, p, rows := &d.s, &d.parts[list.inner.id], d.rows(list)
	rows.Cut(0)
	o, ok := s.Open('[')
	if !ok {
		return s.Value(depth)
	}
	for first := true; ; first = false {
		switch s.Element(first) {
		case scan.StepEnd:
			return s.Closed(o, scan.IsArray), true
		case scan.StepFail:
			return v, false
		}
		if !d.another() {
			return v, false
		}
		element, ok := d.object(p, depth+1)
		if !ok {
			return v, false
		}
		row := rows.Add()
		if element.Shape == scan.IsObject {
			d.fields(p, row)
			d.driftUnknown(p)
			d.setExtra(p, row)
			continue
		}
		d.drift(p.prefix[:len(p.prefix)-1], DriftMismatch)
		if element.Shape != scan.IsNull {
			row[p.extra] = schema.TextValue(element.Raw)
		}
	}
}
