package table

import (
	"bytes"

	"callhouse/internal/schema"
)

// Upgrade returns a call from an older file as today's tables hold it: what
// its rows keep in extra, since they had no column for it, moves into its
// column. It asks nobody: extra holds the values as they were sent, so the
// call's JSON is rebuilt and decoded anew. Where that would not give back the
// very same JSON, the call stays as it is: nothing is lost, only found in extra.
func Upgrade(dec *schema.Decoder, call *schema.Call) *schema.Call {
	if !call.HasExtra() && call.Lacks == nil {
		return call
	}
	kind := schema.KindItem
	if call.TurnCount().OK {
		kind = schema.KindDetail
	}
	body := call.AppendJSON(nil)
	now := new(schema.Call)
	if err := dec.Decode(body, kind, now); err != nil || now.Source() != call.Source() || now.TurnCount() != call.TurnCount() ||
		!bytes.Equal(now.ID(), call.ID()) || now.StartAt() != call.StartAt() || !bytes.Equal(now.AppendJSON(nil), body) {
		return call
	}
	now.Fetched(call.FirstSeenAt(), call.FetchedAt(), call.RunID())
	now.SetTranscriptState(call.TranscriptState())
	now.SetSettlement(call.Settlement())
	return now.Clone() // the decoder's memory is used again
}
