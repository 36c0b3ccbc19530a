package calls

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"callhouse/internal/schema"
	"callhouse/internal/test"
	"callhouse/internal/wire/wiretest"
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

// In the steady state, decoding a call, merging it and making its rows allocate nothing except for
// its exact numbers.
func TestNoAllocations(t *testing.T) { // not parallel: it counts allocations
	var detail, item bytes.Buffer // JSON that the record spells differently has to be parsed
	test.OK(t, errors.Join(json.Compact(&detail, payload(t, "v3_detail")), json.Compact(&item, payload(t, "v3_item"))))
	var d Decoder
	var c Call
	var tools ToolRows
	old := decoded(t, detail.Bytes(), schema.KindDetail)
	n := testing.AllocsPerRun(100, func() {
		test.OK(t, d.Decode(detail.Bytes(), schema.KindDetail, &c))
		c.Settle(settledAt)
		c.Complete(tools.Of(&c))
		test.OK(t, d.Decode(item.Bytes(), schema.KindItem, &c))
		Merge(old, &c, schema.KindItem)
		c.Settle(settledAt)
		if Same(old, &c) {
			t.Fatal("the item has another cost")
		}
	})
	if n > 40 { // six numbers, the columns response_ms and the ids of tool calls
		t.Errorf("%v allocations", n)
	}
	if c.Text("extra") != nil || len(d.Drift) != 0 {
		t.Errorf("extra %s, drift %v", c.Text("extra"), d.Drift)
	}
}

// A call is read into reused memory, and only with known words.
func TestRead(t *testing.T) {
	t.Parallel()
	row := schema.Calls.AppendRow(nil, NewCall("a").Row)
	got := NewCall("b")
	set(got, "summary", "left over")
	got.Turns().Add()
	if err := got.Read(row); err != nil || !Same(got, NewCall("a")) {
		t.Errorf("read %v, %v", got.Row, err)
	}
	row[25] = schema.TextValue([]byte("finished")).Level(0, 0, 25)
	if err := got.Read(row); err == nil {
		t.Error("takes a settlement that is none")
	}
}

// sent returns the JSON of a call with only one field that is not null: the column's, in v3.
func sent(c *schema.Column, value string) []byte {
	inner := fmt.Sprintf("%q:%s", c.V3[strings.LastIndexByte(c.V3, '.')+1:], value)
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

// Every column of a call is handled by decode, compare, clone, merge, files and show.
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
		if Same(a, b) || !slices.Contains(schema.Differences(&a.Object, &b.Object), col.Name) {
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

// Kinds are distinguished by status, reason and length. A call that lasted and ended, is not over,
// or has unknown words has no kind and is never skipped.
func TestKind(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		json string
		want Kind
	}{
		{`"status":"not_connected","disconnection_reason":"dial_no_answer","end_at":2000`, "not_connected, dial_no_answer, lasted some time"},
		{`"status":"not_connected","disconnection_reason":"dial_no_answer","end_at":1000`, "not_connected, dial_no_answer, lasted no time"},
		{`"status":"canceled"`, "canceled, no reason, lasted no time"},
		{`"status":"ended","disconnection_reason":"dial_busy","end_at":1000`, "ended, dial_busy, lasted no time"},
		{`"status":"error","disconnection_reason":"flow_error","end_at":2000`, "error, flow_error, lasted some time"},
		{`"status":"ended","disconnection_reason":"dial_busy","end_at":2000`, ""},
		{`"status":"ongoing"`, ""},
		{`"status":"completed","end_at":1000`, ""},
		{`"end_at":1000`, ""},
		{`"status":"error","disconnection_reason":"new_word"`, ""},
	} {
		c := decoded(t, fmt.Appendf(nil, `{"id":"a","start_at":1000,%s}`, tc.json), schema.KindItem)
		test.Same(t, tc.want, c.Kind(), "%s is of the kind", tc.json)
	}
}

// A kind is skipped, except a sample, after fifty records without a transcript, and never again
// after one with a transcript.
func TestKinds(t *testing.T) {
	t.Parallel()
	const kind = "canceled, no reason, lasted no time"
	kinds := Kinds{}
	requested := func() (n int) {
		for i := range 10_000 {
			if !kinds.Skips(&Due{CallID: fmt.Sprint(i), Kind: kind}) {
				n++
			}
		}
		return n
	}
	for range enoughRecords - 1 {
		kinds.add(kind, false, true)
		kinds.add("", false, true)
		kinds.add(kind, false, false) // may still come
	}
	if n := requested(); n != 10_000 {
		t.Errorf("after 49 records %d are asked for", n)
	}
	kinds.add(kind, false, true)
	if n := requested(); n < 50 || n > 200 || n != requested() {
		t.Errorf("%d of 10,000 are asked for", n)
	}
	if kinds.add("", false, true); kinds.Skips(&Due{CallID: "1"}) {
		t.Error("a call of no kind is passed over")
	}
	if kinds.add(kind, true, false); requested() != 10_000 {
		t.Error("a kind with a transcript is passed over")
	}
}

// A skipped call awaits no transcript, but where only records settle calls, its record is due until
// it is settled or expires.
func TestSkippedCallsAreSettledByTheirRecords(t *testing.T) {
	t.Parallel()
	c := decoded(t, []byte(`{"id":"a","start_at":1000,"end_at":2000,"status":"error","disconnection_reason":"flow_error","call_analysis":null,"call_cost":null}`), schema.KindItem)
	c.Fetched(3000, 3000, []byte("run"))
	c.SetTranscriptState(Skipped)
	c.Settle(3000)
	barren := Kinds{c.Kind(): {Empty: enoughRecords}}
	for _, tc := range []struct {
		scope DueScope
		kinds Kinds
		now   int64
		want  bool
	}{
		{DueTranscripts, barren, 4000, false},
		{DueTranscripts, Kinds{}, 4000, true},
		{DueUnsettled, barren, 4000, true},
		{DueUnsettled, barren, c.ExpiresAt(), false},
	} {
		due, ok := (&Asking{Scope: tc.scope, Now: tc.now, Kinds: tc.kinds}).Due(c)
		if ok != tc.want || ok && due.Settles != (tc.scope == DueUnsettled) {
			t.Errorf("scope %d at %d: due %v, settles %v", tc.scope, tc.now, ok, due.Settles)
		}
	}
}
