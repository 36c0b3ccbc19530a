package calls

import (
	"bytes"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/schema"
	"callhouse/internal/wire"
)

// Merge folds what is known of a call into a newer response about it: new
// becomes the call as it is known now. old is as read from the warehouse and is
// not changed; nil means that nothing is known. new was decoded with the same
// kind, or is empty but for its ID for KindMissing and KindSkipped, and has FirstSeenAt,
// FetchedAt and RunID set. Afterwards it aliases what old and new aliased, or
// memory of its own. Settle comes after Merge.
//
// The rules, whatever the kind:
//
//   - A field that new carries wins, also when null. A field that new does not
//     carry at all (a thin list item; a detail without evaluation) keeps what is
//     known, also inside of agent, call_analysis and call_cost, and in extra.
//   - But a call_analysis or call_cost that is null, or that holds nothing but
//     nulls and empty lists, never takes back one that is known: a hiccup of the
//     service must not cost what a detail or a person has read already. The same
//     holds for turns. One with anything in it wins as a whole, as above.
//   - A list item whose transcript is null or empty says nothing of it.
//   - Of a page of v2 that stands for the call's own record (bulk) the transcript
//     counts, and what v2 alone tells. old is not nil then.
//   - The caller's opt-out erases transcript, recording, analysis and unknown
//     fields, known ones as well. It stands until false is sent.
//   - FirstSeenAt is the older one.
//
// TranscriptState, where the call is not opted out:
//
//	item, v3                what it was; but pending, if status, start_at or end_at
//	                        changed, or if it was withheld. Known turns stay.
//	detail, or a v2 item    present or empty by the turns if over, else pending;
//	with its transcript     pending too where it is null and may still come: it was
//	                        fetched less than TranscriptGrace after the call's end,
//	                        the call connected, and there is no analysis either
//	bulk                    as a detail, if it was pending; else what it was
//	missing                 pending and skipped become missing, or present if turns are
//	                        known; any other state stays
//	skipped                 pending becomes skipped, or present if turns are known
//
// Merging the same response again changes nothing. For responses that carry all
// fields, a list item and then a detail give what the detail alone gives.
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
	told := new.TurnCount().OK
	bulk := old.Row[colTranscriptSource]
	wire.Merge(&old.Object, &new.Object)
	new.Row[colTranscriptSource] = parquet.Value{}
	if !told && new.Turns().Len() > 0 {
		new.Row[colTranscriptSource] = bulk
	}
	new.SetSettlement(Open)
	new.Fetched(first, fetched, run)
	new.SetTranscriptState(mergedState(old, new, kind == schema.KindDetail || told))
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
}

// mergeSkipped notes that the record of a call is not asked for. Nothing was fetched.
func mergeSkipped(old, new *Call) {
	if old == nil {
		return
	}
	new.Set(&old.Object)
	new.stopWaiting(Skipped)
}

// stopWaiting ends the wait for a transcript, and says why.
func (c *Call) stopWaiting(why TranscriptState) {
	switch {
	case c.TranscriptState() != Pending && c.TranscriptState() != Skipped:
	case c.Turns().Len() > 0:
		c.SetTranscriptState(Present)
	default:
		c.SetTranscriptState(why)
	}
}

// mergedState is the state of the transcript of the merged call. told says that
// the newer response tells whether there is one.
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

// equal tells null from empty.
func equal(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }
