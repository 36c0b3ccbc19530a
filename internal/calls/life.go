// Package calls has the rules that are particular to calls: their life cycle ([Call.Settle]), how a
// later response changes a call ([Merge]), when its record is worth a request ([Call.DetailDue]),
// and what follows from its transcript ([Call.Complete]).
//
// It reads no clock, and uses neither the network nor the disk.
package calls

import (
	"slices"
	"strings"
	"time"

	"callhouse/internal/schema"
	"callhouse/internal/wire"
	"callhouse/internal/wire/scan"
)

// How long to wait for the service.
const (
	// ExpireAfter is how long after its end, or after it was first seen, a call is young: until then
	// no answer about its record is final, and an analysis or cost may come.
	ExpireAfter = 72 * time.Hour
	// SeenLate is the maximum time between a call's end and the first sight of it for which the
	// latter counts. Older calls expire at once.
	SeenLate = 30 * 24 * time.Hour
	// LongestCall is the maximum duration that is assumed for a call without a known end.
	LongestCall = 24 * time.Hour
	// TranscriptGrace is how long after the end of a call a null transcript counts as one to come.
	// Later it counts as none, although the record of a young call is requested again.
	TranscriptGrace = 2 * time.Hour
)

// The columns of two inner objects of a call's JSON.
var (
	analysisColumns = columnsIn("call_analysis.")
	costColumns     = columnsIn("call_cost.")
)

func columnsIn(object string) (columns []int) {
	for i := range schema.Calls.Columns {
		if strings.HasPrefix(schema.Calls.Columns[i].V3, object) {
			columns = append(columns, i)
		}
	}
	return columns
}

// Settle sets Settlement and TranscriptState from the call's other columns and the time now, in ms
// since 1970 UTC. It is idempotent. Its rules are:
//
// A call is over if it has an end_at, or a status that never changes again: ended, error, canceled,
// not_connected. With any other status, known or not, or none, a call without an end is open.
//
// A call never connected, so that there can be no conversation, if it is over, there is no trace of
// a conversation (turns, any part of an analysis, a recording unless the call's own record has no
// turns, or it was skipped), a record or a full list item of it was seen, and
//
//	status         disconnection_reason               and
//	not_connected  any
//	not ended      dial_no_answer, dial_failed,
//	               concurrency_limit_reached
//	not ended      insufficient_balance               it lasted no time at all
//	canceled       any                                it lasted no time at all
//	error          any                                it lasted no time at all
//
// A call lasted no time if its start or end is null, or its end is not after its start. In doubt a
// call counts as connected: that costs one request, while the opposite mistake costs a transcript.
//
//	settlement  the first line that holds
//	open        not over, and less than ExpireAfter since its end
//	expired     not over
//	settled     never connected
//	settled     call_cost is not null, and call_analysis is not null or the
//	            caller opted out
//	ended       less than ExpireAfter since its end
//	expired
//
// An end that is unknown, or later than that, counts as LongestCall after the start (without a
// start, after the call was first seen). If the call was first seen after its end, but at most
// SeenLate after it, that time replaces the end: nobody could have requested it before.
//
// transcript_state follows from what was fetched (Decode, [Merge]), with four exceptions. It is
// withheld if the caller opted out; empty, without a request, if a call never connected; pending
// again if such a call turns out to have connected; and missing if a call expired without an end,
// and its record, fetched later, has none either.
func (c *Call) Settle(now int64) {
	never := c.neverConnected()
	c.SetSettlement(c.settlement(now, never))
	switch {
	case c.OptedOut():
		c.SetTranscriptState(Withheld)
	case c.TranscriptState() == Withheld:
		c.SetTranscriptState(Pending)
	case never && c.TranscriptState() == Pending:
		c.SetTranscriptState(Empty)
	case !never && c.TranscriptState() == Empty && !c.TurnCount().OK:
		c.SetTranscriptState(Pending)
	case !c.Over() && c.Settlement() == Expired && c.TurnCount().OK && c.FetchedAt() >= c.FinalAt():
		c.stopWaiting(Missing)
	}
}

func (c *Call) settlement(now int64, never bool) Settlement {
	expire := c.ExpiresAt()
	switch {
	case !c.Over() && now < expire:
		return Open
	case !c.Over():
		return Expired
	case never, c.costed() && (c.OptedOut() || c.Analyzed()):
		return Settled
	case now < expire:
		return Ended
	}
	return Expired
}

// ExpiresAt returns when the call expires, in ms since 1970 UTC, if it is not settled and nothing
// new arrives.
func (c *Call) ExpiresAt() int64 {
	end := c.latestEnd()
	if seen := c.FirstSeenAt(); seen <= end+SeenLate.Milliseconds() {
		end = max(end, seen)
	}
	return end + ExpireAfter.Milliseconds()
}

// latestEnd returns when the call ended, or the latest possible time.
func (c *Call) latestEnd() int64 {
	start := c.FirstSeenAt()
	if c.StartAt().OK {
		start = c.StartAt().V
	}
	end := start + LongestCall.Milliseconds()
	if c.EndAt().OK {
		end = min(end, c.EndAt().V)
	}
	return end
}

// CarriesStart reports whether the response that the call was decoded from has a start, even a null
// one. Merging a response without one leaves a known call's start unchanged.
func (c *Call) CarriesStart() bool { return c.StartAt().OK || c.sent(colStartAt) }

// sent reports whether the response that the call was decoded from has one of the columns, even null.
func (c *Call) sent(columns ...int) bool {
	return slices.ContainsFunc(columns, func(col int) bool { return c.Sent>>col&1 != 0 })
}

// Over reports whether the call has ended.
func (c *Call) Over() bool { return c.EndAt().OK || finalStatus(c.Status()) }

func finalStatus(status []byte) bool {
	switch string(status) {
	case "ended", "error", "canceled", "not_connected":
		return true
	}
	return false
}

// CanHaveTranscript reports whether a transcript of the call may exist, now or later, and may be
// stored.
func (c *Call) CanHaveTranscript() bool { return !c.OptedOut() && !c.neverConnected() }

// DetailDue reports whether to fetch the call's detail for its transcript: the call is over, or the
// list does not have its state.
func (c *Call) DetailDue() bool {
	return c.TranscriptState() == Changed || c.TranscriptState() == Pending && (c.Over() || c.Status() == nil) && c.CanHaveTranscript()
}

// Waits is [Call.DetailDue] for a stored call, even if only its row of calls is available: Settle
// saw the whole call when it was written, and left it pending only if it may have connected. A call
// that expired without an end waits for its record once.
func (c *Call) Waits() bool {
	return c.TranscriptState() == Changed || c.TranscriptState() == Pending && (c.Over() || c.Status() == nil || c.Settlement() == Expired)
}

// Unsettled reports whether more data is expected: the call is open, or ended and not settled.
func (c *Call) Unsettled() bool { return c.Settlement() == Open || c.Settlement() == Ended }

// neverConnected reports whether no conversation can have taken place.
func (c *Call) neverConnected() bool {
	if !c.Over() || c.showsConversation() || c.listedOnly() {
		return false
	}
	instantly := !c.StartAt().OK || !c.EndAt().OK || c.EndAt().V <= c.StartAt().V
	switch string(c.Status()) {
	case "not_connected":
		return true
	case "ended":
		return false
	case "canceled", "error":
		if instantly {
			return true
		}
	}
	switch string(c.text(colReason)) {
	case "dial_no_answer", "dial_failed", "concurrency_limit_reached":
		return true
	case "insufficient_balance":
		return instantly
	}
	return false
}

// listedOnly reports whether the call is known only from a list item without analysis and cost, and
// perhaps little else: its own record has more. Of a stored call that is not known any more: those
// with more are settled or have one of the states that follow.
func (c *Call) listedOnly() bool {
	switch c.TranscriptState() {
	case Empty, Skipped:
		return false
	}
	return !c.TurnCount().OK && c.Settlement() != Settled && !c.sent(analysisColumns...) && !c.sent(costColumns...) &&
		wire.InExtra(&c.Object, "call_analysis").Shape == scan.IsAbsent && wire.InExtra(&c.Object, "call_cost").Shape == scan.IsAbsent
}

// showsConversation reports whether there is a trace of a conversation. Some services have a
// recording of every call. It is no trace if the call's own record has no turns, or if the records
// of the call's kind never have any.
func (c *Call) showsConversation() bool {
	recorded := !c.Row[colRecordingURL].IsNull() && !c.TurnCount().OK && c.TranscriptState() != Skipped
	return c.TurnCount().V > 0 || c.Turns().Len() > 0 || recorded || c.Analyzed()
}

// Analyzed reports whether call_analysis is not null: one of its columns is not null, or it is in
// extra, as an object of nulls or some other value.
func (c *Call) Analyzed() bool {
	return c.known(analysisColumns) || c.Items().Len() > 0 || wire.InExtra(&c.Object, "call_analysis").Shape > scan.IsNull
}

// known reports whether one of the columns has a value.
func (c *Call) known(columns []int) bool {
	return slices.ContainsFunc(columns, func(col int) bool { return !c.Row[col].IsNull() })
}

// costed reports whether call_cost has an amount, or a value that is no amount at all. An object of
// nulls is not a cost yet.
func (c *Call) costed() bool {
	cost := wire.InExtra(&c.Object, "call_cost")
	return c.known(costColumns) || cost.Shape > scan.IsNull && cost.Shape != scan.IsObject ||
		slices.ContainsFunc(costColumns, func(col int) bool { return c.unheld(schema.Calls.Columns[col].V3) })
}

// unheld reports whether extra has a value for a place in the JSON.
func (c *Call) unheld(place string) bool {
	return wire.InExtra(&c.Object, strings.Split(place, ".")...).Shape > scan.IsNull
}

// CostUnheld reports whether the service sent a cost that total_cost cannot hold. It is in extra.
func (c *Call) CostUnheld() bool {
	if !c.Row[colTotalCost].IsNull() {
		return false
	}
	cost := wire.InExtra(&c.Object, "call_cost")
	return cost.Shape > scan.IsNull && cost.Shape != scan.IsObject || c.unheld("call_cost.total_cost")
}

// decodedState is the transcript's state according to one response, at the time of its fetch, if
// known.
func decodedState(c *Call) TranscriptState {
	switch {
	case c.OptedOut():
		return Withheld
	case !c.TurnCount().OK || !c.Over():
		return Pending
	case c.TurnCount().V > 0:
		return Present
	case c.early():
		return Pending
	}
	return Empty
}

// early reports whether the call's own record may have been fetched before its transcript was
// there: the transcript is null or absent ([] would mean that nobody spoke); the analysis, which is
// made from the transcript, is missing as well; and the call ended less than TranscriptGrace
// before.
func (c *Call) early() bool {
	if c.TurnCount().V > 0 || c.FetchedAt() == 0 || c.Analyzed() || c.neverConnected() {
		return false
	}
	if c.unheld("transcript") || c.unheld("transcript_with_tool_calls") {
		return false
	}
	end := c.endKnown()
	return end.OK && c.FetchedAt() < end.V+TranscriptGrace.Milliseconds()
}

// EndOrFirstSeen returns when the call ended or started, or else when it was first seen, in ms since 1970
// UTC.
func (c *Call) EndOrFirstSeen() int64 {
	if end := c.endKnown(); end.OK {
		return end.V
	}
	return c.FirstSeenAt()
}

// endKnown returns when the call ended, or else when it started.
func (c *Call) endKnown() schema.Opt[int64] {
	if end := c.EndAt(); end.OK {
		return end
	}
	return c.StartAt()
}
