package calls

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/schema"
	"callhouse/internal/wire"
)

// Merge folds the known state of a call into a newer response: new becomes the call's current
// state. old is as read from the warehouse and is not changed; nil means that nothing is known. new
// was decoded with the same kind, or is empty but for its ID for kinds without a body, and
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
//   - An item that differs from what is known is a sign that the record has changed too: any
//     difference if the record had no turns, otherwise another value in place of a known one,
//     costs and links apart. The record is then due at once.
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
//	                        changed, or if it was withheld; and changed (if it was
//	                        present) or pending, if there is a sign of another record.
//	                        Known turns stay.
//	detail, or a v2 item    present or empty by the turns if over, else pending;
//	with its transcript     pending too if it is null and may still come: it was
//	                        fetched less than TranscriptGrace after the call's end,
//	                        the call connected, and there is no analysis either
//	bulk                    as a detail, if it was pending; else unchanged
//	missing, unreadable     pending, skipped and either of these become it, or present if
//	                        turns are known; changed becomes present; any other state stays
//	skipped                 pending becomes skipped, or present if turns are known
//
// Merging the same response again changes nothing. For responses with all fields, a list item and
// then a detail have the same result as the detail alone.
func Merge(old, new *Call, kind schema.Kind) {
	switch kind {
	case schema.KindMissing:
		mergeMissing(old, new, Missing)
		return
	case schema.KindUnreadable:
		mergeMissing(old, new, Unreadable)
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
	counted, spoke := new.TurnCount().OK, new.Turns().Len() > 0
	known, seen := old, !old.listedOnly()
	if new.listedOnly() && new.Over() && !old.Over() && old.TurnCount().V == 0 && !old.Analyzed() && !old.costed() {
		known, seen = old.WithoutTranscript(), false
	}
	own := counted || kind == schema.KindDetail
	var item *Call
	if !own && old.withoutTurns() {
		item = new.Copy()
	}
	wire.Merge(&known.Object, &new.Object)
	renewed := !own && !new.OptedOut() && old.renewedBy(new)
	switch {
	case item == nil:
	case renewed: // as if the record had not been requested
		new.Set(&item.Object)
		wire.Merge(&known.WithoutTranscript().Object, &new.Object)
	default: // the next request depends on when the record was requested: see AskAt
		fetched = old.FetchedAt()
	}
	if seen {
		new.Sent |= 1 << colTotalCost
	}
	new.Row[colTranscriptSource] = parquet.Value{}
	switch {
	case new.OptedOut():
	case !counted:
		new.SetTranscriptSource(old)
	case !spoke && new.Turns().Len() > 0 && !old.Row[colTranscriptSource].IsNull(): // they are known from v2
		new.keepBulk()
	}
	new.SetSettlement(Open)
	new.Fetched(first, fetched, run)
	switch {
	case new.OptedOut() || own:
		new.SetTranscriptState(decodedState(new))
	case renewed && old.TranscriptState() == Present && !old.movedTo(new):
		new.SetTranscriptState(Changed)
	case renewed:
		new.SetTranscriptState(Pending)
	default:
		new.SetTranscriptState(old.TranscriptState())
	}
	new.keepRecording(old)
}

func firstSeen(old, new *Call) int64 {
	a, b := old.FirstSeenAt(), new.FirstSeenAt()
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// mergeMissing records that the call's record could not be had, with the state why.
func mergeMissing(old, new *Call, why TranscriptState) {
	if old == nil {
		new.SetTranscriptState(why)
		return
	}
	first, fetched, run := firstSeen(old, new), new.FetchedAt(), new.RunID()
	if why == Unreadable && old.TranscriptState() != Unreadable {
		fetched = old.FetchedAt() // a first failure is never final: see FinalAt
	}
	new.Set(&old.Object)
	new.Fetched(first, fetched, run)
	new.stopWaiting(why)
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
	switch c.TranscriptState() {
	case Present, Empty, Withheld:
		return
	}
	if c.Turns().Len() > 0 {
		why = Present
	}
	c.SetTranscriptState(why)
}

// renewedBy reports whether now, the call after a list item was merged into it, shows that the call's
// record has probably changed since it was requested, or may be stored by now. If it brought no
// turns, any difference shows that: an analysis is made from a transcript. Otherwise only a value
// that replaces a known one does, such as a masked summary: an analysis or a cost that is filled in
// later is no reason to fetch the transcript again.
func (c *Call) renewedBy(now *Call) bool {
	if c.TranscriptState() == Withheld || c.movedTo(now) {
		return true
	}
	vain := c.withoutTurns()
	if !vain && c.TranscriptState() != Present {
		return false
	}
	differs := func(t *schema.Table, a, b schema.Row) bool {
		for i := range t.Columns {
			col := &t.Columns[i]
			counts := col.V3 != "" || col.V2 != ""
			switch {
			case t != &schema.Calls:
			case vain:
				counts = counts || i == colExtra
			default:
				counts = counts && !a[i].IsNull() && !col.Link && !slices.Contains(costColumns, i)
			}
			if counts && !parquet.Equal(col.Content(a[i]), col.Content(b[i])) && !(col.Type == schema.JSON && sameJSON(a[i], b[i])) {
				return true
			}
		}
		return false
	}
	if differs(&schema.Calls, c.Row, now.Row) {
		return true
	}
	a, b := c.Items(), now.Items()
	if a.Len() != b.Len() && (vain || a.Len() > 0) {
		return true
	}
	for i := range min(a.Len(), b.Len()) {
		if differs(&schema.Items, a.At(i), b.At(i)) {
			return true
		}
	}
	return false
}

// movedTo reports whether now has another status, start or end.
func (c *Call) movedTo(now *Call) bool {
	return !equal(c.Status(), now.Status()) || c.StartAt() != now.StartAt() || c.EndAt() != now.EndAt()
}

// sameJSON reports whether two JSON texts have the same value: a list and a record may spell it
// differently.
func sameJSON(a, b parquet.Value) bool {
	var x, y any
	return json.Unmarshal(a.ByteArray(), &x) == nil && json.Unmarshal(b.ByteArray(), &y) == nil && reflect.DeepEqual(x, y)
}

// equal is bytes.Equal, but distinguishes null from empty.
func equal(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }
