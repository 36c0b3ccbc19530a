package calls

import (
	"bytes"
	"fmt"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/schema"
	"callhouse/internal/wire"
)

// Call is one call as rows: the row of calls, its rows of transcript_turns and analysis_items, and
// that of recordings, if it has one.
type Call struct{ schema.Object }

// Positions of the columns that a call's life cycle uses.
var (
	colCallType                     = schema.Calls.Column("call_type")
	colCallID, colStatus, colReason = schema.Calls.Column("call_id"), schema.Calls.Column("status"),
		schema.Calls.Column("disconnection_reason")
	colStartAt, colEndAt         = schema.Calls.Column("start_at"), schema.Calls.Column("end_at")
	colDuration                  = schema.Calls.Column("duration_ms")
	colTotalCost                 = schema.Calls.Column("total_cost")
	colRecordingURL, colOptOut   = schema.Calls.Column("recording_url"), schema.Calls.Column("opt_out_sensitive_data_storage")
	colTurnCount, colUserTurns   = schema.Calls.Column("turn_count"), schema.Calls.Column("user_turns")
	colTranscriptState           = schema.Calls.Column("transcript_state")
	colSettlement, colSource     = schema.Calls.Column("settlement"), schema.Calls.Column("source")
	colExtra, colRunID           = schema.Calls.Column("extra"), schema.Calls.Column("run_id")
	colFirstSeenAt, colFetchedAt = schema.Calls.Column("first_seen_at"), schema.Calls.Column("fetched_at")
	colTranscriptSource          = schema.Calls.Column("transcript_source")
	colDirection, colOwnNumber   = schema.Calls.Column("direction"), schema.Calls.Column("own_number")
	colFromE164, colToE164       = schema.Calls.Column("from_e164"), schema.Calls.Column("to_e164")
	colEvaluation                = schema.Calls.Column("evaluation")
	colCreditsUsed, colBilled    = schema.Calls.Column("credits_used"), schema.Calls.Column("billed_seconds")
	colTurnRole, colTurnContent  = schema.Turns.Column("role"), schema.Turns.Column("content")
)

// Positions in CallResource.Lists.
const (
	turnList = iota
	itemList
	recordingList
)

// NewCall returns a call with only its id known.
func NewCall(id string) *Call {
	c := new(Call)
	c.forget()
	c.Row[colCallID] = schema.TextValue([]byte(id))
	return c
}

// forget makes the call one with nothing known.
func (c *Call) forget() {
	c.Begin(schema.CallResource)
	c.SetSource(schema.V3)
	c.begin()
}

// begin sets our own columns to their values for an unknown call.
func (c *Call) begin() {
	c.SetTranscriptState(Pending)
	c.SetSettlement(Open)
	c.Fetched(0, 0, nil)
}

// Read fills the call from a file's row. It has no turns and items yet. Texts alias the row's
// values: Clone those that must outlive the reader's buffers.
func (c *Call) Read(row schema.Row) error {
	c.forget()
	schema.SetRow(c.Row, row)
	for _, of := range [...]struct {
		col   int
		words schema.Words
	}{{colTranscriptState, transcriptWords}, {colSettlement, settlementWords}, {colSource, schema.SourceWords}} {
		v := c.Row[of.col]
		if _, ok := of.words.Find(v.ByteArray()); !ok && !v.IsNull() {
			return fmt.Errorf("read %s: %s has no such word: %q", schema.Calls.Name, schema.Calls.Columns[of.col].Name, v.ByteArray())
		}
	}
	return nil
}

// text returns the text in a column; nil is null.
func (c *Call) text(col int) []byte { return schema.TextOf(c.Row[col]) }

// ID returns the call's id, as the service spells it.
func (c *Call) ID() []byte { return c.text(colCallID) }

// Status returns the word of the column status; nil is null.
func (c *Call) Status() []byte { return c.text(colStatus) }

// Text returns the text in a column of calls; nil is null.
func (c *Call) Text(column string) []byte { return c.text(schema.Calls.Column(column)) }

// StartAt returns when the call started, in ms since 1970 UTC.
func (c *Call) StartAt() schema.Opt[int64] { return schema.MillisOf(c.Row[colStartAt]) }

// SetStartAt sets when the call started, and how long it was by that.
func (c *Call) SetStartAt(at schema.Opt[int64]) {
	c.Row[colStartAt], c.Row[colDuration] = schema.MillisValue(at), parquet.Value{}
	if end := c.EndAt(); at.OK && end.OK && end.V >= at.V {
		c.Row[colDuration] = parquet.Int64Value(end.V - at.V)
	}
}

// EndAt returns when the call ended, in ms since 1970 UTC.
func (c *Call) EndAt() schema.Opt[int64] { return schema.MillisOf(c.Row[colEndAt]) }

// OptedOut reports whether the caller opted out of storage.
func (c *Call) OptedOut() bool { return c.Row[colOptOut].Boolean() }

// Turns returns the rows of transcript_turns.
func (c *Call) Turns() *schema.Rows { return &c.Lists[turnList] }

// Items returns the rows of analysis_items.
func (c *Call) Items() *schema.Rows { return &c.Lists[itemList] }

// Recordings returns the row of recordings, or none.
func (c *Call) Recordings() *schema.Rows { return &c.Lists[recordingList] }

// TurnCount returns the number of turns; null if no record of the call was ever decoded.
func (c *Call) TurnCount() schema.Opt[int32] {
	if v := c.Row[colTurnCount]; !v.IsNull() {
		return schema.Some(v.Int32())
	}
	return schema.Opt[int32]{}
}

// TranscriptState returns the state of the transcript.
func (c *Call) TranscriptState() TranscriptState {
	return TranscriptState(transcriptWords.Of(c.Row[colTranscriptState]))
}

// SetTranscriptState sets the state of the transcript.
func (c *Call) SetTranscriptState(s TranscriptState) { c.Row[colTranscriptState] = transcriptValues[s] }

// Settlement returns the call's place in its life cycle.
func (c *Call) Settlement() Settlement {
	return Settlement(settlementWords.Of(c.Row[colSettlement]))
}

// SetSettlement sets the call's place in its life cycle.
func (c *Call) SetSettlement(s Settlement) { c.Row[colSettlement] = settlementValues[s] }

// Began returns when the call started or, without a start, when it was first seen, in ms since 1970
// UTC: the call belongs to the period of this day, and is as old.
func (c *Call) Began() int64 {
	if at := c.StartAt(); at.OK {
		return at.V
	}
	return c.FirstSeenAt()
}

// FirstSeenAt returns when the call was first listed, in ms since 1970 UTC.
func (c *Call) FirstSeenAt() int64 { return schema.MillisOf(c.Row[colFirstSeenAt]).V }

// FetchedAt returns when the row's content was fetched, in ms since 1970 UTC.
func (c *Call) FetchedAt() int64 { return schema.MillisOf(c.Row[colFetchedAt]).V }

// RunID returns the run that fetched it.
func (c *Call) RunID() []byte { return c.text(colRunID) }

// Fetched sets when the call was first listed, when its row's content was fetched, and by which
// run.
func (c *Call) Fetched(firstSeen, fetched int64, run []byte) {
	c.Row[colFirstSeenAt], c.Row[colFetchedAt], c.Row[colRunID] = schema.InstantValue(firstSeen), schema.InstantValue(fetched),
		schema.TextValue(schema.NotNil(run))
}

// Clone returns a copy that shares no memory with c, nor with the body, decoder or file that c
// refers to.
func (c *Call) Clone() *Call {
	out := *c
	out.Own()
	return &out
}

// Copy returns a copy of the rows that shares their texts.
func (c *Call) Copy() *Call {
	out := new(Call)
	out.Set(&c.Object)
	return out
}

// Transcript returns a copy with only the transcript.
func (c *Call) Transcript() *Call {
	out := NewCall("")
	out.Row[colTurnCount] = c.Row[colTurnCount]
	out.Turns().Set(c.Turns())
	return out
}

// WithoutTranscript returns a copy as if no transcript had been sent.
func (c *Call) WithoutTranscript() *Call {
	out := c.Copy()
	out.Row[colTurnCount] = parquet.Value{}
	out.Turns().Cut(0)
	wire.DropExtra(&out.Object, "transcript", "transcript_with_tool_calls")
	return out
}

// AppendJSON appends the JSON object of the call's rows: see [wire.AppendJSON].
func (c *Call) AppendJSON(dst []byte) []byte { return wire.AppendJSON(dst, &c.Object) }

// Same reports whether two states of a call are the same for readers of the warehouse: in
// everything from the service, and in the life cycle. It ignores when and by which run the call was
// fetched, when it was first seen, and the query of recording_url: signed links expire and change
// although the call does not.
func Same(a, b *Call) bool { return schema.SameObject(&a.Object, &b.Object) }

// HasWithheld reports whether the call's row has data that must be removed after an opt-out.
func (c *Call) HasWithheld() bool {
	for i := range schema.Calls.Columns {
		if schema.Calls.Columns[i].Withheld && !c.Row[i].IsNull() {
			return true
		}
	}
	return false
}

// ByUser reports whether the caller speaks in a turn: its role is user, and its content is not
// blank.
func ByUser(turn schema.Row) bool {
	return string(schema.TextOf(turn[colTurnRole])) == "user" && len(bytes.TrimSpace(schema.TextOf(turn[colTurnContent]))) > 0
}
