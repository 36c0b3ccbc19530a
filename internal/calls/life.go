package calls

import (
	"slices"
	"time"

	"callhouse/internal/schema"
	"callhouse/internal/wire"
	"callhouse/internal/wire/scan"
)

// How long the service is waited for.
const (
	// ExpireAfter is how long after its end, or after it was first seen, a call whose
	// analysis or cost is still missing is given up.
	ExpireAfter = 72 * time.Hour
	// SeenLate is how long after its end a call may be first seen for that to count. One
	// that is older still is given up at once.
	SeenLate = 30 * 24 * time.Hour
	// LongestCall is how long after its start a call of which no end is known
	// is taken to be over at the latest.
	LongestCall = 24 * time.Hour
	// TranscriptGrace is how long after the end of a call a transcript that is
	// null may still be on its way.
	TranscriptGrace = 2 * time.Hour
)

// Fields of a call's JSON.
var (
	transcriptField = wire.FieldOf(schema.CallResource, "transcript")
	toolsField      = wire.FieldOf(schema.CallResource, "transcript_with_tool_calls")
	analysisField   = wire.FieldOf(schema.CallResource, "call_analysis")
	costField       = wire.FieldOf(schema.CallResource, "call_cost")
	totalCostField  = wire.FieldOf(schema.CallResource, "call_cost.total_cost")
	startFields     = [...]wire.Field{wire.FieldOf(schema.CallResource, "start_at"), wire.FieldOf(schema.CallResource, "start_timestamp")}
)

// Settle sets Settlement and TranscriptState from the call's other columns and
// the time now, in ms since 1970 UTC. It is idempotent, and these are its rules.
//
// A call is over when it has an end_at, or when its status is one that never
// changes again: ended, error, canceled, not_connected. Any other status, known
// or not, and none at all leave it open as long as it has no end.
//
// It never connected, so that there can be no conversation, if it is over,
// there is no trace of one (turns, any part of an analysis, a recording unless the call's
// own record has no turns, or it was skipped), a record or a full list item of it was seen,
// and
//
//	status         disconnection_reason               and
//	not_connected  any
//	not ended      dial_no_answer, dial_failed,
//	               concurrency_limit_reached
//	not ended      insufficient_balance               it lasted no time at all
//	canceled       any                                it lasted no time at all
//	error          any                                it lasted no time at all
//
// where lasting no time means that start or end is null or the end not after
// the start. In doubt a call has connected: that costs one request, and the
// other mistake a transcript.
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
// where an end that is unknown, or that lies beyond it, is LongestCall after the start
// (without one, after the call was first seen). If the call was first seen after its end,
// but at most SeenLate after it, that time counts in place of the end: nobody could
// have asked for it before.
//
// transcript_state follows from what was fetched (Decode, [Merge]), and from
// this: withheld where the caller opted out; empty, without a request, where a
// call never connected; and pending again where such a call turns out to have
// connected after all.
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
	}
}

func (c *Call) settlement(now int64, never bool) Settlement {
	expire := c.ExpiresAt()
	switch {
	case !c.Over() && now < expire:
		return Open
	case !c.Over():
		return Expired
	case never, c.costed() && (c.OptedOut() || c.analyzed()):
		return Settled
	case now < expire:
		return Ended
	}
	return Expired
}

// ExpiresAt returns when the call expires, in ms since 1970 UTC, if nothing more
// is told of it and it is not settled.
func (c *Call) ExpiresAt() int64 {
	end := c.latestEnd()
	if seen := c.FirstSeenAt(); seen <= end+SeenLate.Milliseconds() {
		end = max(end, seen)
	}
	return end + ExpireAfter.Milliseconds()
}

// latestEnd returns the time at which the call was over, or at the latest.
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

// CarriesStart says whether the response that the call was decoded from has a start, be it
// null. Merged into a known call, one that has none leaves the start as it is.
func (c *Call) CarriesStart() bool {
	if c.StartAt().OK || c.Extra() == nil {
		return true
	}
	extra := wire.ReadExtra(&c.Object)
	return !slices.ContainsFunc(startFields[:], extra.Absent)
}

// Over says whether the call has ended.
func (c *Call) Over() bool { return c.EndAt().OK || finalStatus(c.Status()) }

func finalStatus(status []byte) bool {
	switch string(status) {
	case "ended", "error", "canceled", "not_connected":
		return true
	}
	return false
}

// CanHaveTranscript says whether a transcript of the call may exist, now or
// later, and may be stored.
func (c *Call) CanHaveTranscript() bool { return !c.OptedOut() && !c.neverConnected() }

// DetailDue says whether the call's detail is to be fetched for its transcript:
// the call is over, or the list does not tell where it stands.
func (c *Call) DetailDue() bool {
	return c.TranscriptState() == Pending && (c.Over() || c.Status() == nil) && c.CanHaveTranscript()
}

// Waits is [Call.DetailDue] for a call as it is stored, of which the row of calls alone may be
// at hand: when it was written, Settle saw all of it, and left it pending only where it may
// have connected.
func (c *Call) Waits() bool { return c.TranscriptState() == Pending && (c.Over() || c.Status() == nil) }

// Unsettled says whether something is still to come: the call is open, or ended
// and not settled.
func (c *Call) Unsettled() bool { return c.Settlement() == Open || c.Settlement() == Ended }

// neverConnected says whether no conversation can have taken place.
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

// listedOnly says that all that is known of the call is a list item which tells
// neither analysis nor cost, and perhaps little else: its own record has more.
func (c *Call) listedOnly() bool {
	if c.Extra() == nil || c.TurnCount().OK {
		return false
	}
	extra := wire.ReadExtra(&c.Object)
	return extra.Absent(analysisField) && extra.Absent(costField)
}

// showsConversation says whether there is a trace of a conversation. Some services have a
// recording of every call: it is none where the call's own record has no turns, or where
// those of its kind never have any.
func (c *Call) showsConversation() bool {
	recorded := !c.Row[colRecordingURL].IsNull() && !c.TurnCount().OK && c.TranscriptState() != Skipped
	return c.TurnCount().V > 0 || c.Turns().Len() > 0 || recorded || c.analyzed()
}

// analyzed says whether call_analysis is not null: a part of it is, or extra
// says that it is an object of nulls or some other value.
func (c *Call) analyzed() bool {
	return !wire.IsEmpty(&c.Object, analysisField) || wire.ReadExtra(&c.Object).Value(analysisField).Shape > scan.IsNull
}

// costed says whether call_cost has an amount, or a value that is no amount at
// all. An object of nulls is no cost yet.
func (c *Call) costed() bool {
	if !wire.IsEmpty(&c.Object, costField) {
		return true
	}
	extra := wire.ReadExtra(&c.Object)
	if cost := extra.Value(costField); cost.Shape != scan.IsObject {
		return cost.Shape > scan.IsNull
	}
	return extra.Inside(costField).Told()
}

// InCredits says whether what the call cost is known in credits alone.
func (c *Call) InCredits() bool {
	return c.Row[colTotalCost].IsNull() && !c.Row[colCreditsUsed].IsNull()
}

// CostUnheld says that the service sent a cost that total_cost cannot hold: it
// stands in extra.
func (c *Call) CostUnheld() bool {
	if !c.Row[colTotalCost].IsNull() {
		return false
	}
	extra := wire.ReadExtra(&c.Object)
	cost := extra.Value(costField)
	if cost.Shape == scan.IsObject {
		cost = extra.Inside(costField).Value(totalCostField)
	}
	return cost.Shape > scan.IsNull && cost.Marks&scan.Lone == 0
}

// decodedState is the transcript's state as far as one response tells, at the
// time at which it was fetched, where that is known.
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

// early says that the call's own record may have been fetched before its
// transcript was there: it has null for it, or nothing, where [] would say that
// nobody spoke; the analysis, which is made of the transcript, is not there
// either; and the call ended less than TranscriptGrace before.
func (c *Call) early() bool {
	if c.TurnCount().V > 0 || c.FetchedAt() == 0 || c.analyzed() || c.neverConnected() {
		return false
	}
	if c.Extra() != nil {
		if extra := wire.ReadExtra(&c.Object); extra.Empty(transcriptField) || extra.Empty(toolsField) {
			return false
		}
	}
	end := c.endKnown()
	return end.OK && c.FetchedAt() < end.V+TranscriptGrace.Milliseconds()
}

// endKnown returns when the call ended, or else when it started.
func (c *Call) endKnown() schema.Opt[int64] {
	if end := c.EndAt(); end.OK {
		return end
	}
	return c.StartAt()
}
