package calls

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"callhouse/internal/schema"
	"callhouse/internal/test"
	"callhouse/internal/wire/wiretest"
)

// Differences are named.
func TestDifferences(t *testing.T) {
	t.Parallel()
	const before = `{"id":"a","status":"ended","from_number":"1","start_at":1795089600000,"end_at":1795089660000,` +
		`"recording_url":"u?1","call_cost":{"total_cost":"1.50"},"call_analysis":{"summary":"s","user_sentiment":"neutral",` +
		`"custom_analysis_data":[{"type":"string","name":"n","value":"v"}]},"transcript":[{"role":"user","content":"Hi"},{"role":"agent","content":"Yes"}]}`
	for _, tc := range []struct{ name, old, new, want string }{
		{"nothing", `"status"`, `"status"`, ""},
		{"a link that was signed anew", `u?1`, `u?2`, ""},
		{"another link", `u?1`, `w?1`, "recording_url"},
		{"a word", `"ended"`, `"error"`, "status"},
		{"a time", `"end_at":1795089660000`, `"end_at":null`, "end_at duration_ms"},
		{"money", `"1.50"`, `"1.5001"`, "total_cost"},
		{"a turn's text", `"Yes"`, `"No"`, "transcript_turns[1].content"},
		{"a turn's role", `"role":"user"`, `"role":"agent"`, "transcript_turns[0].role"},
		{"a turn more", `"content":"Yes"}`, `"content":"Yes"},{"role":"user","content":"So"}`, "turn_count transcript_turns"},
		{"an item's value", `"v"`, `"w"`, "analysis_items[0].value"},
		{"an item less", `{"type":"string","name":"n","value":"v"}`, ``, "analysis_items"},
		{"an unknown field", `"id":"a"`, `"id":"a","new":1`, "extra"},
		{"a field that was not there", `"id":"a"`, `"metadata":{"y":2,"x":1},"id":"a"`, "metadata"},
		{"the start alone", `"start_at":1795089600000`, `"start_at":1795089600001`, "start_at duration_ms"},
	} {
		a := decoded(t, []byte(before), schema.KindDetail)
		b := decoded(t, []byte(strings.Replace(before, tc.old, tc.new, 1)), schema.KindDetail)
		test.Same(t, tc.want, strings.Join(schema.Differences(&a.Object, &b.Object), " "), "%s", tc.name)
	}
}

// The order of an object's members is no difference, the spelling of its numbers is.
func TestDifferencesInJSON(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ a, b, want string }{
		{`{"x":1,"y":["é"]}`, `{ "y" : ["\u00e9"], "x" : 1 }`, ""},
		{`{"x":1,"y":2}`, `{"x":2,"y":1}`, "metadata"},
		{`{"x":1}`, `{"x":1.0}`, "metadata"},
		{`{"x":12345678901234567890}`, `{"x":12345678901234567891}`, "metadata"},
		{`{"x":[1,2]}`, `{"x":[2,1]}`, "metadata"},
	} {
		a := decoded(t, []byte(`{"id":"a","metadata":`+tc.a+`}`), schema.KindItem)
		b := decoded(t, []byte(`{"id":"a","metadata":`+tc.b+`}`), schema.KindItem)
		test.Same(t, tc.want, strings.Join(schema.Differences(&a.Object, &b.Object), " "), "%s and %s differ", tc.a, tc.b)
	}
}

// spelledOtherwise reports whether two calls are equal once their JSON is spelled alike.
func spelledOtherwise(a, b *Call) bool {
	return Same(respelled(a), respelled(b))
}

// Equal states have no differences, others have some, except for the spelling of JSON.
func TestDifferencesAgreeWithSame(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		kind := wiretest.DrawKind(t)
		body := wiretest.DrawCall(t, 20)
		other := body
		if rapid.Bool().Draw(t, "other") {
			other = wiretest.DrawCall(t, 20)
		}
		var d, e Decoder
		var a, b Call
		if d.Decode(body, kind, &a) != nil || e.Decode(other, kind, &b) != nil {
			return
		}
		a.Settle(noon)
		b.Settle(noon + rapid.SampledFrom([]int64{0, 100 * hour}).Draw(t, "later"))
		found := schema.Differences(&a.Object, &b.Object)
		if len(found) > 0 == Same(&a, &b) && !spelledOtherwise(&a, &b) {
			t.Fatalf("same: %v; differences: %v", Same(&a, &b), found)
		}
	})
}
