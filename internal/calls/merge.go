package calls

import (
	"bytes"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/schema"
	"callhouse/internal/wire"
)

// Merge folds the known state of a call into a newer response: new becomes the call's current
// state. old is as read from the warehouse and is not changed; nil means that nothing is known. new
// was decoded with the same kind, or is empty but for its ID for KindMissing and KindSkipped, and
// has FirstSeenAt, FetchedAt and RunID set. Afterwards it aliases memory of its own, or what old
// and new aliased. Settle comes after Merge.
//
// The rules, for every kind:
//
//   - A field that new has wins, even if it is null. A field that new does not
//     have at all (a thin list item; a detail without evaluation) keeps its known
//     value, also inside agent, call_analysis and call_cost, and in extra.
//   - But a call_analysis or call_cost that is null, or that holds only nulls and
//     empty lists, never replaces a known one: a hiccup of the service must not
//     destroy what a detail or a person has read already. The same holds for
//     turns. A value with any content wins as a whole, as above.
//   - A null or empty transcript in a list item means nothing.
//   - What the record of an open call lacked may have come since: once an item without
//     analysis and cost shows that the call is over, the call counts as if its record
//     had not been fetched.
//   - From a page of v2 that replaces the call's own record (bulk), the transcript
//     counts, and the fields that only v2 has. old is not nil then.
//   - The caller's opt-out erases transcript, recording, analysis and unknown
//     fields, including known ones. It remains until false is sent.
//   - FirstSeenAt is the oldest one. What became of the recording stays, but an
//     opt-out makes it withheld.
//
// TranscriptState, if the caller did not opt out:
//
//	item, v3                unchanged; but pending, if status, start_at or end_at
//	                        changed, or if it was withheld. Known turns stay.
//	detail, or a v2 item    present or empty by the turns if over, else pending;
//	with its transcript     pending too if it is null and may still come: it was
//	                        fetched less than TranscriptGrace after the call's end,
//	                        the call connected, and there is no analysis either
//	bulk                    as a detail, if it was pending; else unchanged
//	missing                 pending and skipped become missing, or present if turns are
//	                        known; any other state stays
//	skipped                 pending becomes skipped, or present if turns are known
//
// Merging the same response again changes nothing. For responses with all fields, a list item and
// then a detail have the same result as the detail alone.
func Merge(old, new *Call, kind schema.Kind) {
	switch kind {
	case schema.KindMissing:
		mergeMissing(old, new)
		return
	case schema.KindSkipped:
		mergeSkipped(old, new)
		return
	case schema.KindBulk:
		mergeBulk(old, new)
		return
	}
	if old == nil {
		if new.TurnCount().OK {
			new.SetTranscriptState(decodedState(new))
		}
		return
	}
	first, fetched, run := firstSeen(old, new), new.FetchedAt(), new.RunID()
	told, spoke := new.TurnCount().OK, new.Turns().Len() > 0
	known := old.Object
	if new.listedOnly() && new.Over() && !old.Over() && old.TurnCount().V == 0 && !old.Analyzed() && !old.costed() {
		known = wire.Without(&known, "transcript", "transcript_with_tool_calls", "call_analysis", "call_cost")
	}
	wire.Merge(&known, &new.Object)
	new.Row[colTranscriptSource] = parquet.Value{}
	switch {
	case new.OptedOut():
	case !told:
		new.SetTranscriptSource(old)
	case !spoke && new.Turns().Len() > 0 && !old.Row[colTranscriptSource].IsNull(): // they are known from v2
		new.keepBulk()
	}
	new.SetSettlement(Open)
	new.Fetched(first, fetched, run)
	new.SetTranscriptState(mergedState(old, new, kind == schema.KindDetail || told))
	new.keepRecording(old)
}

func firstSeen(old, new *Call) int64 {
	a, b := old.FirstSeenAt(), new.FirstSeenAt()
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

func mergeMissing(old, new *Call) {
	if old == nil {
		new.SetTranscriptState(Missing)
		return
	}
	first, fetched, run := firstSeen(old, new), new.FetchedAt(), new.RunID()
	new.Set(&old.Object)
	new.Fetched(first, fetched, run)
	new.stopWaiting(Missing)
	if new.InBulk() {
		new.keepBulk()
	}
}

// mergeSkipped records that the call's record is not requested. Nothing was fetched.
func mergeSkipped(old, new *Call) {
	if old == nil {
		return
	}
	new.Set(&old.Object)
	new.stopWaiting(Skipped)
}

// stopWaiting ends the wait for a transcript, with the state why.
func (c *Call) stopWaiting(why TranscriptState) {
	switch {
	case c.TranscriptState() != Pending && c.TranscriptState() != Skipped:
	case c.Turns().Len() > 0:
		c.SetTranscriptState(Present)
	default:
		c.SetTranscriptState(why)
	}
}

// mergedState is the state of the transcript of the merged call. told means that the newer response
// shows whether there is one.
func mergedState(old, c *Call, told bool) TranscriptState {
	changed := !equal(old.Status(), c.Status()) || old.StartAt() != c.StartAt() || old.EndAt() != c.EndAt()
	switch {
	case c.OptedOut() || told:
		return decodedState(c)
	case old.TranscriptState() == Withheld || changed:
		return Pending
	}
	return old.TranscriptState()
}

// equal is bytes.Equal, but distinguishes null from empty.
func equal(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }
