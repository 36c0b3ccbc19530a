package calls

import (
	"testing"

	"callhouse/internal/schema"
)

// A v2 page gives the turns and fields that only v2 sends: the call's v3 record has neither credits
// nor an evaluation, so they would be lost.
func TestBulkGivesWhatV2AloneSends(t *testing.T) {
	const item = `{"id":"a","status":"ended","start_at":1795089600000,"end_at":1795089660000,"call_analysis":{"summary":"S"},"call_cost":{"total_cost":"2.00"}}`
	const page = `{"call_id":"a","status":"ended","start_timestamp":1795089600000,"end_timestamp":1795089660000,` +
		`"call_analysis":{"summary":"S","evaluation":{"score":1}},"call_cost":{"total_credits_used":3,"duration_seconds":60},` +
		`"transcript_with_tool_calls":[{"role":"user","content":"hello"}]}`
	known := decoded(t, []byte(item), schema.KindItem)
	known.Settle(1795089660000)
	call := merged(t, known, decoded(t, []byte(page), schema.KindBulk), schema.KindBulk)
	if call.Turns().Len() != 1 || !call.InBulk() {
		t.Fatalf("%d turns, in bulk %t", call.Turns().Len(), call.InBulk())
	}
	for _, column := range []string{"credits_used", "billed_seconds", "evaluation"} {
		if call.Row[schema.Calls.Column(column)].IsNull() {
			t.Errorf("%s is lost", column)
		}
	}
}

// The page may have been read before the list item that is on record, if the clock was set back or two
// listings reported the call.
func TestBulkReadBeforeTheItem(t *testing.T) {
	known := decoded(t, []byte(`{"id":"a","status":"ended","start_at":1795089600000,"end_at":1795089660000}`), schema.KindItem)
	known.Fetched(2000, 2000, nil)
	known.Settle(1795089660000)
	page := decoded(t, []byte(`{"call_id":"a","status":"ended","start_timestamp":1795089600000,"end_timestamp":1795089660000,`+
		`"transcript_with_tool_calls":[{"role":"user","content":"hello"}]}`), schema.KindBulk)
	page.Fetched(1000, 1000, nil)
	if call := merged(t, known, page, schema.KindBulk); call.FirstSeenAt() != 1000 || call.FetchedAt() != 1000 {
		t.Errorf("first seen %d, fetched %d", call.FirstSeenAt(), call.FetchedAt())
	}
}

// A transcript of v2 is one until v3's replaces it: list items leave it, an opt-out erases it, and if
// v3 has none, it remains, and is not requested again.
func TestSourceOfTheTranscript(t *testing.T) {
	const item = `{"id":"a","status":"ended","start_at":1795089600000,"end_at":1795089660000,"call_analysis":{"summary":"S"},"call_cost":{"total_cost":"2.00"}`
	const page = `{"call_id":"a","status":"ended","start_timestamp":1795089600000,"end_timestamp":1795089660000,"transcript_with_tool_calls":`
	const spoken = `[{"role":"user","content":"hello"}]`
	from := func(transcript string) *Call {
		known := decoded(t, []byte(item+"}"), schema.KindItem)
		known.Settle(1795089660000)
		return merged(t, known, decoded(t, []byte(page+transcript+"}"), schema.KindBulk), schema.KindBulk)
	}
	for _, c := range []struct {
		name, came, then string
		kind             schema.Kind
		source           string
		turns            int
	}{
		{"listed again", spoken, item + "}", schema.KindItem, fromV2, 1},
		{"nobody spoke, and listed again", "[]", item + "}", schema.KindItem, fromV2, 0},
		{"the same", spoken, item + `,"transcript":` + spoken + "}", schema.KindDetail, "", 1},
		{"another one", spoken, item + `,"transcript":[{"role":"user","content":"bye"},{"role":"agent","content":"bye"}]}`, schema.KindDetail, "", 2},
		{"nobody spoke", "[]", item + `,"transcript":[]}`, schema.KindDetail, "", 0},
		{"v3 has none", spoken, item + `,"transcript":null}`, schema.KindDetail, fromV2Only, 1},
		{"v3 no longer has the call", spoken, "", schema.KindMissing, fromV2Only, 1},
		{"opted out", spoken, item + `,"opt_out_sensitive_data_storage":true}`, schema.KindItem, "", 0},
	} {
		call := from(c.came)
		now := NewCall("a")
		if c.then != "" {
			now = decoded(t, []byte(c.then), c.kind)
		}
		call = merged(t, call, now, c.kind)
		if got := string(call.text(colTranscriptSource)); got != c.source || call.Turns().Len() != c.turns || call.DetailDue() {
			t.Errorf("%s: from %q, %d turns, %s", c.name, got, call.Turns().Len(), call.TranscriptState())
		}
		if c.source == fromV2Only {
			if again := merged(t, call, decoded(t, []byte(item+"}"), schema.KindItem), schema.KindItem); string(again.text(colTranscriptSource)) != fromV2Only {
				t.Errorf("%s: a later item makes it %q", c.name, again.text(colTranscriptSource))
			}
		}
	}
}
