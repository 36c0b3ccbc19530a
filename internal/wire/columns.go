package wire

import (
	"strconv"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/schema"
	"callhouse/internal/wire/scan"
)

// The methods in this file convert single values into columns. v is the value of field f of the
// object that p patches; it is neither null nor absent. Anything that the column cannot reproduce
// goes to p.

// take reports whether v is a value, and records in p any departure from the normal form. shown are
// the fields that the service sends even when null.
func take(p *patch, f Field, v *scan.Value, shown fieldSet) bool {
	switch v.Shape {
	case scan.IsAbsent:
		p.absent |= 1 << f & shown
		return false
	case scan.IsNull:
		p.null |= 1 << f &^ shown &^ p.as
		return false
	}
	return true
}

// set puts a value into the cell of its column. The cell is null, and stays null if the value does
// not fit the column. Cells are set in place, because returning them would take a tenth of the
// decoding time.
func (d *Decoder) set(cell *parquet.Value, p *patch, f Field, v *scan.Value, c *schema.Column) {
	switch c.Type {
	case schema.Text, schema.Word:
		if word := d.text(p, f, v); word != nil {
			if c.Known != nil && !c.Knows(word) {
				d.drift(p.path(f), DriftUnknownValue)
			}
			*cell = parquet.ByteArrayValue(word)
		}
	case schema.JSON:
		if !c.AnyValue && v.Shape != scan.IsObject {
			d.drift(p.path(f), DriftConverted)
		}
		*cell = parquet.ByteArrayValue(d.json(p, f, v))
	case schema.Timestamp:
		if v.Shape == scan.IsNumber { // the usual case
			if n, ok := scan.PlainInt(v.Raw); ok && n >= schema.MinInstant && n <= schema.MaxInstant && !otherUnit(n) {
				*cell = schema.InstantValue(n)
				return
			}
		}
		*cell = schema.MillisValue(d.instant(p, f, v))
	case schema.Int64:
		*cell = schema.LongValue(d.integer(p, f, v))
	case schema.Exact:
		*cell = d.exact(p, f, v, c.Amount)
	case schema.Bool:
		*cell = schema.BoolValue(d.boolean(p, f, v))
	default:
		panic("schema: no value of the service's has the type of " + c.Name)
	}
}

// text converts a value for columns of types Text and Word. A number becomes its text.
func (d *Decoder) text(p *patch, f Field, v *scan.Value) []byte {
	switch v.Shape {
	case scan.IsString:
		b := v.Raw[1 : len(v.Raw)-1]
		if v.Marks == 0 {
			return b
		}
		if v.Marks&scan.Lone != 0 {
			p.keep(f, v)
			d.drift(p.path(f), DriftReplaced)
		}
		from := len(d.arena)
		d.arena = scan.AppendUnescaped(d.arena, b)
		return d.arena[from:len(d.arena):len(d.arena)]
	case scan.IsNumber:
		p.keep(f, v)
		d.drift(p.path(f), DriftConverted)
		return v.Raw
	}
	d.misfit(p, f, v)
	return nil
}

// json converts a value for columns of type JSON: any value, verbatim.
func (d *Decoder) json(p *patch, f Field, v *scan.Value) []byte {
	if v.Marks&scan.Lone == 0 {
		return v.Raw
	}
	p.keep(f, v)
	d.drift(p.path(f), DriftReplaced)
	from := len(d.arena)
	d.arena = scan.AppendWhole(d.arena, v.Raw)
	return d.arena[from:len(d.arena):len(d.arena)]
}

// instant converts a value for columns of type Timestamp: a number of milliseconds, a string with
// such a number, or a string with a date and time (see ParseTime). The column has it to the
// millisecond, rounded down; extra has what was sent.
func (d *Decoder) instant(p *patch, f Field, v *scan.Value) schema.Opt[int64] {
	n, kind := int64(0), DriftMisfit
	switch v.Shape {
	case scan.IsNumber:
		n, kind = count(v.Raw, 0)
	case scan.IsString:
		text := v.Raw[1 : len(v.Raw)-1]
		if v.Marks != 0 {
			text = scan.AppendUnescaped(nil, text) // some libraries escape the + of an offset
		}
		n, kind = instant(text)
	}
	if kind == DriftMisfit || n < schema.MinInstant || n > schema.MaxInstant {
		d.misfit(p, f, v)
		return schema.Opt[int64]{}
	}
	if p.keep(f, v); kind != 0 {
		d.drift(p.path(f), kind)
	}
	return schema.Some(n)
}

// otherUnit reports whether n cannot be a count of milliseconds.
func otherUnit(n int64) bool { _, other := schema.InMillis(n); return other }

// integer converts a value for columns of type Int64.
func (d *Decoder) integer(p *patch, f Field, v *scan.Value) schema.Opt[int64] {
	if v.Shape == scan.IsNumber {
		if n, ok := scan.PlainInt(v.Raw); ok {
			return schema.Some(n)
		}
	}
	b, ok := d.numeral(p, f, v)
	if !ok {
		return schema.Opt[int64]{}
	}
	n, ok := integer(b)
	if !ok {
		d.misfit(p, f, v)
		return schema.Opt[int64]{}
	}
	var room [24]byte
	d.respell(p, f, v, scan.IsNumber, strconv.AppendInt(room[:0], n, 10), b)
	return schema.Some(n)
}

// amountPlaces is the least number of decimals of an amount as the service spells it: 200.00,
// 150.1234.
const amountPlaces = 2

// exact converts a value for columns of type Exact. The service sends a number, or a string with an
// amount; if it sends the other form, that is converted.
func (d *Decoder) exact(p *patch, f Field, v *scan.Value, amount bool) parquet.Value {
	b, ok := d.numeral(p, f, v)
	if !ok {
		return parquet.Value{}
	}
	n, ok := schema.ParseNumber(b, schema.ExactPlaces)
	if !ok {
		d.misfit(p, f, v)
		return parquet.Value{}
	}
	value := schema.ExactValue(n)
	if amount {
		d.respell(p, f, v, scan.IsString, schema.AppendExact(nil, value, amountPlaces), b)
	} else {
		d.respell(p, f, v, scan.IsNumber, schema.AppendExact(nil, value, 0), b)
	}
	return value
}

// boolean converts a value for columns of type Bool.
func (d *Decoder) boolean(p *patch, f Field, v *scan.Value) schema.Opt[bool] {
	switch v.Shape {
	case scan.IsTrue, scan.IsFalse:
		return schema.Some(v.Shape == scan.IsTrue)
	case scan.IsString:
		if text := string(v.Raw); text == `"true"` || text == `"false"` {
			p.keep(f, v)
			d.drift(p.path(f), DriftConverted)
			return schema.Some(text == `"true"`)
		}
	}
	d.misfit(p, f, v)
	return schema.Opt[bool]{}
}

// numeral returns the text of a number, or of a string spelled like one. Any other value is a
// misfit.
func (d *Decoder) numeral(p *patch, f Field, v *scan.Value) ([]byte, bool) {
	switch v.Shape {
	case scan.IsNumber:
		return v.Raw, true
	case scan.IsString:
		if b := v.Raw[1 : len(v.Raw)-1]; scan.IsJSONNumber(b) {
			return b, true
		}
	}
	d.misfit(p, f, v)
	return nil, false
}

// respell keeps a number in extra if the column would not reproduce it as sent, because its shape
// is not the rule's or its spelling differs.
func (d *Decoder) respell(p *patch, f Field, v *scan.Value, rule scan.Shape, spelled, sent []byte) {
	if v.Shape != rule {
		d.drift(p.path(f), DriftConverted)
	}
	if v.Shape != rule || string(spelled) != string(sent) {
		p.keep(f, v)
	}
}

// misfit keeps a value that the column cannot hold in extra.
func (d *Decoder) misfit(p *patch, f Field, v *scan.Value) {
	p.keep(f, v)
	d.drift(p.path(f), DriftMisfit)
}
