package wire

import (
	"math"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/schema"
	"callhouse/internal/wire/scan"
)

// twice is a list with [schema.Column.Count], such as the transcript of a call. v3 sends it under
// one name. v2 sends the whole list under another, and some of its objects once more under this
// one.
//
// The count is null if the list is unknown: it was not sent, or a v3 list item has null or [] for
// it. It is 0 if the list is empty.
type twice struct {
	table       *schema.Table
	list        int // in Resource.Lists
	count       int // the column
	role        int // the column of the first field of the list's objects
	only        []string
	some, whole Field
}

func (t *twice) decode(d *Decoder, p *part, f Field) {
	if f != t.some {
		return // both are decoded together
	}
	if d.source == schema.V2 {
		t.decodeV2(d, p)
	} else {
		t.decodeV3(d, p)
	}
	if d.o.Row[t.count].IsNull() {
		t.rows(d.o).Cut(0)
	}
}

func (t *twice) rows(o *schema.Object) *schema.Rows { return &o.Lists[t.list] }

// setCount sets the count to the number of rows.
func (t *twice) setCount(o *schema.Object) {
	o.Row[t.count] = parquet.Int32Value(int32(min(t.rows(o).Len(), math.MaxInt32)))
}

// swap replaces the object's rows with those of the separately stored list.
func (t *twice) swap(d *Decoder) {
	rows := t.rows(d.o)
	*rows, d.spare = d.spare, *rows
}

func (t *twice) decodeV3(d *Decoder, p *part) {
	f := t.some
	switch {
	case p.vals[t.whole].Shape == scan.IsAbsent:
	case p.vals[f].Shape != scan.IsAbsent:
		d.demote(p, t.whole)
	default:
		f = t.whole
		p.patch.as |= 1 << f
		d.drift(p.slots[f].path, DriftRenamed)
		t.swap(d)
	}
	if t.rows(d.o).Len() > 0 || d.kind == schema.KindDetail {
		t.setCount(d.o)
	}
	switch v := &p.vals[f]; v.Shape {
	case scan.IsArray:
		if t.rows(d.o).Len() == 0 {
			p.patch.empty |= 1 << f
		}
	case scan.IsNull:
		if d.kind == schema.KindItem { // an item without the list omits it
			p.patch.null |= 1 << f &^ p.patch.as
		}
	case scan.IsAbsent:
		if d.kind == schema.KindDetail {
			p.patch.absent |= 1 << f
		}
	default:
		d.misfit(&p.patch, f, v)
	}
}

func (t *twice) decodeV2(d *Decoder, p *part) {
	whole, some := &p.vals[t.whole], &p.vals[t.some]
	if d.spare.Len() > 0 {
		t.swap(d)
		t.setCount(d.o)
		ruled := some.Shape == scan.IsArray && t.copies(t.rows(d.o), &d.spare)
		d.other(p, t.some, some, ruled, d.spare.Len())
		return
	}
	if t.rows(d.o).Len() > 0 {
		t.setCount(d.o)
		d.other(p, t.whole, whole, false, 0)
		return
	}
	if d.kind == schema.KindDetail || whole.Shape != scan.IsAbsent || some.Shape != scan.IsAbsent {
		t.setCount(d.o)
		d.other(p, t.whole, whole, whole.Shape == scan.IsNull, 0)
		d.other(p, t.some, some, some.Shape == scan.IsNull, 0)
	}
}

// other records in extra how v2's other list was sent, unless that follows from the rows by the
// rule. If it is an array, n is its length.
func (d *Decoder) other(p *part, f Field, v *scan.Value, ruled bool, n int) {
	switch {
	case ruled:
	case v.Shape == scan.IsAbsent:
		p.patch.absent |= 1 << f
	case v.Shape == scan.IsNull:
		p.patch.null |= 1 << f
	case v.Shape == scan.IsArray && n == 0:
		p.patch.empty |= 1 << f
	case v.Shape == scan.IsArray:
		p.patch.keep(f, v)
	default:
		d.misfit(&p.patch, f, v)
	}
}

// copies reports whether some are exactly those rows of all that are sent twice.
func (t *twice) copies(all, some *schema.Rows) bool {
	n := 0
	for i := range all.Len() {
		if !t.again(all.At(i)) {
			continue
		}
		if n == some.Len() || !schema.SameRow(t.table, all.At(i), some.At(n)) {
			return false
		}
		n++
	}
	return n == some.Len()
}

// again reports whether v2 sends a row twice.
func (t *twice) again(row schema.Row) bool {
	word := schema.TextOf(row[t.role])
	for _, w := range t.only {
		if w == string(word) {
			return true
		}
	}
	return false
}

// rebuild appends the list, and for v2 some of its rows a second time.
func (t *twice) rebuild(r *rebuild, f Field) {
	if f != t.some {
		return
	}
	p := &r.patch
	if !r.row[t.count].IsNull() {
		r.shown |= 1<<t.some | 1<<t.whole
	}
	if r.source == schema.V3 {
		if p.as.has(t.whole) {
			f = t.whole
		}
		t.append(r, f, false)
		return
	}
	// If the whole list has no rows, they come from the short list.
	alone := (p.absent | p.null | p.empty).has(t.whole) || p.at(t.whole).Shape != scan.IsAbsent
	t.append(r, t.whole, false)
	t.append(r, t.some, !alone)
}

// append appends the rows, or only those that are sent twice, as an array.
func (t *twice) append(r *rebuild, f Field, some bool) {
	if !r.special(f, t.rows(r.o).Len() == 0) {
		r.list(f, func(row schema.Row) bool { return !some || t.again(row) })
	}
}
