package schema

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
)

// sent returns the JSON of a call of which only one field is more than null: the
// column's, in v3.
func sent(c *Column, value string) []byte {
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
func valuesOf(c *Column) (a, b string) {
	switch {
	case c.Type == Timestamp, c.Type == Int64:
		return "1795079700000", "1795079700001"
	case c.Amount:
		return `"1.50"`, `"1.51"`
	case c.Type == Exact:
		return "1", "2"
	case c.Type == Bool:
		return "true", "false"
	case c.Type == JSON:
		return `{"x":1}`, `{"x":2}`
	}
	return `"one"`, `"two"`
}

// No column of a call is forgotten: by decode, compare, clone, merge, files or the
// way back to JSON.
func TestEveryColumn(t *testing.T) {
	t.Parallel()
	tried := 0
	for i := range Calls.Columns {
		col := &Calls.Columns[i]
		if col.V3 == "" {
			continue
		}
		tried++
		one, two := valuesOf(col)
		a, b := decoded(t, sent(col, one), KindItem), decoded(t, sent(col, two), KindItem)
		if a.Row[i].IsNull() || parquet.Equal(a.Row[i], b.Row[i]) {
			t.Errorf("%s: %s is decoded as %v, %s as %v", col.Name, one, a.Row[i], two, b.Row[i])
		}
		if Same(a, b) || !slices.ContainsFunc(Differences(a, b), func(d Difference) bool { return d.Field == col.Name }) {
			t.Errorf("%s: the difference between %s and %s is not seen", col.Name, one, two)
		}
		if !Same(a, a.Clone()) || !parquet.Equal(a.Row[i], a.Clone().Row[i]) {
			t.Errorf("%s: not in the clone", col.Name)
		}
		for _, old := range []*Call{b, decoded(t, []byte(`{"id":"a","metadata":null}`), KindItem)} {
			if now := merged(t, old, a, KindItem); !parquet.Equal(now.Row[i], a.Row[i]) {
				t.Errorf("%s: merged it is %v, not %v", col.Name, now.Row[i], a.Row[i])
			}
		}
		if thin := decoded(t, []byte(`{"id":"a"}`), KindItem); col.Name != "call_id" {
			if now := merged(t, a, thin, KindItem); !parquet.Equal(now.Row[i], a.Row[i]) {
				t.Errorf("%s: a thin item takes it away", col.Name)
			}
		}
		if got := viaRows(t, []*Call{a})[0]; !Same(a, got) || cmp.Diff(value(t, sent(col, one)), value(t, got.AppendJSON(nil))) != "" {
			t.Errorf("%s: from files it comes back as %s", col.Name, got.AppendJSON(nil))
		}
	}
	if tried < 20 {
		t.Errorf("only %d columns were tried", tried)
	}
	for _, table := range CallResource.Lists {
		for i := range table.Columns {
			if col := &table.Columns[i]; col.V3 != "" {
				var a, b Call
				for _, c := range []*Call{&a, &b} {
					c.Set(&NewCall("a").Object)
					c.Lists[slices.Index(CallResource.Lists, table)].Add()
				}
				at := &a.Lists[slices.Index(CallResource.Lists, table)]
				if at.At(0)[i] = textValue([]byte("x")); Same(&a, &b) || !Same(&a, a.Clone()) || len(Differences(&a, &b)) != 1 {
					t.Errorf("%s.%s: the difference is not seen", table.Name, col.Name)
				}
			}
		}
	}
}

// A column more is one line: it is decoded, compared, cloned, written, read and
// rebuilt; files that lack it are read, and rebuild what was sent.
func TestAColumnMore(t *testing.T) {
	t.Parallel()
	more := table("calls", append(slices.Clone(Calls.fields), Column{ID: 99, Name: "made_up", Type: Word, V3: "made_up?", V2: "made_up?", Since: "9.9.9"})...)
	resource := resource(&more, &Turns, &Items)
	at := more.Column("made_up")
	var d Decoder
	decode := func(body string) *Object {
		var o Object
		if err := d.decode(resource, []byte(body), KindItem, &o); err != nil {
			t.Fatal(err)
		}
		o.own()
		return &o
	}
	const body = `{"id":"a","made_up":"ko"}`
	a, b := decode(body), decode(`{"id":"a","made_up":"en"}`)
	if string(textOf(a.Row[at])) != "ko" || sameObject(a, b) {
		t.Fatalf("the row is %v", a.Row)
	}
	if diff := cmp.Diff(value(t, []byte(body)), value(t, a.AppendJSON(nil))); diff != "" {
		t.Error(diff)
	}
	if none := decode(`{"id":"a"}`); !none.Row[at].IsNull() || !strings.Contains(string(none.AppendJSON(nil)), `"id":"a"`) || strings.Contains(string(none.AppendJSON(nil)), "made_up") {
		t.Errorf("without it: %s", none.AppendJSON(nil))
	}

	// Who does not know the column keeps it in extra, and its file lacks it.
	old := decoded(t, []byte(body), KindItem)
	file, rows := roundTrip(t, ParquetSchema(&Calls), Calls.AppendRow(nil, old.Row))
	r, err := NewRowReader(file, &more)
	if err != nil {
		t.Fatal(err)
	}
	var o Object
	o.begin(resource)
	if o.Lacks = r.lacking(resource); o.Lacks == nil || r.Has(at) {
		t.Fatal("the file is not said to lack it")
	}
	if err := r.read(rows[0], o.Row); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(value(t, []byte(body)), value(t, o.AppendJSON(nil))); diff != "" {
		t.Error(diff)
	}
}
