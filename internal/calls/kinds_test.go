package calls

import (
	"fmt"
	"testing"

	"callhouse/internal/schema"
)

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
		if got := c.Kind(); got != tc.want {
			t.Errorf("%s is of the kind %q, want %q", tc.json, got, tc.want)
		}
	}
}

// A kind is skipped, except a sample, after fifty records without a transcript, and never again
// after one with a transcript.
func TestKinds(t *testing.T) {
	t.Parallel()
	const kind = "canceled, no reason, lasted no time"
	kinds := Kinds{}
	asked := func() (n int) {
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
	if n := asked(); n != 10_000 {
		t.Errorf("after 49 records %d are asked for", n)
	}
	kinds.add(kind, false, true)
	if n := asked(); n < 50 || n > 200 || n != asked() {
		t.Errorf("%d of 10,000 are asked for", n)
	}
	if kinds.add("", false, true); kinds.Skips(&Due{CallID: "1"}) {
		t.Error("a call of no kind is passed over")
	}
	if kinds.add(kind, true, false); asked() != 10_000 {
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
