package calls

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"callhouse/internal/schema"
	"callhouse/internal/test"
	"callhouse/internal/wire/wiretest"
)

const (
	hour = int64(time.Hour / time.Millisecond)
	noon = int64(1795089600000) // 2026-11-19T12:00Z, the start of the calls below
)

// The table of a call's life. Each call is given by its JSON besides id and start, and judged some time later.
func TestSettle(t *testing.T) {
	t.Parallel()
	const (
		end      = `,"end_at":1795089660000`
		ended    = `,"status":"ended"` + end
		analysis = `,"call_analysis":{"summary":null,"user_sentiment":"neutral","custom_analysis_data":[]}`
		hollow   = `,"call_analysis":{"summary":null,"user_sentiment":null,"custom_analysis_data":[]}`
		cost     = `,"call_cost":{"total_cost":"1.00"}`
		optOut   = `,"opt_out_sensitive_data_storage":true`
		turns    = `,"transcript":[{"role":"user","content":"Hi"}]`
	)
	instantly := fmt.Sprintf(`,"end_at":%d`, noon)
	for _, tc := range []struct {
		name       string
		json       string
		kind       schema.Kind
		after      int64 // hours after the start
		settlement Settlement
		transcript TranscriptState
		due        bool
	}{
		{"not over", `,"status":"ongoing"`, schema.KindItem, 1, Open, Pending, false},
		{"not over, old", `,"status":"ongoing"`, schema.KindItem, 95, Open, Pending, false},
		{"not over, too old", `,"status":"queued"`, schema.KindItem, 96, Expired, Pending, false},
		{"v2 words", `,"status":"ringing"`, schema.KindItem, 1, Open, Pending, false},
		{"unknown status", `,"status":"paused"`, schema.KindItem, 1, Open, Pending, false},
		{"unknown status with an end", `,"status":"paused"` + end, schema.KindItem, 1, Ended, Pending, true},
		{"no status", ``, schema.KindItem, 1, Open, Pending, true},
		{"no status, but an end", end, schema.KindItem, 1, Ended, Pending, true},
		{"starts later", `,"status":"queued"`, schema.KindItem, -500, Open, Pending, false},

		{"ended", ended, schema.KindItem, 1, Ended, Pending, true},
		{"ended, no end", `,"status":"ended"`, schema.KindItem, 1, Ended, Pending, true},
		{"analysis alone", ended + analysis, schema.KindItem, 1, Ended, Pending, true},
		{"cost alone", ended + cost, schema.KindItem, 1, Ended, Pending, true},
		{"both", ended + analysis + cost, schema.KindItem, 1, Settled, Pending, true},
		{"an analysis of nulls is one", ended + hollow + cost, schema.KindItem, 1, Settled, Pending, true},
		{"an analysis of another shape is one", ended + `,"call_analysis":"none"` + cost, schema.KindItem, 1, Settled, Pending, true},
		{"a cost of nulls is none", ended + analysis + `,"call_cost":{"total_cost":null}`, schema.KindItem, 1, Ended, Pending, true},
		{"a cost that is no amount is one", ended + analysis + `,"call_cost":{"total_cost":"free"}`, schema.KindItem, 1, Settled, Pending, true},
		{"given up", ended + cost, schema.KindItem, 73, Expired, Pending, true},
		{"given up without an end", `,"status":"ended"`, schema.KindItem, 96, Expired, Pending, true},
		{"not yet given up without an end", `,"status":"ended"`, schema.KindItem, 95, Ended, Pending, true},
		{"an end years ahead", `,"status":"ended","end_at":4000000000000`, schema.KindItem, 96, Expired, Pending, true},
		{"present", ended + analysis + cost + turns, schema.KindDetail, 1, Settled, Present, false},
		{"empty", ended + analysis + cost + `,"transcript":null`, schema.KindDetail, 1, Settled, Empty, false},
		{"ongoing, some turns", `,"status":"ongoing"` + turns, schema.KindDetail, 1, Open, Pending, false},

		{"not connected", `,"status":"not_connected"`, schema.KindItem, 1, Settled, Empty, false},
		{"not connected, but a recording", `,"status":"not_connected","recording_url":"u"`, schema.KindItem, 1, Ended, Pending, true},
		{"not connected, but turns", `,"status":"not_connected"` + turns, schema.KindDetail, 1, Ended, Present, false},
		{"canceled at once", `,"status":"canceled"`, schema.KindItem, 1, Settled, Empty, false},
		{"canceled at its start", `,"status":"canceled"` + instantly, schema.KindItem, 1, Settled, Empty, false},
		{"canceled after a minute", `,"status":"canceled"` + end, schema.KindItem, 1, Ended, Pending, true},
		{"error without an end", `,"status":"error"`, schema.KindItem, 1, Settled, Empty, false},
		{"error after a minute", `,"status":"error"` + end, schema.KindItem, 1, Ended, Pending, true},
		{"no answer", `,"status":"error","disconnection_reason":"dial_no_answer"` + end, schema.KindItem, 1, Settled, Empty, false},
		{"no answer, but ended", `,"disconnection_reason":"dial_no_answer"` + ended, schema.KindItem, 1, Ended, Pending, true},
		{"dial failed, no status", `,"disconnection_reason":"dial_failed"` + end, schema.KindItem, 1, Settled, Empty, false},
		{"dial failed, not over", `,"status":"ongoing","disconnection_reason":"dial_failed"`, schema.KindItem, 1, Open, Pending, false},
		{"no line free", `,"status":"error","disconnection_reason":"concurrency_limit_reached"` + end, schema.KindItem, 1, Settled, Empty, false},
		{"no money", `,"status":"error","disconnection_reason":"insufficient_balance"` + instantly, schema.KindItem, 1, Settled, Empty, false},
		{"money ran out", `,"status":"error","disconnection_reason":"insufficient_balance"` + end, schema.KindItem, 1, Ended, Pending, true},
		{"voicemail", `,"disconnection_reason":"voicemail_reached"` + ended, schema.KindItem, 1, Ended, Pending, true},

		{"opted out", ended + optOut, schema.KindItem, 1, Ended, Withheld, false},
		{"opted out, cost there", ended + optOut + cost, schema.KindItem, 1, Settled, Withheld, false},
		{"opted out, given up", ended + optOut, schema.KindItem, 80, Expired, Withheld, false},
		{"opted out, not over", `,"status":"ongoing"` + optOut, schema.KindItem, 1, Open, Withheld, false},
	} {
		// Full items have null until there is a value. Of a repeated name the last value counts.
		body := fmt.Sprintf(`{"id":"a","call_analysis":null,"call_cost":null,"start_at":%d%s}`, noon, tc.json)
		c := decoded(t, []byte(body), tc.kind)
		for range 2 { // settling is idempotent
			c.Settle(noon + tc.after*hour)
			if c.Settlement() != tc.settlement || c.TranscriptState() != tc.transcript || c.DetailDue() != tc.due {
				t.Errorf("%s: %v, transcript %v, detail due %v; want %v, %v, %v", tc.name,
					c.Settlement(), c.TranscriptState(), c.DetailDue(), tc.settlement, tc.transcript, tc.due)
			}
		}
	}
}

// A list item without analysis and cost is not enough without the call's own record, even for an
// unconnected call.
func TestSettleThin(t *testing.T) {
	t.Parallel()
	item := `{"id":"a","status":"not_connected","start_at":1}`
	c := decoded(t, []byte(item), schema.KindItem)
	if c.Settle(2); c.Settlement() != Ended || !c.DetailDue() {
		t.Errorf("a thin item: %v, detail due %v", c.Settlement(), c.DetailDue())
	}
	detail := decoded(t, []byte(`{"id":"a","status":"not_connected","start_at":1,"call_analysis":null,"call_cost":null,"transcript":null}`), schema.KindDetail)
	Merge(c, detail, schema.KindDetail)
	if detail.Settle(2); detail.Settlement() != Settled || detail.DetailDue() {
		t.Errorf("with its detail: %v, detail due %v", detail.Settlement(), detail.DetailDue())
	}
	again := decoded(t, []byte(item), schema.KindItem)
	Merge(detail, again, schema.KindItem)
	if again.Settle(2); again.Settlement() != Settled || again.DetailDue() {
		t.Errorf("listed again: %v, detail due %v", again.Settlement(), again.DetailDue())
	}
}

// A thin item that shows the end of a call does not settle it if its record was fetched while it was open.
func TestSettleThinAfterOpen(t *testing.T) {
	t.Parallel()
	const open = `"id":"a","status":"ongoing","start_at":1795089600000,"end_at":null,"call_analysis":null,"call_cost":null`
	for _, more := range []string{"", `,"unknown":1`} {
		known := decodedIn(t, `{`+open+`,"transcript":[]`+more+`}`, schema.KindDetail)
		Merge(nil, known, schema.KindDetail)
		c := merged(t, known, decodedIn(t, `{"id":"a","status":"error","start_at":1795089600000}`, schema.KindItem), schema.KindItem)
		c.Settle(1795089700000)
		if c.Settlement() != Ended || !c.Waits() {
			t.Errorf("with %q: %v, transcript %v", more, c.Settlement(), c.TranscriptState())
		}
		full := merged(t, known, decodedIn(t, `{`+strings.Replace(open, "ongoing", "error", 1)+`}`, schema.KindItem), schema.KindItem)
		full.Settle(1795089700000)
		test.Same(t, Settled, full.Settlement(), "by a full item, with %q", more)
	}
}

// A call without a start counts from when it was first seen.
func TestSettleWithoutStart(t *testing.T) {
	t.Parallel()
	c := decoded(t, []byte(`{"id":"a","status":"queued"}`), schema.KindItem)
	c.Fetched(noon, noon, nil)
	for after, want := range map[int64]Settlement{0: Open, 95: Open, 96: Expired} {
		if c.Settle(noon + after*hour); c.Settlement() != want {
			t.Errorf("after %d hours: %v, want %v", after, c.Settlement(), want)
		}
	}
}

// A call first seen long after its end is awaited from then on, unless it is too old.
func TestSettleSeenLate(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ seen, after, want int64 }{ // hours after the end; settlements
		{0, 71, int64(Ended)}, {0, 72, int64(Expired)},
		{10, 72, int64(Ended)}, {10, 82, int64(Expired)},
		{240, 240, int64(Ended)}, {240, 311, int64(Ended)}, {240, 312, int64(Expired)},
		{720, 720, int64(Ended)}, {721, 721, int64(Expired)},
	} {
		c := decoded(t, []byte(`{"id":"a","status":"ended","start_at":1795089500000,"end_at":1795089600000,"call_analysis":null,"call_cost":null}`), schema.KindItem)
		c.Fetched(noon+tc.seen*hour, noon+tc.seen*hour, nil)
		if c.Settle(noon + tc.after*hour); c.Settlement() != Settlement(tc.want) {
			t.Errorf("first seen after %d hours, after %d: %v, want %v", tc.seen, tc.after, c.Settlement(), Settlement(tc.want))
		}
	}
}

// A call that turns out to be connected becomes due.
func TestSettleBack(t *testing.T) {
	t.Parallel()
	c := decoded(t, []byte(`{"id":"a","status":"error","start_at":1795089600000,"call_analysis":null,"call_cost":null}`), schema.KindItem)
	c.Settle(noon + hour)
	if c.TranscriptState() != Empty {
		t.Fatalf("transcript %v", c.TranscriptState())
	}
	set(c, "recording_url", "u")
	c.Settle(noon + hour)
	if !c.DetailDue() || c.Settlement() != Ended {
		t.Errorf("transcript %v, %v", c.TranscriptState(), c.Settlement())
	}
}

// Time alone only moves a call forward, and settled calls stay settled.
func TestSettleMonotonic(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var d Decoder
		var c Call
		kind := wiretest.DrawKind(t)
		if d.Decode(wiretest.DrawCall(t, 20), kind, &c) != nil {
			return
		}
		last := Open
		for _, after := range []int64{0, 1, 24, 71, 72, 73, 96, 97, 1000} {
			c.Settle(1_760_000_000_000 + after*hour)
			if c.Settlement() < last {
				t.Fatalf("from %v to %v", last, c.Settlement())
			}
			if last == Settled && c.Settlement() != Settled {
				t.Fatalf("from settled to %v", c.Settlement())
			}
			last = c.Settlement()
		}
	})
}

// Every word is read as it is written.
func TestWords(t *testing.T) {
	t.Parallel()
	test.Same(t, "Settlement(9)", Settlement(9).String(), "an unknown one")
	for s := Pending; s <= Skipped; s++ {
		if got, ok := transcriptWords.Find([]byte(s.String())); got != int(s) || !ok {
			t.Errorf("%v becomes %v: %v", s, got, ok)
		}
	}
	for s := Open; s <= Expired; s++ {
		if got, ok := settlementWords.Find([]byte(s.String())); got != int(s) || !ok {
			t.Errorf("%v becomes %v: %v", s, got, ok)
		}
	}
	for s := schema.V3; s <= schema.V2; s++ {
		if got, ok := schema.SourceWords.Find([]byte(s.String())); got != int(s) || !ok {
			t.Errorf("%v becomes %v: %v", s, got, ok)
		}
	}
	if _, ok := settlementWords.Find([]byte("Open")); ok {
		t.Error("a word is spelled in one way")
	}
}

// A transcript that is null soon after its call's end may still come: the call stays pending, and its record is
// requested again, until the grace period ends or there is evidence that there will be none.
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
