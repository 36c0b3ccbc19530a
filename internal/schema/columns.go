package schema

import (
	"strconv"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/schema/decimal"
)

// This file turns single values into columns. Each method takes the value of
// field f of the object that p patches, sent as v and neither null nor absent,
// and lets p keep whatever the column cannot give back.

// take says whether v is a value, and has p say what is not plain otherwise.
// shown are the fields that the service sends even when null.
func take(p *patch, f field, v *val, shown fieldSet) bool {
	switch v.shape {
	case isAbsent:
		p.absent |= 1 << f & shown
		return false
	case isNull:
		p.null |= 1 << f &^ shown &^ p.as
		return false
	}
	return true
}

// column turns a value into one of its column; null where it is none of these.
func (d *Decoder) column(p *patch, f field, v *val, c *Column) parquet.Value {
	switch c.Type {
	case Text, Word:
		word := d.text(p, f, v)
		if word != nil && c.Known != nil && !c.known(word) {
			d.drift(p.path(f), DriftUnknownValue)
		}
		return textValue(word)
	case JSON:
		if !c.AnyValue && v.shape != isObject {
			d.drift(p.path(f), DriftConverted)
		}
		return textValue(d.json(p, f, v))
	case Timestamp:
		if v.shape == isNumber { // as nearly all are
			if n, ok := plainInt(v.raw); ok && n >= minInstant && n <= maxInstant {
				return instantValue(n)
			}
		}
		return millisValue(d.instant(p, f, v))
	case Int64:
		return longValue(d.integer(p, f, v))
	case Exact:
		return d.exact(p, f, v, c.Amount)
	case Bool:
		return boolValue(d.boolean(p, f, v))
	}
	panic("schema: no value of the service's has the type of " + c.Name)
}

// text is for columns of types Text and Word. A number becomes its text.
func (d *Decoder) text(p *patch, f field, v *val) []byte {
	switch v.shape {
	case isString:
		b := v.raw[1 : len(v.raw)-1]
		if v.marks == 0 {
			return b
		}
		if v.marks&lone != 0 {
			p.keep(f, v)
			d.drift(p.path(f), DriftReplaced)
		}
		from := len(d.arena)
		d.arena = appendUnescaped(d.arena, b)
		return d.arena[from:len(d.arena):len(d.arena)]
	case isNumber:
		p.keep(f, v)
		d.drift(p.path(f), DriftConverted)
		return v.raw
	}
	d.misfit(p, f, v)
	return nil
}

// json is for columns of type JSON: any value, verbatim.
func (d *Decoder) json(p *patch, f field, v *val) []byte {
	if v.marks&lone == 0 {
		return v.raw
	}
	p.keep(f, v)
	d.drift(p.path(f), DriftReplaced)
	from := len(d.arena)
	d.arena = appendWhole(d.arena, v.raw)
	return d.arena[from:len(d.arena):len(d.arena)]
}

// instant is for columns of type Timestamp: a number of milliseconds; or a
// string of the same, or of an RFC 3339 date and time.
func (d *Decoder) instant(p *patch, f field, v *val) Opt[int64] {
	n, ok := int64(0), false
	switch v.shape {
	case isNumber:
		n, ok = integer(v.raw)
	case isString:
		n, ok = instant(v.raw[1 : len(v.raw)-1])
	}
	if !ok || n < minInstant || n > maxInstant {
		d.misfit(p, f, v)
		return Opt[int64]{}
	}
	p.keep(f, v)
	if v.shape == isString {
		d.drift(p.path(f), DriftConverted)
	}
	return Some(n)
}

// integer is for columns of type Int64.
func (d *Decoder) integer(p *patch, f field, v *val) Opt[int64] {
	if v.shape == isNumber {
		if n, ok := plainInt(v.raw); ok {
			return Some(n)
		}
	}
	b, ok := d.numeral(p, f, v)
	if !ok {
		return Opt[int64]{}
	}
	n, ok := integer(b)
	if !ok {
		d.misfit(p, f, v)
		return Opt[int64]{}
	}
	var room [24]byte
	d.respell(p, f, v, isNumber, strconv.AppendInt(room[:0], n, 10), b)
	return Some(n)
}

// exact is for columns of type Exact. The service sends a number, or a string
// with an amount; the other of the two converts.
func (d *Decoder) exact(p *patch, f field, v *val, amount bool) parquet.Value {
	b, ok := d.numeral(p, f, v)
	if !ok {
		return parquet.Value{}
	}
	n, ok := decimal.Parse(b, decimal.Places)
	if !ok || !n.Within(decimal.Max) {
		d.misfit(p, f, v)
		return parquet.Value{}
	}
	var room [40]byte
	if amount {
		d.respell(p, f, v, isString, decimal.AppendAmount(room[:0], n), b)
	} else {
		d.respell(p, f, v, isNumber, decimal.Append(room[:0], n), b)
	}
	from := len(d.arena)
	d.arena = n.AppendBytes(d.arena)
	return parquet.FixedLenByteArrayValue(d.arena[from:len(d.arena):len(d.arena)])
}

// boolean is for columns of type Bool.
func (d *Decoder) boolean(p *patch, f field, v *val) Opt[bool] {
	switch v.shape {
	case isTrue, isFalse:
		return Some(v.shape == isTrue)
	case isString:
		if text := string(v.raw); text == `"true"` || text == `"false"` {
			p.keep(f, v)
			d.drift(p.path(f), DriftConverted)
			return Some(text == `"true"`)
		}
	}
	d.misfit(p, f, v)
	return Opt[bool]{}
}

// numeral returns the text of a number, or of a string that is spelled as one.
// Of any other value it says that it does not fit.
func (d *Decoder) numeral(p *patch, f field, v *val) ([]byte, bool) {
	switch v.shape {
	case isNumber:
		return v.raw, true
	case isString:
		if b := v.raw[1 : len(v.raw)-1]; isJSONNumber(b) {
			return b, true
		}
	}
	d.misfit(p, f, v)
	return nil, false
}

// respell has extra keep a number that the column would not give back as it was
// sent: of another shape than the rule's, or spelled in another way.
func (d *Decoder) respell(p *patch, f field, v *val, rule shape, spelled, sent []byte) {
	if v.shape != rule {
		d.drift(p.path(f), DriftConverted)
	}
	if v.shape != rule || string(spelled) != string(sent) {
		p.keep(f, v)
	}
}

// misfit lets extra have a value that the column cannot hold.
func (d *Decoder) misfit(p *patch, f field, v *val) {
	p.keep(f, v)
	d.drift(p.path(f), DriftMisfit)
}
