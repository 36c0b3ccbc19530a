// Package wire converts the service's JSON into objects of rows.
//
// The columns' places in the JSON are compiled once per resource (node.go). With the result, a
// [Decoder] reads the JSON of an object, [Merge] folds two responses into one, [AppendJSON] prints
// an object, and [Redact] removes what must not be stored. A value that no column holds goes to the
// column extra (extra.go), so that no value is lost. It is counted as [Drift] and never stops
// a run.
//
// The package depends only on the declarations; nothing in it is specific to calls. It does no
// input or output, and reads no clock.
package wire

import (
	"bytes"
	"errors"
	"fmt"
	"math/bits"
	"unicode/utf8"

	"callhouse/internal/schema"
	"callhouse/internal/wire/scan"
)

// Decoder decodes the JSON of objects. Its zero value is ready for use. It is meant to be reused,
// by one goroutine at a time: after warming up, it allocates nothing.
//
// # Ownership
//
// The texts of a decoded object alias the body if they are verbatim in it, and otherwise the
// Decoder's own memory (text with escapes removed, extra). So an object is valid until its body is
// changed or its Decoder is used again; Own makes it permanent. Decode empties the given object and
// reuses the memory of its rows.
type Decoder struct {
	// Drift counts the departures from the columns' expectations in the last Decode, for each place
	// and kind. The next Decode overwrites it, but not its strings.
	Drift []Drift
	// MaxParts is the maximum number of list objects and unknown fields, taken together, in an
	// object; 0: no limit. Each takes up to a kilobyte of memory during conversion.
	MaxParts int

	s         scan.Scanner
	arena     []byte
	codec     *codec
	o         *schema.Object // the result
	parts     []part         // by the id of their node
	duplicate schema.Rows    // of the list that is stored separately

	count  int // objects of lists and unknown fields so far
	source schema.Source
	kind   schema.Kind
}

// wholeBody is the path in Drift for anything that does not concern a single field.
const wholeBody = "(body)"

// Decode decodes body, the JSON object of one object of a resource, into o. kind is KindItem for an
// item of a list and KindDetail for an object's own record. The names in the object distinguish v3
// from v2.
//
// It sets every column that comes from the service, and the source. The other columns are null.
//
// It fails, with an error that wraps a *scan.Error, only if body is not one JSON object of valid
// syntax (RFC 8259, at most 1,000 levels deep), has more than MaxParts parts, or has no usable id:
// a non-empty string, or a number, which becomes its text. Any other departure is counted in Drift.
// If a name is repeated, the last value counts, as in encoding/json.
//
// If the flag of [schema.Column.OptOut] is anything but false, null or absent, Withheld and unknown
// fields are dropped.
func (d *Decoder) Decode(of *schema.Resource, body []byte, kind schema.Kind, o *schema.Object) error {
	if kind != schema.KindItem && kind != schema.KindDetail {
		return errors.New("decode an object: neither a list item nor a detail")
	}
	if d.codec == nil || d.codec.of != of {
		d.codec = codecOf(of)
		d.parts = make([]part, len(d.codec.nodes))
		for i, n := range d.codec.nodes {
			d.parts[i] = part{node: n, vals: make([]scan.Value, len(n.slots))}
		}
	}
	o.Begin(of)
	d.o, d.kind, d.count = o, kind, 0
	d.Drift = d.Drift[:0]
	if d.arena = d.arena[:0]; d.arena == nil {
		d.arena = make([]byte, 0, 1<<12) // so that no slice of it is nil
	}
	for i := range d.parts {
		d.parts[i].unknown = d.parts[i].unknown[:0]
	}
	replaced := !utf8.Valid(body)
	if replaced {
		body = scan.Valid(body)
	}
	v, ok := d.scan(body)
	if ok && v.Marks&scan.Lone != 0 { // rare enough for a second scan
		replaced, d.count, d.Drift = true, 0, d.Drift[:0]
		_, ok = d.scan(scan.AppendWhole(nil, body))
	}
	if !ok || d.tooMany() {
		return undecodable(d.s.Err())
	}
	if replaced {
		d.drift(wholeBody, DriftReplaced)
	}
	return d.whole(replaced)
}

// whole makes the object's row from the values that scan found.
func (d *Decoder) whole(replaced bool) error {
	p := &d.parts[0]
	d.source = d.guessSource(p)
	d.o.SetSource(d.source)
	if d.optedOut() {
		d.withhold(replaced)
	}
	d.driftUnknown(p)
	if err := d.checkKey(p, replaced); err != nil {
		return err
	}
	d.fields(p, d.o.Row)
	d.o.Sent |= d.sent(p)
	d.setExtra(p, d.o.Row)
	return nil
}

// fields converts the known fields of an object into columns.
func (d *Decoder) fields(p *part, row schema.Row) {
	done := fieldSet(0)
	for todo := p.has | p.always | p.nulls&p.grouped; todo != 0; todo &= todo - 1 {
		f := Field(bits.TrailingZeros64(uint64(todo)))
		s := &p.slots[f]
		switch {
		case s.custom != nil:
			s.custom.decode(d, p, f)
		case s.group == 0:
			d.field(p, f, row)
		case !done.has(f):
			done |= s.group
			d.group(p, s.group, row)
		}
	}
}

// field converts one field, as it was sent, into columns.
func (d *Decoder) field(p *part, f Field, row schema.Row) {
	s, v := &p.slots[f], &p.vals[f]
	switch {
	case v.Shape <= scan.IsNull, s.list >= 0 && v.Shape == scan.IsArray: // the rows of a list are there
	case s.list >= 0, s.inner != nil && v.Shape != scan.IsObject:
		d.mismatch(p, f)
	case s.inner != nil:
		in := &d.parts[s.inner.id]
		d.fields(in, row)
		d.driftUnknown(in)
		if in.empty(d.o, row) || !in.fits() {
			p.inside |= 1 << f
		}
	default:
		d.set(&row[s.col], p, f, v, s.column)
	}
}

// group converts fields that mean the same under different names or in different shapes, of which
// each version of the API has some. Those of the object's own version count. If they have no value,
// the others count; if they have one, the others become unknown fields.
func (d *Decoder) group(p *part, group fieldSet, row schema.Row) {
	own, others, fits := fieldSet(0), fieldSet(0), true
	for g := group; g != 0; g &= g - 1 {
		f := Field(bits.TrailingZeros64(uint64(g)))
		switch s, v := &p.slots[f], &p.vals[f]; {
		case s.in[d.source]:
			own |= 1 << f
		case v.Shape != scan.IsAbsent:
			others |= 1 << f
			fits = fits && (s.inner == nil || v.Shape == scan.IsObject)
		}
	}
	sent := own & (p.has | p.nulls)
	for ; own != 0; own &= own - 1 {
		d.field(p, Field(bits.TrailingZeros64(uint64(own))), row)
	}
	renamed := fits && (sent == 0 || others&p.has != 0) && p.noneOf(group, d.o, row)
	for ; others != 0; others &= others - 1 {
		f := Field(bits.TrailingZeros64(uint64(others)))
		if !renamed {
			d.demote(p, f)
			continue
		}
		d.drift(p.slots[f].path, DriftRenamed)
		d.field(p, f, row)
	}
	for in := p.inside & group; in != 0; in &= in - 1 {
		f := Field(bits.TrailingZeros64(uint64(in)))
		if of := &d.parts[p.slots[f].inner.id]; of.fits() && !of.empty(d.o, row) { // it was empty
			p.inside &^= 1 << f
		}
	}
}

// sent returns the columns and lists that an object has values or nulls for.
func (d *Decoder) sent(p *part) (sent uint64) {
	for fields := p.has | p.nulls; fields != 0; fields &= fields - 1 {
		f := bits.TrailingZeros64(uint64(fields))
		if s := &p.slots[f]; s.inner != nil && s.list < 0 && p.vals[f].Shape == scan.IsObject {
			sent |= d.sent(&d.parts[s.inner.id])
		} else {
			sent |= s.columns
		}
	}
	return sent
}

// demote makes a known field an unknown one. Like any unknown field, it is lost if the object is
// opted out.
func (d *Decoder) demote(p *part, f Field) {
	v, path := &p.vals[f], p.slots[f].path
	if d.optedOut() {
		if v.Shape != scan.IsNull {
			d.drift(path, DriftWithheld)
		}
		return
	}
	if v.Shape != scan.IsNull {
		p.keep(f)
	}
	d.drift(path, DriftUnknownField)
}

// guessSource distinguishes v3 from v2 by the name of the key. If that is v2's, or if both names
// exist, it counts which version the other names belong to. So a single field under its other name
// does not change the result.
func (d *Decoder) guessSource(p *part) schema.Source {
	sent := p.has | p.nulls
	key := p.slots[0].group
	v3, v2 := (sent & p.only[schema.V3]).count(), (sent & p.only[schema.V2]).count()
	if sent&key&p.only[schema.V2] == 0 || v3 > v2 || v3 == v2 && sent&key&p.only[schema.V3] != 0 {
		return schema.V3
	}
	return schema.V2
}

// optedOut reports whether the object must not be stored completely.
func (d *Decoder) optedOut() bool {
	return d.codec.optOut != unknown && optedOut(&d.parts[0].vals[d.codec.optOut])
}

// withhold drops the data of an opted-out object that must not be stored, as if the service had
// sent null, and counts it as drift.
func (d *Decoder) withhold(replaced bool) {
	d.Drift = d.Drift[:0] // its entries name the dropped fields
	if replaced {
		d.drift(wholeBody, DriftReplaced)
	}
	for i := range d.o.Lists {
		d.o.Lists[i].Cut(0)
	}
	d.duplicate.Cut(0)
	top := &d.parts[0]
	for f := range top.slots {
		if v := &top.vals[f]; top.slots[f].withheld && v.Shape > scan.IsNull {
			*v = scan.Value{Shape: scan.IsNull}
			top.has, top.nulls = top.has&^(1<<f), top.nulls|1<<f
			d.drift(top.slots[f].path, DriftWithheld)
		}
	}
	for i := range d.parts {
		p := &d.parts[i]
		if !p.withheld {
			for range p.unknown {
				d.drift(p.prefix+otherFields, DriftWithheld)
			}
		}
		p.unknown = p.unknown[:0]
	}
}

// checkKey fails if an object has no usable key.
func (d *Decoder) checkKey(p *part, replaced bool) error {
	v := &p.vals[0]
	for g := p.slots[0].group; g != 0; g &= g - 1 { // see group
		f := bits.TrailingZeros64(uint64(g))
		if of := &p.vals[f]; of.Shape != scan.IsAbsent && (!isText(v) || isText(of) && p.slots[f].in[d.source]) {
			v = of
		}
	}
	switch {
	case v.Shape == scan.IsAbsent:
		return errNoID("no id", d.s.Text(), v)
	case !isText(v):
		return errNoID("an id that is no text", d.s.Text(), v)
	case replaced && bytes.Contains(v.Raw, []byte("\uFFFD")):
		return errNoID("an id that is no Unicode", d.s.Text(), v)
	case v.Shape == scan.IsString && len(v.Raw) == 2:
		return errNoID("an empty id", d.s.Text(), v)
	}
	return nil
}

// isText reports whether a value can be a column's text.
func isText(v *scan.Value) bool { return v.Shape == scan.IsString || v.Shape == scan.IsNumber }

// undecodable wraps an error.
func undecodable(err error) error { return fmt.Errorf("cannot be decoded: %w", err) }

// errNoID returns the error for an object without a usable id.
func errNoID(reason string, body []byte, v *scan.Value) error {
	at := 0
	if v.Shape != scan.IsAbsent {
		at = max(0, bytes.Index(body, v.Raw))
	}
	return undecodable(&scan.Error{Reason: reason, Offset: at})
}
