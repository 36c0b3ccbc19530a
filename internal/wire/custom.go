package wire

import (
	"math"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/schema"
	"callhouse/internal/wire/scan"
)

// custom decodes a field that is more than a plain value in a column, also if it was not sent.
type custom interface {
	decode(d *Decoder, p *part, f Field)
}

// customOf returns the custom handling of a field of an object in table t; nil if its type is
// enough.
func (c *codec) customOf(t *schema.Table, f Field, s *slot) custom {
	switch col := s.column; {
	case col.Between[0] != "":
		s.columns = 0 // see merger.times
		c.duration = &duration{col: s.col, from: t.Column(col.Between[0]), to: t.Column(col.Between[1])}
		return c.duration
	case col.OptOut:
		return optOutFlag{s.col}
	case col.Count != "":
		if c.twice == nil {
			c.twice = &twice{list: s.list, bit: s.columns, count: t.Column(col.Count), table: col.List, some: unknown, whole: unknown}
		}
		s.columns = 0 // see merger.list
		if col.Short {
			c.twice.some, s.short[schema.V2] = f, true
		} else {
			c.twice.whole, s.short[schema.V3] = f, true
		}
		return c.twice
	case s.duplicate:
		panic("wire: " + col.List.Name + " is sent twice, and has no count")
	}
	return nil
}

// duration is a field with [schema.Column.Between]. v3 never sends it and v2 may omit it; its value
// is then the time from one column to the other.
type duration struct{ col, from, to int }

func (c *duration) decode(d *Decoder, p *part, f Field) {
	v, row := &p.vals[f], d.o.Row
	if start, end := schema.MillisOf(row[c.from]), schema.MillisOf(row[c.to]); end.OK && (end.V <= 0 || start.OK && end.V < start.V) {
		// It is none: services send 0, or a time before the start, while a call goes on.
		row[c.to] = parquet.Value{}
		for i := range p.slots {
			if f := Field(i); p.slots[i].column != nil && p.slots[i].col == c.to && p.has.has(f) {
				p.keep(f)
				d.drift(p.slots[i].path, DriftMismatch)
			}
		}
	}
	if v.Shape <= scan.IsNull {
		row[c.col] = c.of(row)
		return
	}
	d.o.Sent |= 1 << c.col
	if d.source == schema.V3 {
		d.drift(p.slots[f].path, DriftRenamed)
	}
	row[c.col] = schema.LongValue(d.integer(p, f, v))
}

// of returns the time between the two columns.
func (c *duration) of(row schema.Row) parquet.Value {
	start, end := schema.MillisOf(row[c.from]), schema.MillisOf(row[c.to])
	return schema.LongValue(schema.Opt[int64]{V: end.V - start.V, OK: start.OK && end.OK})
}

// optOutFlag is a field with [schema.Column.OptOut].
type optOutFlag struct{ col int }

func (c optOutFlag) decode(d *Decoder, p *part, f Field) {
	v := &p.vals[f]
	if v.Shape <= scan.IsNull {
		return
	}
	if v.Shape != scan.IsTrue && v.Shape != scan.IsFalse {
		d.drift(p.slots[f].path, DriftConverted)
		if text := string(v.Raw); text != `"true"` && text != `"false"` {
			p.keep(f)
		}
	}
	d.o.Row[c.col] = parquet.BooleanValue(optedOut(v))
}

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

// twice is a list with [schema.Column.Count], such as the transcript of a call. v3 sends it under
// one name. v2 sends the whole list under another, and some of its objects once more under this
// one.
//
// The count is null if the list is unknown: it was not sent, or a v3 list item has null or [] for
// it. It is 0 if the list is empty.
type twice struct {
	table       *schema.Table
	list        int    // in Resource.Lists
	bit         uint64 // in Object.Sent: the whole list was sent, or null for an empty one
	count       int    // the column
	some, whole Field
}

func (t *twice) decode(d *Decoder, p *part, f Field) {
	if f != t.some {
		return // both are decoded together
	}
	if v := p.vals[t.whole].Shape; d.duplicate.Len() > 0 || t.rows(d.o).Len() == 0 && (v == scan.IsArray || v == scan.IsNull) {
		d.o.Sent |= t.bit
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
	*rows, d.duplicate = d.duplicate, *rows
}

func (t *twice) decodeV3(d *Decoder, p *part) {
	f := t.some
	switch {
	case p.vals[t.whole].Shape == scan.IsAbsent:
	case p.vals[f].Shape != scan.IsAbsent:
		d.demote(p, t.whole)
	default:
		f = t.whole
		d.drift(p.slots[f].path, DriftRenamed)
		t.swap(d)
	}
	if t.rows(d.o).Len() > 0 || d.kind == schema.KindDetail {
		t.setCount(d.o)
	}
	t.other(d, p, f, t.rows(d.o))
}

func (t *twice) decodeV2(d *Decoder, p *part) {
	whole, some := &p.vals[t.whole], &p.vals[t.some]
	short := &d.duplicate // the list that is not stored
	if d.duplicate.Len() > 0 {
		t.swap(d)
	}
	if t.rows(d.o).Len() > 0 || d.kind == schema.KindDetail || whole.Shape != scan.IsAbsent || some.Shape != scan.IsAbsent {
		t.setCount(d.o)
	}
	if whole.Shape == scan.IsArray && short.Len() > 0 {
		if !t.has(t.rows(d.o), short) {
			p.keep(t.some)
		}
		return
	}
	t.other(d, p, t.whole, t.rows(d.o))
	t.other(d, p, t.some, t.rows(d.o))
}

// other keeps in extra that a list was sent empty, or the value that was sent instead of a list.
func (t *twice) other(d *Decoder, p *part, f Field, rows *schema.Rows) {
	switch v := &p.vals[f]; {
	case v.Shape <= scan.IsNull:
	case v.Shape != scan.IsArray:
		d.mismatch(p, f)
	case rows.Len() == 0 && !d.o.Row[t.count].IsNull():
		p.keep(f)
	}
}

// has reports whether all has the rows of some, in their order.
func (t *twice) has(all, some *schema.Rows) bool {
	n := 0
	for i := range all.Len() {
		if n < some.Len() && schema.SameRow(t.table, all.At(i), some.At(n)) {
			n++
		}
	}
	return n == some.Len()
}
