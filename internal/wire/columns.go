package wire

import (
	"github.com/parquet-go/parquet-go"

	"callhouse/internal/schema"
	"callhouse/internal/wire/scan"
)

// The methods in this file convert single values into columns. v is the value of field f of p; it is
// neither null nor absent. A value that the column does not hold is kept for extra.

// set puts a value into the cell of its column. The cell is null, and stays null if the value does
// not fit the column.
func (d *Decoder) set(cell *parquet.Value, p *part, f Field, v *scan.Value, c *schema.Column) {
	switch c.Type {
	case schema.Text, schema.Word:
		if word := d.text(p, f, v); word != nil {
			if !c.Knows(word) {
				d.drift(p.slots[f].path, DriftUnknownValue)
			}
			*cell = parquet.ByteArrayValue(word)
		}
	case schema.JSON:
		if !c.AnyValue && v.Shape != scan.IsObject {
			d.drift(p.slots[f].path, DriftConverted)
		}
		*cell = parquet.ByteArrayValue(v.Raw)
	case schema.Timestamp:
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

// text converts a value for columns of types Text and Word. A number becomes its text, digit by
// digit.
func (d *Decoder) text(p *part, f Field, v *scan.Value) []byte {
	switch v.Shape {
	case scan.IsString:
		b := v.Raw[1 : len(v.Raw)-1]
		if v.Marks == 0 {
			return b
		}
		from := len(d.arena)
		d.arena = scan.AppendUnescaped(d.arena, b)
		return d.arena[from:len(d.arena):len(d.arena)]
	case scan.IsNumber:
		d.drift(p.slots[f].path, DriftConverted)
		return v.Raw
	}
	d.mismatch(p, f)
	return nil
}

// instant converts a value for columns of type Timestamp: a number of milliseconds, a string with
// such a number, or a string with a date and time (see ParseTime). The column has it to the
// millisecond, rounded down; extra has what was sent.
func (d *Decoder) instant(p *part, f Field, v *scan.Value) schema.Opt[int64] {
	n, kind := int64(0), DriftMismatch
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
	if kind == DriftMismatch || n < schema.MinInstant || n > schema.MaxInstant {
		d.mismatch(p, f)
		return schema.Opt[int64]{}
	}
	if kind != 0 {
		p.keep(f)
		d.drift(p.slots[f].path, kind)
	}
	return schema.Some(n)
}

// otherUnit reports whether n cannot be a count of milliseconds.
func otherUnit(n int64) bool { _, other := schema.InMillis(n); return other }

// integer converts a value for columns of type Int64.
func (d *Decoder) integer(p *part, f Field, v *scan.Value) schema.Opt[int64] {
	b, ok := d.numeral(p, f, v)
	if !ok {
		return schema.Opt[int64]{}
	}
	n, ok := integer(b)
	if !ok {
		d.mismatch(p, f)
		return schema.Opt[int64]{}
	}
	if v.Shape != scan.IsNumber {
		d.drift(p.slots[f].path, DriftConverted)
	}
	return schema.Some(n)
}

// amountPlaces is the least number of decimals of an amount as the service spells it: 200.00,
// 150.1234.
const amountPlaces = 2

// exact converts a value for columns of type Exact. The service sends a number, or a string with an
// amount; if it sends the other form, that is converted.
func (d *Decoder) exact(p *part, f Field, v *scan.Value, amount bool) parquet.Value {
	b, ok := d.numeral(p, f, v)
	if !ok {
		return parquet.Value{}
	}
	n, ok := schema.ParseNumber(b, schema.ExactPlaces)
	if !ok {
		d.mismatch(p, f)
		return parquet.Value{}
	}
	if amount != (v.Shape == scan.IsString) {
		d.drift(p.slots[f].path, DriftConverted)
	}
	return schema.ExactValue(n)
}

// boolean converts a value for columns of type Bool.
func (d *Decoder) boolean(p *part, f Field, v *scan.Value) schema.Opt[bool] {
	switch v.Shape {
	case scan.IsTrue, scan.IsFalse:
		return schema.Some(v.Shape == scan.IsTrue)
	case scan.IsString:
		if text := string(v.Raw); text == `"true"` || text == `"false"` {
			d.drift(p.slots[f].path, DriftConverted)
			return schema.Some(text == `"true"`)
		}
	}
	d.mismatch(p, f)
	return schema.Opt[bool]{}
}

// numeral returns the text of a number, or of a string spelled like one. Any other value is a
// mismatch.
func (d *Decoder) numeral(p *part, f Field, v *scan.Value) ([]byte, bool) {
	switch v.Shape {
	case scan.IsNumber:
		return v.Raw, true
	case scan.IsString:
		if b := v.Raw[1 : len(v.Raw)-1]; scan.IsJSONNumber(b) {
			return b, true
		}
	}
	d.mismatch(p, f)
	return nil, false
}

// mismatch keeps a value that the column cannot hold in extra.
func (d *Decoder) mismatch(p *part, f Field) {
	p.keep(f)
	d.drift(p.slots[f].path, DriftMismatch)
}
