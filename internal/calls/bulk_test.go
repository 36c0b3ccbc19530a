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
