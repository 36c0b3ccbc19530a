package wire

import (
	"strconv"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/schema"
	"callhouse/internal/wire/scan"
)

// AppendJSON appends the JSON object that the object's rows represent: the one that the service
// sent, value for value. Members are in a fixed order, without white space between them; numbers
// keep their original spelling.
//
// An object merged from several responses yields all its known data. After an opt-out, withheld
// values are null, and unknown fields are missing.
func AppendJSON(dst []byte, o *schema.Object) []byte {
	r := rebuild{o: o, source: o.Source(), dst: dst}
	n := codecOf(o.Of).nodes[0]
	return r.object(n, o.Row, schema.TextOf(o.Row[n.extra]))
}

// rebuild is one object being converted back to JSON.
type rebuild struct {
	o      *schema.Object
	source schema.Source
	node   *node
	row    schema.Row
	patch  Extra
	shown  fieldSet // fields that are present even when null
	done   fieldSet // fields of patch.over already appended
	dst    []byte
	from   int // where the members begin in dst
}

// object appends an object; extra is its patch.
func (r *rebuild) object(n *node, row schema.Row, extra []byte) []byte {
	in := rebuild{o: r.o, source: r.source, node: n, row: row, patch: readPatch(extra, n), dst: append(r.dst, '{')}
	if in.from = len(in.dst); in.patch.is != nil {
		return append(r.dst, in.patch.is...)
	}
	in.shown = n.shownIn(r.source, row)
	for i := range n.slots {
		f, s := Field(i), &n.slots[i]
		switch {
		case s.custom != nil:
			s.custom.rebuild(&in, f)
		case s.group != 0 && s.in[r.source] == (in.patch.as&s.group != 0): // another field supplied the columns' values
			in.valueless(f)
		case s.list >= 0:
			if !in.special(f, false) {
				in.list(f, func(schema.Row) bool { return true })
			}
		case s.inner != nil:
			in.inner(f)
		default:
			in.leaf(f, row[s.col])
		}
	}
	in.rest()
	return append(in.dst, '}')
}

func (r *rebuild) name(f Field) {
	r.dst = scan.AppendString(scan.Comma(r.dst, r.from), r.node.slots[f].name)
	r.dst = append(r.dst, ':')
}

var nullText, emptyList = []byte("null"), []byte("[]")

// as appends a member.
func (r *rebuild) as(f Field, value []byte) {
	r.name(f)
	r.dst = append(r.dst, value...)
}

// special handles a field that differs from its column, and reports whether it did so. null reports
// whether the column is null.
func (r *rebuild) special(f Field, null bool) bool {
	p := &r.patch
	switch v := p.at(f); {
	case p.absent.has(f):
	case p.null.has(f):
		r.as(f, nullText)
	case p.empty.has(f):
		r.as(f, emptyList)
	case v.Shape != scan.IsAbsent:
		r.as(f, v.Raw)
		r.done |= 1 << f
	case !null:
		return false
	case r.shown.has(f) || p.as.has(f):
		r.as(f, nullText)
	}
	return true
}

// leaf appends the value of a column.
func (r *rebuild) leaf(f Field, v parquet.Value) {
	if r.special(f, v.IsNull()) {
		return
	}
	r.name(f)
	switch c := r.node.slots[f].column; c.Type {
	case schema.JSON:
		r.dst = append(r.dst, v.ByteArray()...)
	case schema.Timestamp:
		r.dst = strconv.AppendInt(r.dst, schema.MillisOf(v).V, 10)
	case schema.Int64:
		r.dst = strconv.AppendInt(r.dst, v.Int64(), 10)
	case schema.Bool:
		r.dst = strconv.AppendBool(r.dst, v.Boolean())
	case schema.Exact:
		if c.Amount {
			r.dst = append(schema.AppendExact(append(r.dst, '"'), v, amountPlaces), '"')
		} else {
			r.dst = schema.AppendExact(r.dst, v, 0)
		}
	default:
		r.dst = scan.AppendString(r.dst, v.ByteArray())
	}
}

// inner appends an inner object: null if nothing shows that it is an object.
func (r *rebuild) inner(f Field) {
	n := r.node.slots[f].inner
	null := n.empty(r.o, r.row)
	var extra []byte
	if v := r.patch.at(f); v.Shape == scan.IsObject {
		extra, null = v.Raw, false
		r.done |= 1 << f
		*v = scan.Value{}
	}
	if !r.special(f, null) {
		r.name(f)
		r.dst = r.object(n, r.row, extra)
	}
}

// valueless appends a field that was sent but supplied no value for its column: null, or an object
// without any used value. rest appends its other values.
func (r *rebuild) valueless(f Field) {
	s := &r.node.slots[f]
	switch v := r.patch.at(f); {
	case r.patch.null.has(f):
		r.as(f, nullText)
	case s.inner != nil && s.in[r.source] && v.Shape == scan.IsObject:
		r.done |= 1 << f
		r.name(f)
		r.dst = r.object(s.inner, make(schema.Row, len(r.row)), v.Raw)
	}
}

// list appends the wanted rows of a list as an array.
func (r *rebuild) list(f Field, wanted func(schema.Row) bool) {
	s := &r.node.slots[f]
	rows := &r.o.Lists[s.list]
	r.name(f)
	r.dst = append(r.dst, '[')
	from := len(r.dst)
	for i := range rows.Len() {
		if row := rows.At(i); wanted(row) {
			r.dst = scan.Comma(r.dst, from)
			r.dst = r.object(s.inner, row, schema.TextOf(row[s.inner.extra]))
		}
	}
	r.dst = append(r.dst, ']')
}

// rest appends the fields without a column.
func (r *rebuild) rest() {
	p := &r.patch
	for i := range p.over {
		if o := &p.over[i]; o.v.Shape != scan.IsAbsent && !r.done.has(o.f) {
			r.as(o.f, o.v.Raw)
		}
	}
	for i := range p.unknown {
		m := &p.unknown[i]
		if r.dst = scan.Comma(r.dst, r.from); m.Lone() && m.Key.Raw != nil {
			r.dst = append(r.dst, m.Key.Raw...)
		} else {
			r.dst = scan.AppendString(r.dst, m.Name)
		}
		r.dst = append(append(r.dst, ':'), m.Value.Raw...)
	}
}
