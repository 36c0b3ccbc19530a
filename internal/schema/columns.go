package schema

import "math"

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
		n, ok = decimal(v.raw, 0, math.MaxInt64)
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
	return d.fixed(p, f, v, 0, math.MaxInt64, isNumber)
}

// money is for total_cost: a string with a decimal number.
func (d *Decoder) money(p *patch, f field, v *val) Opt[int64] {
	return d.fixed(p, f, v, moneyPlaces, maxDecimal, isString)
}

// fixed is for fixed-point columns. The service sends numbers or strings, as
// rule says; the other of the two converts.
func (d *Decoder) fixed(p *patch, f field, v *val, places int, limit uint64, rule shape) Opt[int64] {
	b := v.raw
	switch v.shape {
	case isNumber:
	case isString:
		if b = b[1 : len(b)-1]; !isJSONNumber(b) {
			d.misfit(p, f, v)
			return Opt[int64]{}
		}
	default:
		d.misfit(p, f, v)
		return Opt[int64]{}
	}
	n, ok := decimal(b, places, limit)
	if !ok {
		d.misfit(p, f, v)
		return Opt[int64]{}
	}
	if v.shape != rule {
		d.drift(p.of.paths[f], DriftConverted)
	}
	var room [24]byte
	spelled := room[:0]
	if rule == isString {
		spelled = appendMoney(spelled, n)
	} else {
		spelled = appendPlain(spelled, n, places)
	}
	if v.shape != rule || string(spelled) != string(b) {
		p.keep(f, v)
	}
	return Some(n)
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
