package calls

import (
	"testing"

	"callhouse/internal/schema"
)

// What is known of a call does not depend on how its transcript was fetched: a page of v2 gives the
// turns, and neither credits nor an evaluation, which the call's own record would not give.
func TestBulkGivesTheTranscriptAlone(t *testing.T) {
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
		if v := call.Row[schema.Calls.Column(column)]; !v.IsNull() {
			t.Errorf("%s is %v", column, v)
		}
	}
}
