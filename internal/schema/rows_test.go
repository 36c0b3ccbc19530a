package schema

import (
	"encoding/json"
	"iter"
	"slices"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/parquet-go/parquet-go"
)

// sameRows compares calls by the values of their rows.
var sameRows = cmp.Options{
	cmp.Comparer(func(a, b Rows) bool {
		return cmp.Equal(a.cells, b.cells, cmpopts.EquateEmpty(), cmp.Comparer(parquet.Equal))
	}),
	cmp.Comparer(func(a, b parquet.Row) bool { return slices.EqualFunc(a, b, parquet.Equal) }), cmpopts.IgnoreFields(Object{}, "Of"), cmp.AllowUnexported(Lacking{}),
}

// rows yields the rows of a call, with their levels.
func rows(c *Call) iter.Seq2[*Table, parquet.Row] {
	return func(yield func(*Table, parquet.Row) bool) {
		c.Complete()
		for t, row := range c.Rows() {
			if !yield(t, t.AppendRow(nil, row)) {
				return
			}
		}
	}
}

// set sets a text of a call's row.
func set(c *Call, column, text string) { c.Row[Calls.Column(column)] = textValue([]byte(text)) }

// eachText calls do with every text of a call, and whether it is JSON.
func eachText(c *Call, do func(text *parquet.Value, isJSON bool)) {
	for t, row := range c.Rows() {
		for i := range row {
			if row[i].Kind() == parquet.ByteArray && !row[i].IsNull() {
				do(&row[i], t.Columns[i].Type == JSON)
			}
		}
	}
}

// respelled returns a call whose JSON is spelled as encoding/json does.
func respelled(c *Call) *Call {
	c = c.Clone()
	eachText(c, func(text *parquet.Value, isJSON bool) {
		if !isJSON {
			return
		}
		if v, err := parseJSON(text.ByteArray()); err == nil {
			b, _ := json.Marshal(v)
			*text = textValue(b)
		}
	})
	return c
}
