package schema

import (
	"strconv"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/schema/decimal"
)

// AppendJSON appends the JSON object that the rows stand for: that which
// the service sent, value for value. Members come in a fixed order, and white
// space between them is gone; numbers have the spelling in which they came.
//
// A call merged of several responses gives an object of all that is known. What
// was withheld for an opted-out call is null, and unknown fields of it are gone.
func (o *Object) AppendJSON(dst []byte) []byte {
	r := rebuild{o: o, source: o.source(), dst: dst}
	n := o.Of.nodes[0]
	return r.object(n, o.Row, o.text(n.extra))
}

// source returns which version of the API the object came from.
func (o *Object) source() Source {
	if at := o.Of.source; at >= 0 {
		return wordIn[Source](sourceWords[:], o.Row[at])
	}
	return V3
}

// setSource notes it, where the table has a column for that.
func (o *Object) setSource(s Source) {
	if at := o.Of.source; at >= 0 {
		o.Row[at] = sourceValues[s]
	}
}

// rebuild is one object on its way back to JSON.
type rebuild struct {
	o      *Object
	source Source
	node   *node
	row    Row
	patch  patchView
	shown  fieldSet // fields that are there even when null
	done   fieldSet // of patch.over
	dst    []byte
	from   int // where the members begin in dst
}

// object appends an object; extra is what its columns do not hold of it.
func (r *rebuild) object(n *node, row Row, extra []byte) []byte {
	in := rebuild{o: r.o, source: r.source, node: n, row: row, patch: readPatch(extra, n), dst: append(r.dst, '{')}
	if in.from = len(in.dst); in.patch.is != nil {
		return append(r.dst, in.patch.is...)
	}
	in.shown = r.o.sent(n, n.shownIn(r.source, row))
	for i := range n.slots {
		f, s := field(i), &n.slots[i]
		switch {
		case s.column != nil && s.column.custom != nil:
			s.column.custom.rebuild(&in, f)
		case s.group != 0 && s.in[r.source] == (in.patch.as&s.group != 0): // the other name was sent
		case s.list >= 0:
			if !in.special(f, false) {
				in.list(f, func(Row) bool { return true })
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

func (r *rebuild) name(f field) {
	r.dst = appendString(comma(r.dst, r.from), r.node.slots[f].name)
	r.dst = append(r.dst, ':')
}

var nullText, emptyList = []byte("null"), []byte("[]")

// as appends a member.
func (r *rebuild) as(f field, value []byte) {
	r.name(f)
	r.dst = append(r.dst, value...)
}

// special deals with a field that is not what its column says, and reports
// whether it did. null says that the column is null.
func (r *rebuild) special(f field, null bool) bool {
	p := &r.patch
	switch v := p.at(f); {
	case p.absent.has(f):
	case p.null.has(f):
		r.as(f, nullText)
	case p.empty.has(f):
		r.as(f, emptyList)
	case v.shape != isAbsent:
		r.as(f, v.raw)
		r.done |= 1 << f
	case !null:
		return false
	case r.shown.has(f) || p.as.has(f):
		r.as(f, nullText)
	}
	return true
}

// leaf appends the value of a column.
func (r *rebuild) leaf(f field, v parquet.Value) {
	if r.special(f, v.IsNull()) {
		return
	}
	r.name(f)
	switch c := r.node.slots[f].column; c.Type {
	case JSON:
		r.dst = append(r.dst, v.ByteArray()...)
	case Timestamp:
		r.dst = strconv.AppendInt(r.dst, floorDiv(v.Int64(), micros), 10)
	case Int64:
		r.dst = strconv.AppendInt(r.dst, v.Int64(), 10)
	case Bool:
		r.dst = strconv.AppendBool(r.dst, v.Boolean())
	case Exact:
		if n := decimal.FromBytes(v.ByteArray()); c.Amount {
			r.dst = append(decimal.AppendAmount(append(r.dst, '"'), n), '"')
		} else {
			r.dst = decimal.Append(r.dst, n)
		}
	default:
		r.dst = appendString(r.dst, v.ByteArray())
	}
}

// inner appends an object inside: null where nothing says that it is one.
func (r *rebuild) inner(f field) {
	n := r.node.slots[f].inner
	null := n.empty(r.o, r.row)
	var extra []byte
	if v := r.patch.at(f); v.shape == isObject {
		extra, null = v.raw, false
		r.done |= 1 << f
		*v = val{}
	}
	if !r.special(f, null) {
		r.name(f)
		r.dst = r.object(n, r.row, extra)
	}
}

// list appends the rows of a list that are wanted, as an array.
func (r *rebuild) list(f field, wanted func(Row) bool) {
	s := &r.node.slots[f]
	rows := &r.o.Lists[s.list]
	r.name(f)
	r.dst = append(r.dst, '[')
	from := len(r.dst)
	for i := range rows.Len() {
		if row := rows.At(i); wanted(row) {
			r.dst = comma(r.dst, from)
			r.dst = r.object(s.inner, row, textOf(row[s.inner.extra]))
		}
	}
	r.dst = append(r.dst, ']')
}

// rest appends the fields that no column is for.
func (r *rebuild) rest() {
	p := &r.patch
	for i := range p.over {
		if o := &p.over[i]; o.v.shape != isAbsent && !r.done.has(o.f) {
			r.as(o.f, o.v.raw)
		}
	}
	for i := range p.unknown {
		m := &p.unknown[i]
		if r.dst = comma(r.dst, r.from); m.lone() && m.key.raw != nil {
			r.dst = append(r.dst, m.key.raw...)
		} else {
			r.dst = appendString(r.dst, m.name)
		}
		r.dst = append(append(r.dst, ':'), m.v.raw...)
	}
}
