package calls

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
	"pgregory.net/rapid"

	"callhouse/internal/schema"
	"callhouse/internal/test"
	"callhouse/internal/wire/wiretest"
)

// merged returns the result of Merge and checks that the older call is unchanged.
func merged(t rapid.TB, old, newer *Call, kind schema.Kind) *Call {
	t.Helper()
	before, c := old.Clone(), newer.Clone()
	Merge(old, c, kind)
	if diff := cmp.Diff(before, old, sameRows); diff != "" {
		t.Fatalf("Merge changed the older call: %s", diff)
	}
	return c.Clone()
}

func mustSame(t rapid.TB, what string, want, got *Call) {
	t.Helper()
	if !Same(want, got) {
		t.Fatalf("%s: %s\n%s\n%s", what, cmp.Diff(want, got, sameRows), want.AppendJSON(nil), got.AppendJSON(nil))
	}
}

// drawDecoded returns a random call with the given id.
func drawDecoded(t *rapid.T, kind schema.Kind, wild int) *Call {
	var d Decoder
	for {
		var c Call
		if d.Decode(wiretest.DrawCall(t, wild), kind, &c) == nil {
			c.Fetched(int64(rapid.IntRange(1, 9).Draw(t, "seen")), 0, nil)
			return c.Clone()
		}
	}
}

// Merging the same response again changes nothing, however strange both are.
func TestMergeIdempotent(t *testing.T) {
	t.Parallel()
	for _, wild := range []int{0, 15, 50} {
		t.Run(fmt.Sprint(wild), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				old := drawDecoded(t, wiretest.DrawKind(t), wild)
				kind := wiretest.DrawKind(t)
				newer := drawDecoded(t, kind, wild)
				once := merged(t, old, newer, kind)
				mustSame(t, "twice", once, merged(t, once, newer, kind))
				if want := min(old.FirstSeenAt(), newer.FirstSeenAt()); once.FirstSeenAt() != want {
					t.Fatalf("first seen at %d, not %d", once.FirstSeenAt(), want)
				}
				checkFit(t, once)
			})
		})
	}
}

// itemOf returns the list item of a detail's call.
func itemOf(t rapid.TB, detail *Call) *Call {
	item := *detail.Clone()
	item.Turns().Cut(0)
	item.Row[colTurnCount] = parquet.Value{}
	var d Decoder
	var c Call
	test.OK(t, d.Decode(item.AppendJSON(nil), schema.KindItem, &c))
	c.Fetched(detail.FirstSeenAt(), 0, nil)
	return c.Clone()
}

// A list item and then the detail give the same as the detail alone, and repeating the list item changes nothing.
func TestMergeItemDetail(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		body := wiretest.DrawV3(t)
		var d Decoder
		var c Call
		test.OK(t, d.Decode(body, schema.KindDetail, &c))
		detail := c.Clone()
		item := itemOf(t, detail)
		both := merged(t, item, detail, schema.KindDetail)
		mustSame(t, "item, detail", detail, both)
		mustSame(t, "item, detail, item", detail, merged(t, both, item, schema.KindItem))
	})
}

// A nearly empty response removes nothing.
func TestMergeThin(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		old := drawDecoded(t, wiretest.DrawKind(t), 0)
		name := "id"
		if old.Source() == schema.V2 {
			name = "call_id"
		}
		id, err := json.Marshal(wiretest.Value(t, old.AppendJSON(nil)).(map[string]any)[name])
		test.OK(t, err)
		got := merged(t, old, decodedIn(t, fmt.Sprintf(`{%q:%s}`, name, id), schema.KindItem), schema.KindItem)
		mustSame(t, "thin", old, got)
	})
}

func decodedIn(t rapid.TB, body string, kind schema.Kind) *Call {
	t.Helper()
	var d Decoder
	var c Call
	test.OK(t, d.Decode([]byte(body), kind, &c))
	return c.Clone()
}

// The rules of Merge, one by one.
func TestMergeRules(t *testing.T) {
	t.Parallel()
	const (
		base     = `"id":"a","status":"ended","start_at":1795089600000,"end_at":1795089660000`
		turns    = `,"transcript":[{"role":"user","content":"Hi","start_at":null,"end_at":null}]`
		analysis = `,"call_analysis":{"summary":"S","user_sentiment":"positive","custom_analysis_data":[{"type":"boolean","name":"n","value":true}]}`
		cost     = `,"call_cost":{"total_cost":"2.00"}`
		full     = `{` + base + analysis + cost + `,"recording_url":"u","new":1` + turns + `}`
	)
	for _, tc := range []struct {
		name             string
		old              string
		oldKind          schema.Kind
		newer            string
		kind             schema.Kind
		json             string
		state            TranscriptState
		turns, summaries int
	}{
		{"nothing new", full, schema.KindDetail, `{` + base + `}`, schema.KindItem, full, Present, 1, 1},
		{"null wins", full, schema.KindDetail, `{"id":"a","recording_url":null,"new":null}`, schema.KindItem,
			`{` + base + analysis + cost + `,"recording_url":null,"new":null` + turns + `}`, Present, 1, 1},
		{"null does not take back an analysis or a cost", full, schema.KindDetail,
			`{` + base + `,"call_analysis":null,"call_cost":null}`, schema.KindItem, full, Present, 1, 1},
		{"nor does a hollow one", full, schema.KindDetail,
			`{` + base + `,"call_analysis":{"summary":null,"custom_analysis_data":[]},"call_cost":{"total_cost":null}}`,
			schema.KindItem, full, Present, 1, 1},
		{"another analysis wins", full, schema.KindDetail, `{` + base + `,"call_analysis":{"summary":"T","user_sentiment":null,"custom_analysis_data":[]}}`, schema.KindItem,
			`{` + base + cost + `,"call_analysis":{"summary":"T","user_sentiment":null,"custom_analysis_data":[]},"recording_url":"u","new":1` + turns + `}`, Changed, 1, 1},
		{"a cost that comes asks for nothing", `{` + base + analysis + turns + `}`, schema.KindDetail, `{` + base + analysis + cost + `}`, schema.KindItem,
			`{` + base + analysis + cost + turns + `}`, Present, 1, 1},
		{"nor does an analysis", `{` + base + turns + `}`, schema.KindDetail, `{` + base + analysis + `}`, schema.KindItem,
			`{` + base + analysis + turns + `}`, Present, 1, 1},
		{"nor another cost or link", full, schema.KindDetail, `{"id":"a","recording_url":"v","call_cost":{"total_cost":"3.00"}}`, schema.KindItem,
			strings.NewReplacer(`"2.00"`, `"3.00"`, `"u"`, `"v"`).Replace(full), Present, 1, 1},
		{"a masked item asks for the detail again", full, schema.KindDetail, `{"id":"a"` + strings.Replace(analysis, `"n"`, `"m"`, 1) + `}`, schema.KindItem,
			strings.Replace(full, `"n"`, `"m"`, 1), Changed, 1, 1},
		{"masked metadata too", `{` + base + `,"metadata":{"x":1}` + turns + `}`, schema.KindDetail, `{"id":"a","metadata":{"x":"***"}}`, schema.KindItem,
			`{` + base + `,"metadata":{"x":"***"}` + turns + `}`, Changed, 1, 0},
		{"an analysis after a record without turns asks for it again", `{` + base + `,"call_analysis":null,"transcript":null}`, schema.KindDetail,
			`{"id":"a"` + analysis + `}`, schema.KindItem, `{` + base + analysis + `}`, Pending, 0, 1},
		{"a cost after it too", `{` + base + `,"transcript":[]}`, schema.KindDetail, `{"id":"a"` + cost + `}`, schema.KindItem,
			`{` + base + cost + `}`, Pending, 0, 0},
		{"a new field after it too", `{` + base + `,"transcript":[]}`, schema.KindDetail, `{"id":"a","new":1}`, schema.KindItem,
			`{` + base + `,"new":1}`, Pending, 0, 0},
		{"what an analysis leaves out stays", `{` + base + `,"call_analysis":{"summary":"S","evaluation":{"x":1},"y":2}}`, schema.KindItem,
			`{` + base + `,"call_analysis":{"summary":"T"}}`, schema.KindItem,
			`{` + base + `,"call_analysis":{"summary":"T","evaluation":{"x":1},"y":2}}`, Pending, 0, 1},
		{"a changed end asks for the detail again", full, schema.KindDetail, `{"id":"a","end_at":1795089670000}`, schema.KindItem,
			strings.Replace(full, "89660000", "89670000", 1), Pending, 1, 1},
		{"a changed status too", full, schema.KindDetail, `{"id":"a","status":"error"}`, schema.KindItem,
			strings.Replace(full, `"ended"`, `"error"`, 1), Pending, 1, 1},
		{"a null transcript of an item says nothing", full, schema.KindDetail, `{` + base + `,"transcript":null}`, schema.KindItem,
			full, Present, 1, 1},
		{"nor does a detail's take back turns", full, schema.KindDetail, `{` + base + `,"transcript":null}`, schema.KindDetail,
			full, Present, 1, 1},
		{"new turns win", full, schema.KindDetail, `{` + base + `,"transcript":[1,2]}`, schema.KindDetail,
			strings.Replace(full, turns, `,"transcript":[1,2]`, 1), Present, 2, 1},
		{"no transcript is empty", `{` + base + `}`, schema.KindItem, `{` + base + `,"transcript":null}`, schema.KindDetail,
			`{` + base + `,"transcript":null}`, Empty, 0, 0},
		{"nor one that is left out", `{` + base + `}`, schema.KindItem, `{` + base + `}`, schema.KindDetail, `{` + base + `}`, Empty, 0, 0},
		{"an opt-out erases", full, schema.KindDetail, `{"id":"a","opt_out_sensitive_data_storage":true}`, schema.KindItem,
			`{` + base + cost + `,"call_analysis":null,"recording_url":null,"opt_out_sensitive_data_storage":true,"transcript":null}`, Withheld, 0, 0},
		{"and stands", `{` + base + `,"opt_out_sensitive_data_storage":true}`, schema.KindItem, full, schema.KindDetail,
			`{` + base + cost + `,"call_analysis":null,"recording_url":null,"opt_out_sensitive_data_storage":true,"transcript":null}`, Withheld, 0, 0},
		{"also against null", `{` + base + `,"opt_out_sensitive_data_storage":true}`, schema.KindItem,
			`{` + base + `,"opt_out_sensitive_data_storage":null}`, schema.KindItem,
			`{` + base + `,"opt_out_sensitive_data_storage":true}`, Withheld, 0, 0},
		{"until it is taken back", `{` + base + `,"opt_out_sensitive_data_storage":true}`, schema.KindItem,
			`{` + base + `,"opt_out_sensitive_data_storage":false}`, schema.KindItem,
			`{` + base + `,"opt_out_sensitive_data_storage":false}`, Pending, 0, 0},
		{"another name for the same", `{"id":"a","from_number":"1","agent":{"agent_id":"x"}}`, schema.KindItem,
			`{"id":"a","call_from":"2","agent_id":"y"}`, schema.KindItem, `{"id":"a","from_number":"2","agent":{"agent_id":"y"}}`, Pending, 0, 0},
		{"from v2 to v3", `{"call_id":"a","call_from":"1","status":"ended","call_cost":{"total_credits_used":3},"transcript_with_tool_calls":[{"role":"x"}],"start_timestamp":1795089600000,"end_timestamp":1795089660000}`, schema.KindItem,
			`{` + base + cost + `}`, schema.KindItem,
			`{` + base + `,"from_number":"1","agent":null,"call_type":null,"disconnection_reason":null,"to_number":null,
			  "presentation_number":null,"recording_url":null,"metadata":null,"dynamic_variables":null,"variant_label":null,
			  "opt_out_sensitive_data_storage":null,"call_analysis":null,
			  "call_cost":{"total_cost":"2.00","total_credits_used":3},"transcript":[{"role":"x"}]}`, Present, 1, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := merged(t, decodedIn(t, tc.old, tc.oldKind), decodedIn(t, tc.newer, tc.kind), tc.kind)
			test.Same(t, wiretest.Value(t, []byte(tc.json)), wiretest.Value(t, got.AppendJSON(nil)), "(-want +got)")
			if got.TranscriptState() != tc.state || got.Turns().Len() != tc.turns || (got.Text("summary") != nil) != (tc.summaries > 0) {
				t.Errorf("transcript %v with %d turns, summary %q", got.TranscriptState(), got.Turns().Len(), got.Text("summary"))
			}
		})
	}
}

// An end before the start is in extra until the start is corrected.
func TestEndBeforeStart(t *testing.T) {
	t.Parallel()
	old := decodedIn(t, `{"id":"a","start_at":1795089670000,"end_at":1795089660000}`, schema.KindItem)
	got := merged(t, old, decodedIn(t, `{"id":"a","start_at":1795089600000}`, schema.KindItem), schema.KindItem)
	if old.EndAt().OK || got.EndAt() != schema.Some[int64](1795089660000) || got.Text("extra") != nil {
		t.Errorf("the end was %v and is %v, extra %s", old.EndAt(), got.EndAt(), got.Text("extra"))
	}
}

func TestMergeMissing(t *testing.T) {
	t.Parallel()
	missing := func() *Call { c := NewCall("a"); c.Fetched(9, 9, []byte("r")); return c }
	if got := missing(); true {
		Merge(nil, got, schema.KindMissing)
		test.Same(t, Missing, got.TranscriptState(), "unknown before")
	}
	for _, tc := range []struct {
		json string
		kind schema.Kind
		was  TranscriptState
		want TranscriptState
	}{
		{`{"id":"a","status":"ended"}`, schema.KindItem, Pending, Missing},
		{`{"id":"a","status":"ended"}`, schema.KindItem, Missing, Missing},
		{`{"id":"a","status":"ended","transcript":[{}]}`, schema.KindDetail, Present, Present},
		{`{"id":"a","status":"ended","transcript":[{}]}`, schema.KindDetail, Pending, Present},
		{`{"id":"a","status":"ended","transcript":null}`, schema.KindDetail, Empty, Empty},
		{`{"id":"a","opt_out_sensitive_data_storage":true}`, schema.KindItem, Withheld, Withheld},
	} {
		old := decodedIn(t, tc.json, tc.kind)
		old.SetTranscriptState(tc.was)
		old.Fetched(3, 0, nil)
		got := merged(t, old, missing(), schema.KindMissing)
		if got.TranscriptState() != tc.want || got.FirstSeenAt() != 3 || got.FetchedAt() != 9 || string(got.RunID()) != "r" {
			t.Errorf("%s, %v: %v, first seen %d", tc.json, tc.was, got.TranscriptState(), got.FirstSeenAt())
		}
		got.SetTranscriptState(old.TranscriptState())
		mustSame(t, "the rest", old, got)
	}
}

// A call that became missing must not share memory with the older state: its Call is reused for the next one.
func TestMergeIntoItsOwnMemory(t *testing.T) {
	t.Parallel()
	old := decodedIn(t, `{"id":"a","transcript":[{"role":"user"},{"role":"agent"}]}`, schema.KindDetail)
	before := old.Clone()
	var c Call
	var d Decoder
	for _, kind := range []schema.Kind{schema.KindMissing, schema.KindItem} {
		c.Set(&NewCall("a").Object)
		Merge(old, &c, kind)
		test.OK(t, d.Decode([]byte(`{"id":"b","transcript":[1,2]}`), schema.KindDetail, &c))
		mustSame(t, "the older call", before, old)
	}
}

// When a call was fetched, and how its link is signed, is no change; TestDifferences has what is one.
func TestSame(t *testing.T) {
	t.Parallel()
	item := func(edit func(*Call)) *Call {
		c := decoded(t, payload(t, "v3_detail"), schema.KindDetail)
		edit(c)
		return c
	}
	a := item(func(*Call) {})
	for name, b := range map[string]*Call{
		"fetched":    item(func(c *Call) { c.Fetched(c.FirstSeenAt(), c.FetchedAt()+1, c.RunID()) }),
		"run":        item(func(c *Call) { c.Fetched(c.FirstSeenAt(), c.FetchedAt(), []byte("other")) }),
		"first seen": item(func(c *Call) { c.Fetched(c.FirstSeenAt()+1, c.FetchedAt(), c.RunID()) }),
		"signature": item(func(c *Call) {
			set(c, "recording_url", strings.Replace(string(c.Text("recording_url")), "3q2", "new", 1))
		}),
	} {
		if !Same(a, b) {
			t.Errorf("%s: changed", name)
		}
	}
	if Same(a, item(func(c *Call) { c.SetSettlement(c.Settlement() + 1) })) {
		t.Error("another settlement is no change")
	}
}
