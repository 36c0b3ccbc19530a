package calls

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"callhouse/internal/schema"
	"callhouse/internal/wire/wiretest"
)

// sent returns the JSON of a call with only one field that is not null: the column's, in v3.
func sent(c *schema.Column, value string) []byte {
	inner := fmt.Sprintf("%q:%s", strings.TrimSuffix(c.V3[strings.LastIndexByte(c.V3, '.')+1:], "?"), value)
	if object, _, nested := strings.Cut(c.V3, "."); nested {
		inner = fmt.Sprintf("%q:{%s}", object, inner)
	}
	if c.V3 == "id" {
		return []byte("{" + inner + "}")
	}
	return []byte(`{"id":"a",` + inner + "}")
}

// valuesOf returns two values of a column's type, as JSON.
func valuesOf(c *schema.Column) (a, b string) {
	switch {
	case c.Type == schema.Timestamp, c.Type == schema.Int64:
		return "1795079700000", "1795079700001"
	case c.Amount:
		return `"1.50"`, `"1.51"`
	case c.Type == schema.Exact:
		return "1", "2"
	case c.Type == schema.Bool:
		return "true", "false"
	case c.Type == schema.JSON:
		return `{"x":1}`, `{"x":2}`
	}
	return `"one"`, `"two"`
}

// Every column of a call is handled by decode, compare, clone, merge, files and rebuild.
func TestEveryColumn(t *testing.T) {
	t.Parallel()
	tried := 0
	for i := range schema.Calls.Columns {
		col := &schema.Calls.Columns[i]
		if col.V3 == "" {
			continue
		}
		tried++
		one, two := valuesOf(col)
		a, b := decoded(t, sent(col, one), schema.KindItem), decoded(t, sent(col, two), schema.KindItem)
		if a.Row[i].IsNull() || parquet.Equal(a.Row[i], b.Row[i]) {
			t.Errorf("%s: %s is decoded as %v, %s as %v", col.Name, one, a.Row[i], two, b.Row[i])
		}
		if Same(a, b) || !slices.ContainsFunc(schema.Differences(&a.Object, &b.Object), func(d schema.Difference) bool { return d.Field == col.Name }) {
			t.Errorf("%s: the difference between %s and %s is not seen", col.Name, one, two)
		}
		if !Same(a, a.Clone()) || !parquet.Equal(a.Row[i], a.Clone().Row[i]) {
			t.Errorf("%s: not in the clone", col.Name)
		}
		for _, old := range []*Call{b, decoded(t, []byte(`{"id":"a","metadata":null}`), schema.KindItem)} {
			if now := merged(t, old, a, schema.KindItem); !parquet.Equal(now.Row[i], a.Row[i]) {
				t.Errorf("%s: merged it is %v, not %v", col.Name, now.Row[i], a.Row[i])
			}
		}
		if thin := decoded(t, []byte(`{"id":"a"}`), schema.KindItem); col.Name != "call_id" {
			if now := merged(t, a, thin, schema.KindItem); !parquet.Equal(now.Row[i], a.Row[i]) {
				t.Errorf("%s: a thin item takes it away", col.Name)
			}
		}
		if got := viaRows(t, []*Call{a})[0]; !Same(a, got) || cmp.Diff(wiretest.Value(t, sent(col, one)), wiretest.Value(t, got.AppendJSON(nil))) != "" {
			t.Errorf("%s: from files it comes back as %s", col.Name, got.AppendJSON(nil))
		}
	}
	if tried < 20 {
		t.Errorf("only %d columns were tried", tried)
	}
	for _, table := range schema.CallResource.Lists {
		for i := range table.Columns {
			if col := &table.Columns[i]; col.V3 != "" {
				var a, b Call
				for _, c := range []*Call{&a, &b} {
					c.Set(&NewCall("a").Object)
					c.Lists[slices.Index(schema.CallResource.Lists, table)].Add()
				}
				at := &a.Lists[slices.Index(schema.CallResource.Lists, table)]
				if at.At(0)[i] = schema.TextValue([]byte("x")); Same(&a, &b) || !Same(&a, a.Clone()) || len(schema.Differences(&a.Object, &b.Object)) != 1 {
					t.Errorf("%s.%s: the difference is not seen", table.Name, col.Name)
				}
			}
		}
	}
}
