package wire

import (
	"slices"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/schema"
	"callhouse/internal/wire/scan"
)

// custom decodes and rebuilds a field that is more than a plain value in a column.
type custom interface {
	decode(d *Decoder, p *part, f Field)
	rebuild(r *rebuild, f Field)
}

// customOf returns the custom handling of a field of an object in table t; nil if its type is
// enough.
func (c *codec) customOf(t *schema.Table, f Field, s *slot) custom {
	switch col := s.column; {
	case col.Between[0] != "":
		return duration{col: s.col, from: t.Column(col.Between[0]), to: t.Column(col.Between[1])}
	case col.OptOut:
		return optOutFlag{s.col}
	case col.Count != "":
		if c.twice == nil {
			c.twice = &twice{table: col.List, list: s.list, count: t.Column(col.Count), role: s.inner.slots[0].col, some: unknown, whole: unknown}
		}
		if col.Only != nil {
			c.twice.some, c.twice.only = f, col.Only
		} else {
			c.twice.whole = f
		}
		return c.twice
	case s.spare:
		panic("wire: " + col.List.Name + " is sent twice, and has no count")
	}
	return nil
}

// duration is a field with [schema.Column.Between]. v3 never sends it and v2 may omit it; its value
// is then the time from one column to the other.
type duration struct{ col, from, to int }

func (c duration) decode(d *Decoder, p *part, f Field) {
	v, row := &p.vals[f], d.o.Row
	c.checkEnd(d, p)
	if take(&p.patch, f, v, p.shown[d.source]) {
		if d.source == schema.V3 {
			p.patch.as |= 1 << f
			d.drift(p.slots[f].path, DriftRenamed)
		}
		row[c.col] = schema.LongValue(d.integer(&p.patch, f, v))
		return
	}
	start, end := schema.MillisOf(row[c.from]), schema.MillisOf(row[c.to])
	if v.Shape == scan.IsNull && d.source == schema.V2 || !start.OK || !end.OK {
		return
	}
	row[c.col] = parquet.Int64Value(end.V - start.V)
}

// checkEnd makes an end that is none null: services send 0, or a time before the start, while a call
// goes on. Extra keeps it as sent.
func (c duration) checkEnd(d *Decoder, p *part) {
	row := d.o.Row
	start, end := schema.MillisOf(row[c.from]), schema.MillisOf(row[c.to])
	if !end.OK || end.V > 0 && (!start.OK || end.V >= start.V) {
		return
	}
	row[c.to] = parquet.Value{}
	for i := range p.slots {
		f := Field(i)
		if p.slots[i].col != c.to || !p.has.has(f) || p.slots[i].list >= 0 || p.slots[i].inner != nil {
			continue
		}
		if !slices.ContainsFunc(p.patch.over, func(o override) bool { return o.f == f }) {
			p.patch.keep(f, &p.vals[f])
		}
		d.drift(p.slots[i].path, DriftMisfit)
	}
}

func (c duration) rebuild(r *rebuild, f Field) {
	v := r.row[c.col]
	if r.source == schema.V3 && !r.patch.as.has(f) {
		v = parquet.Value{} // derived from the columns
	}
	r.leaf(f, v)
}

// optOutFlag is a field with [schema.Column.OptOut].
type optOutFlag struct{ col int }

func (c optOutFlag) decode(d *Decoder, p *part, f Field) {
	v := &p.vals[f]
	if !take(&p.patch, f, v, p.shown[d.source]) {
		return
	}
	if v.Shape != scan.IsTrue && v.Shape != scan.IsFalse {
		p.patch.keep(f, v)
		d.drift(p.slots[f].path, DriftConverted)
	}
	d.o.Row[c.col] = parquet.BooleanValue(optedOut(v))
}

func (c optOutFlag) rebuild(r *rebuild, f Field) { r.leaf(f, r.row[c.col]) }

// optedOut reports whether a value of such a flag forbids storage: any sent value except false,
// "false" and null.
func optedOut(v *scan.Value) bool {
	switch v.Shape {
	case scan.IsAbsent, scan.IsNull, scan.IsFalse:
		return false
	case scan.IsString:
		return string(v.Raw) != `"false"`
	}
	return true
}
