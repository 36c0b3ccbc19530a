package wire

import (
	"strconv"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/schema"
	"callhouse/internal/wire/scan"
)

// AppendJSON appends the JSON object that the object's rows represent: its columns, under their
// names in the API's version that it came from, and the members of extra. A member that both have is
// as in extra. Nulls, and lists and inner objects without values, are left out.
func AppendJSON(dst []byte, o *schema.Object) []byte {
	p := printer{o: o, source: o.Source(), dst: dst}
	top := codecOf(o.Of).nodes[0]
	p.object(top, o.Row, schema.TextOf(o.Row[top.extra]))
	return p.dst
}

// printer appends an object as JSON.
type printer struct {
	o      *schema.Object
	source schema.Source
	dst    []byte
}

// object appends an object of the columns in row and the members of extra.
func (p *printer) object(n *node, row schema.Row, extra []byte) {
	k := readExtra(extra, n)
	p.dst = append(p.dst, '{')
	from := len(p.dst)
	for f := range n.slots {
		s := &n.slots[f]
		v, inExtra := k.known[Field(f)]
		inside := s.inner != nil && s.list < 0 && (!inExtra || v.Shape == scan.IsObject)
		switch {
		case inside && (inExtra || s.in[p.source] && !s.inner.empty(p.o, row)):
			in := row
			if !s.in[p.source] { // its columns are under their other names
				in = make(schema.Row, len(row))
			}
			p.dst = appendName(p.dst, from, s.name)
			p.object(s.inner, in, v.Raw)
		case inside:
		case inExtra:
			p.dst = append(appendName(p.dst, from, s.name), v.Raw...)
		case !s.in[p.source] || s.short[p.source] || p.derived(s, row):
		case s.list >= 0 && p.o.Lists[s.list].Len() > 0:
			p.dst = appendName(p.dst, from, s.name)
			p.list(s)
		case s.list < 0 && !row[s.col].IsNull():
			p.dst = appendName(p.dst, from, s.name)
			p.dst = appendCell(p.dst, row[s.col], s.column)
		}
	}
	p.dst = append(appendUnknown(p.dst, from, k.unknown), '}')
}

// derived reports whether a column has only what follows from others, which v3 does not send.
func (p *printer) derived(s *slot, row schema.Row) bool {
	d, ok := s.custom.(*duration)
	return ok && p.source == schema.V3 && parquet.Equal(row[d.col], d.of(row))
}

// list appends the rows of a list.
func (p *printer) list(s *slot) {
	p.dst = append(p.dst, '[')
	from := len(p.dst)
	rows := &p.o.Lists[s.list]
	for i := range rows.Len() {
		row := rows.At(i)
		extra := schema.TextOf(row[s.inner.extra])
		if p.dst = scan.Comma(p.dst, from); extra != nil && extra[0] != '{' {
			p.dst = append(p.dst, extra...) // no object
		} else {
			p.object(s.inner, row, extra)
		}
	}
	p.dst = append(p.dst, ']')
}

// appendCell appends the value of a column.
func appendCell(dst []byte, v parquet.Value, c *schema.Column) []byte {
	switch c.Type {
	case schema.JSON:
		return append(dst, v.ByteArray()...)
	case schema.Timestamp:
		return strconv.AppendInt(dst, schema.MillisOf(v).V, 10)
	case schema.Int64:
		return strconv.AppendInt(dst, v.Int64(), 10)
	case schema.Bool:
		return strconv.AppendBool(dst, v.Boolean())
	case schema.Exact:
		if c.Amount {
			return append(schema.AppendExact(append(dst, '"'), v, amountPlaces), '"')
		}
		return schema.AppendExact(dst, v, 0)
	}
	return scan.AppendString(dst, v.ByteArray())
}
