package calls

import (
	"fmt"
	"testing"
	"time"

	"callhouse/internal/schema"
)

// A transcript that is null soon after its call's end may still come: the call stays pending, and
// its record is requested again, until the grace period ends or there is evidence that there will
// be none.
func TestTranscriptMayComeLate(t *testing.T) {
	t.Parallel()
	const end = noon + 60_000
	grace := TranscriptGrace.Milliseconds()
	for _, tc := range []struct {
		name  string
		json  string // of the record, besides id, start and end
		kind  schema.Kind
		after int64 // ms after the call's end
		want  TranscriptState
	}{
		{"at once", `"status":"ended","transcript":null`, schema.KindDetail, 0, Pending},
		{"left out", `"status":"ended"`, schema.KindDetail, 0, Pending},
		{"in the last moment", `"status":"ended","transcript":null`, schema.KindDetail, grace - 1, Pending},
		{"the grace is over", `"status":"ended","transcript":null`, schema.KindDetail, grace, Empty},
		{"nobody spoke", `"status":"ended","transcript":[]`, schema.KindDetail, 0, Empty},
		{"nobody spoke, v2", `"status":"ended","transcript_with_tool_calls":[]`, schema.KindDetail, 0, Empty},
		{"it is there", `"status":"ended","transcript":[{"role":"user","content":"Hi"}]`, schema.KindDetail, 0, Present},
		{"the analysis is there", `"status":"ended","transcript":null,"call_analysis":{"user_sentiment":"neutral"}`, schema.KindDetail, 0, Empty},
		{"the cost is there", `"status":"ended","transcript":null,"call_cost":{"total_cost":"1.00"}`, schema.KindDetail, 0, Pending},
		{"never connected", `"status":"not_connected","transcript":null`, schema.KindDetail, 0, Empty},
		{"opted out", `"status":"ended","transcript":null,"opt_out_sensitive_data_storage":true`, schema.KindDetail, 0, Withheld},
		{"a list item says nothing of it", `"status":"ended"`, schema.KindItem, grace, Pending},
	} {
		body := fmt.Sprintf(`{"id":"a","call_analysis":null,"call_cost":null,"start_at":%d,"end_at":%d,%s}`, noon, end, tc.json)
		for _, known := range []bool{false, true} {
			var old *Call
			if known {
				old = decoded(t, fmt.Appendf(nil, `{"id":"a","status":"ended","call_analysis":null,"call_cost":null,"start_at":%d,"end_at":%d}`, noon, end), schema.KindItem)
				old.Fetched(noon, noon, nil)
				old.Settle(noon)
			}
			c := decoded(t, []byte(body), tc.kind)
			c.Fetched(end+tc.after, end+tc.after, nil)
			Merge(old, c, tc.kind)
			c.Settle(end + tc.after)
			if c.TranscriptState() != tc.want || c.DetailDue() != (tc.want == Pending) {
				t.Errorf("%s, known %v: %v, detail due %v, want %v", tc.name, known, c.TranscriptState(), c.DetailDue(), tc.want)
			}
		}
	}

	// Then: listed again meanwhile, it still waits; later it comes, or the grace period ends.
	first := decoded(t, fmt.Appendf(nil, `{"id":"a","status":"ended","call_analysis":null,"call_cost":null,"start_at":%d,"end_at":%d,"transcript":null}`, noon, end), schema.KindDetail)
	first.Fetched(first.FirstSeenAt(), end, nil)
	Merge(nil, first, schema.KindDetail)
	listed := decoded(t, fmt.Appendf(nil, `{"id":"a","status":"ended","call_analysis":{"user_sentiment":"neutral"},"call_cost":null,"start_at":%d,"end_at":%d}`, noon, end), schema.KindItem)
	listed.Fetched(listed.FirstSeenAt(), end+24*hour, nil)
	Merge(first, listed, schema.KindItem)
	listed.Settle(listed.FetchedAt())
	if listed.TranscriptState() != Pending || !listed.DetailDue() {
		t.Errorf("listed again, the transcript is %v", listed.TranscriptState())
	}
	for text, want := range map[string]TranscriptState{`null`: Empty, `[{"role":"user","content":"Hi"}]`: Present} {
		c := decoded(t, fmt.Appendf(nil, `{"id":"a","status":"ended","call_analysis":null,"call_cost":null,"start_at":%d,"end_at":%d,"transcript":%s}`, noon, end, text), schema.KindDetail)
		c.Fetched(c.FirstSeenAt(), end+int64(24*time.Hour/time.Millisecond), nil)
		Merge(listed, c, schema.KindDetail)
		if c.Settle(c.FetchedAt()); c.TranscriptState() != want {
			t.Errorf("%s a day later: %v, want %v", text, c.TranscriptState(), want)
		}
	}
}

// A call that expires without an end does not wait for a transcript for ever, although its record was
// requested in the last hour before that, by whatever command.
func TestCallThatExpiresAfterItsRecord(t *testing.T) {
	t.Parallel()
	call := decoded(t, fmt.Appendf(nil, `{"id":"a","status":"ongoing","start_at":%d,"end_at":null,"transcript":null}`, noon), schema.KindDetail)
	call.Fetched(noon, noon, nil)
	expires := call.ExpiresAt()
	call.Fetched(noon, expires-hour/2, nil)
	Merge(nil, call, schema.KindDetail)
	call.Settle(expires - hour/2)
	if call.Settlement() != Open || call.TranscriptState() != Pending {
		t.Errorf("before: %v, %v", call.Settlement(), call.TranscriptState())
	}
	call.Settle(expires)
	if call.Settlement() != Expired || call.TranscriptState() != Missing {
		t.Errorf("after: %v, %v", call.Settlement(), call.TranscriptState())
	}
}

// An item that shows nothing new does not postpone the next request of a record, nor make the answer
// final, even if the call expires with it.
func TestItemsDoNotPostponeTheNextRequest(t *testing.T) {
	t.Parallel()
	const end = noon + 60_000
	item := fmt.Appendf(nil, `{"id":"a","status":"ended","call_analysis":null,"call_cost":null,"start_at":%d,"end_at":%d}`, noon, end)
	call := decoded(t, item, schema.KindItem)
	call.Fetched(end, end, nil)
	missing := NewCall("a")
	missing.Fetched(end, end+hour, nil)
	Merge(call, missing, schema.KindMissing)
	last := end + ExpireAfter.Milliseconds()
	again := decoded(t, item, schema.KindItem)
	again.Fetched(last, last, nil)
	Merge(missing, again, schema.KindItem)
	again.Settle(last)
	asks := Asking{Scope: DueTranscripts, Now: last}
	if due, ok := asks.Due(again); !ok || !due.Again || again.Settlement() != Expired {
		t.Errorf("%v, %v: due %v (%+v)", again.TranscriptState(), again.Settlement(), ok, due)
	}
}
