package schema

import "strconv"

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
			d.drift(p.of.paths[f], DriftReplaced)
		}
		from := len(d.arena)
		d.arena = appendUnescaped(d.arena, b)
		return d.arena[from:len(d.arena):len(d.arena)]
	case isNumber:
		p.keep(f, v)
		d.drift(p.of.paths[f], DriftConverted)
		return v.raw
	}
	d.misfit(p, f, v)
	return nil
}

// word is text for a field whose words are known.
func (d *Decoder) word(p *patch, f field, v *val, known func([]byte) bool) []byte {
	w := d.text(p, f, v)
	if w != nil && !known(w) {
		d.drift(p.of.paths[f], DriftUnknownValue)
	}
	return w
}

// json is for columns of type JSON: any value, verbatim.
func (d *Decoder) json(p *patch, f field, v *val) []byte {
	if v.marks&lone == 0 {
		return v.raw
	}
	p.keep(f, v)
	d.drift(p.of.paths[f], DriftReplaced)
	from := len(d.arena)
	d.arena = appendWhole(d.arena, v.raw)
	return d.arena[from:len(d.arena):len(d.arena)]
}

// object is json for a field that is an object as a rule.
func (d *Decoder) object(p *patch, f field, v *val) []byte {
	if v.shape != isObject {
		d.drift(p.of.paths[f], DriftConverted)
	}
	return d.json(p, f, v)
}

// instant is for columns of type Timestamp: a number of milliseconds; or a
// string of the same, or of an RFC 3339 date and time.
func (d *Decoder) instant(p *patch, f field, v *val) Opt[int64] {
	if v.shape == isNumber {
		if n, ok := plainInt(v.raw); ok && n >= minInstant && n <= maxInstant {
			return Some(n)
		}
	}
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
		d.drift(p.of.paths[f], DriftConverted)
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
// with an amount, as rule says; the other of the two converts.
func (d *Decoder) exact(p *patch, f field, v *val, rule shape) Opt[Decimal] {
	b, ok := d.numeral(p, f, v)
	if !ok {
		return Opt[Decimal]{}
	}
	n, ok := decimal(b, exactPlaces)
	if !ok || !n.within(maxExact) {
		d.misfit(p, f, v)
		return Opt[Decimal]{}
	}
	var room [40]byte
	spelled := room[:0]
	if rule == isString {
		spelled = appendMoney(spelled, n)
	} else {
		spelled = appendPlain(spelled, n)
	}
	d.respell(p, f, v, rule, spelled, b)
	return Some(n)
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
		d.drift(p.of.paths[f], DriftConverted)
	}
	if v.shape != rule || string(spelled) != string(sent) {
		p.keep(f, v)
	}
}

// optOut is for opt_out_sensitive_data_storage. What is not plainly false
// counts as true: data that was stored cannot be unstored.
func (d *Decoder) optOut(p *patch, f field, v *val) Opt[bool] {
	switch v.shape {
	case isTrue:
		return Some(true)
	case isFalse:
		return Some(false)
	}
	p.keep(f, v)
	d.drift(p.of.paths[f], DriftConverted)
	return Some(optedOut(v))
}

// optedOut says whether a value of opt_out_sensitive_data_storage forbids
// storage: any but false, "false", null and none.
func optedOut(v *val) bool {
	switch v.shape {
	case isAbsent, isNull, isFalse:
		return false
	case isString:
		return string(v.raw) != `"false"`
	}
	return true
}

// misfit lets extra have a value that the column cannot hold.
func (d *Decoder) misfit(p *patch, f field, v *val) {
	p.keep(f, v)
	d.drift(p.of.paths[f], DriftMisfit)
}
