package calls

import (
	"bytes"
	"encoding/json"
	"iter"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/schema"
)

// rows yields the rows of a call, with their levels.
func rows(c *Call) iter.Seq2[*schema.Table, parquet.Row] {
	return func(yield func(*schema.Table, parquet.Row) bool) {
		c.Complete(c.ToolCalls(nil))
		for t, row := range c.Rows() {
			if !yield(t, t.AppendRow(nil, row)) {
				return
			}
		}
	}
}

// set sets a text of a call's row.
func set(c *Call, column, text string) {
	c.Row[schema.Calls.Column(column)] = schema.TextValue([]byte(text))
}

// eachText calls do with every text of a call, and whether it is JSON.
func eachText(c *Call, do func(text *parquet.Value, isJSON bool)) {
	for t, row := range c.Rows() {
		for i := range row {
			if row[i].Kind() == parquet.ByteArray && !row[i].IsNull() {
				do(&row[i], t.Columns[i].Type == schema.JSON)
			}
		}
	}
}

// respelled returns a call whose JSON is spelled as by encoding/json.
func respelled(c *Call) *Call {
	c = c.Clone()
	eachText(c, func(text *parquet.Value, isJSON bool) {
		if !isJSON {
			return
		}
		if v, err := parsed(text.ByteArray()); err == nil {
			b, _ := json.Marshal(v)
			*text = schema.TextValue(b)
		}
	})
	return c
}

// parsed parses JSON, keeping the spelling of numbers.
func parsed(text []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return v, d.Decode(&v)
}
