package calls

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callhouse/internal/schema"
	"callhouse/internal/test"
	"callhouse/internal/wire/wiretest"
)

// In the steady state, decoding a call, merging it and making its rows allocate nothing except for
// its exact numbers.
func TestNoAllocations(t *testing.T) { // not parallel: it counts allocations
	body := wiretest.ObservedDetail(t)
	var compact bytes.Buffer // JSON that the record spells differently has to be parsed
	test.OK(t, json.Compact(&compact, wiretest.Payload(t, "v3_item")))
	item := compact.Bytes()
	var d Decoder
	var c Call
	var tools ToolRows
	old := decoded(t, body, schema.KindDetail)
	n := testing.AllocsPerRun(100, func() {
		test.OK(t, d.Decode(body, schema.KindDetail, &c))
		c.Settle(settledAt)
		c.Complete(tools.Of(&c))
		test.OK(t, d.Decode(item, schema.KindItem, &c))
		Merge(old, &c, schema.KindItem)
		c.Settle(settledAt)
		if Same(old, &c) {
			t.Fatal("the item has another cost")
		}
	})
	if n > 40 { // six numbers, the columns response_ms and the ids of tool calls
		t.Errorf("%v allocations", n)
	}
	if c.Extra() != nil || len(d.Drift) != 0 {
		t.Errorf("extra %s, drift %v", c.Extra(), d.Drift)
	}
}

// A clone equals the call, in separate memory.
func TestClone(t *testing.T) {
	t.Parallel()
	body := wiretest.Payload(t, "v3_detail_unknown_fields")
	c := decoded(t, body, schema.KindDetail)
	clone, want := c.Clone(), rowsText(c, nil)
	clear(body)
	clear(c.Extra())
	clear(c.Turns().At(0))
	clear(c.Items().At(0))
	if got := rowsText(clone, nil); got != want {
		t.Error(cmp.Diff(want, got))
	}
	if e := NewCall("").Clone(); e.ID() == nil || e.Status() != nil {
		t.Error("null and empty are not the same")
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
