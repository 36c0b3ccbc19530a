package schema

import (
	"bytes"
	"math"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/schema/decimal"
)

// Opt is a value that may be null.
type Opt[T any] struct {
	V  T
	OK bool // false: null
}

// Some returns a value that is not null.
func Some[T any](v T) Opt[T] { return Opt[T]{V: v, OK: true} }

// Source says which version of the API a call's JSON came from.
type Source uint8

const (
	// V3 has id, agent{}, start_at …
	V3 Source = iota
	// V2 has call_id, agent_id, start_timestamp …
	V2
)

// TranscriptState says what is known of a call's transcript.
type TranscriptState uint8

const (
	// Pending means that it may have one, which has not been fetched since the
	// call was over (or since the list last showed a change that it does not carry).
	Pending TranscriptState = iota
	// Present means that it was fetched, and its turns are in transcript_turns.
	Present
	// Empty means that there is none: it was fetched and is null or [], or it
	// was never due, since the call did not connect.
	Empty
	// Withheld means that the caller opted out of storage; it is never written.
	Withheld
	// Missing means that the list names the call, but its detail answers 404.
	Missing
)

// Settlement says where a call stands in its life: see [Call.Settle].
type Settlement uint8

const (
	// Open means not over yet.
	Open Settlement = iota
	// Ended means over, with something that the service fills in later still null.
	Ended
	// Settled means that analysis and cost are there, or were never due.
	Settled
	// Expired means over for [ExpireAfter], and still not filled in.
	Expired
)

// CallResource is what a call's JSON becomes.
var CallResource = func() *Resource {
	r := resource(&Calls, &Turns, &Items)
	turns := r.element(&slot{column: &Column{list: &Turns}})
	spoken := turns.named("role", "content", "start_at", "end_at")
	invocation := turns.named("role", "tool_call_id", "name", "arguments")
	result := turns.named("role", "tool_call_id", "content")
	turns.by = func(turn Row) fieldSet {
		switch string(textOf(turn[colTurnRole])) {
		case "agent", "user":
			return spoken
		case "tool_call_invocation":
			return invocation
		case "tool_call_result":
			return result
		}
		return 0
	}
	return r
}()

// Call is one call as rows: the row of calls, and its rows of transcript_turns
// and analysis_items.
type Call struct{ Object }

// Positions of the columns that a call's life and its tallies go by.
var (
	colAgentID, colAgentVersion     = Calls.Column("agent_id"), Calls.Column("agent_version")
	colCallType, colVariantLabel    = Calls.Column("call_type"), Calls.Column("variant_label")
	colUserSentiment                = Calls.Column("user_sentiment")
	colCallID, colStatus, colReason = Calls.Column("call_id"), Calls.Column("status"), Calls.Column("disconnection_reason")
	colStartAt, colEndAt            = Calls.Column("start_at"), Calls.Column("end_at")
	colDurationMS, colTotalCost     = Calls.Column("duration_ms"), Calls.Column("total_cost")
	colRecordingURL, colOptOut      = Calls.Column("recording_url"), Calls.Column("opt_out_sensitive_data_storage")
	colTurnCount, colUserTurns      = Calls.Column("turn_count"), Calls.Column("user_turns")
	colTranscriptState              = Calls.Column("transcript_state")
	colSettlement, colSource        = Calls.Column("settlement"), Calls.Column("source")
	colExtra, colRunID              = Calls.Column("extra"), Calls.Column("run_id")
	colFirstSeenAt, colFetchedAt    = Calls.Column("first_seen_at"), Calls.Column("fetched_at")
	colTurnRole, colTurnContent     = Turns.Column("role"), Turns.Column("content")
)

// Positions in CallResource.Lists.
const (
	turnList = iota
	itemList
)

// NewCall returns a call of which nothing but its id is known.
func NewCall(id string) *Call {
	c := new(Call)
	c.begin(CallResource)
	c.blank()
	c.Row[colCallID] = textValue([]byte(id))
	return c
}

// blank sets the columns that are ours to what stands for nothing known.
func (c *Call) blank() {
	c.SetTranscriptState(Pending)
	c.SetSettlement(Open)
	c.setSource(V3)
	c.Fetched(0, 0, nil)
}

// ID returns the call's id, as the service spells it.
func (c *Call) ID() []byte { return c.text(colCallID) }

// Status returns the word of the column status; nil is null.
func (c *Call) Status() []byte { return c.text(colStatus) }

// Text returns the text in a column of calls; nil is null.
func (c *Call) Text(column string) []byte { return c.text(Calls.Column(column)) }

// StartAt returns when the call started, in ms since 1970 UTC.
func (c *Call) StartAt() Opt[int64] { return c.millis(colStartAt) }

// EndAt returns when the call ended, in ms since 1970 UTC.
func (c *Call) EndAt() Opt[int64] { return c.millis(colEndAt) }

// DurationMS returns how long the call was: end - start where the service sends
// nothing else.
func (c *Call) DurationMS() Opt[int64] { return c.long(colDurationMS) }

// TotalCost returns the cost in the account's currency.
func (c *Call) TotalCost() Opt[decimal.Number] { return c.exact(colTotalCost) }

// OptedOut says whether the caller opted out of storage.
func (c *Call) OptedOut() bool { return c.Row[colOptOut].Boolean() }

// Turns returns the rows of transcript_turns.
func (c *Call) Turns() *Rows { return &c.Lists[turnList] }

// Items returns the rows of analysis_items.
func (c *Call) Items() *Rows { return &c.Lists[itemList] }

// TurnCount returns how many turns there are; null: no record of the call was ever
// decoded.
func (c *Call) TurnCount() Opt[int32] {
	if v := c.Row[colTurnCount]; !v.IsNull() {
		return Some(v.Int32())
	}
	return Opt[int32]{}
}

// setTurnCount counts the call's turns.
func (c *Call) setTurnCount() {
	c.Row[colTurnCount] = parquet.Int32Value(int32(min(c.Turns().Len(), math.MaxInt32)))
}

// TranscriptState returns what is known of the transcript.
func (c *Call) TranscriptState() TranscriptState {
	return wordIn[TranscriptState](transcriptWords[:], c.Row[colTranscriptState])
}

// SetTranscriptState sets what is known of the transcript.
func (c *Call) SetTranscriptState(s TranscriptState) { c.Row[colTranscriptState] = transcriptValues[s] }

// Settlement returns where the call stands in its life.
func (c *Call) Settlement() Settlement {
	return wordIn[Settlement](settlementWords[:], c.Row[colSettlement])
}

// SetSettlement sets where the call stands in its life.
func (c *Call) SetSettlement(s Settlement) { c.Row[colSettlement] = settlementValues[s] }

// Source returns which version of the API the call's JSON came from.
func (c *Call) Source() Source { return c.Object.source() }

// Extra returns the JSON object of what no other column holds, or nil: see extra.go.
func (c *Call) Extra() []byte { return c.text(colExtra) }

// FirstSeenAt returns when the call was first listed, in ms since 1970 UTC.
func (c *Call) FirstSeenAt() int64 { return c.millis(colFirstSeenAt).V }

// FetchedAt returns when what the row says was fetched, in ms since 1970 UTC.
func (c *Call) FetchedAt() int64 { return c.millis(colFetchedAt).V }

// RunID returns the run that fetched it.
func (c *Call) RunID() []byte { return c.text(colRunID) }

// Fetched sets when the call was first listed, when what its row says was fetched,
// and by which run.
func (c *Call) Fetched(firstSeen, fetched int64, run []byte) {
	c.Row[colFirstSeenAt], c.Row[colFetchedAt], c.Row[colRunID] = instantValue(firstSeen), instantValue(fetched), textValue(notNil(run))
}

// Clone returns a copy that shares no memory with c, nor with the body, decoder or
// file that c points at.
func (c *Call) Clone() *Call {
	out := *c
	out.own()
	return &out
}

// Copy returns a copy of the rows, which point at the same texts.
func (c *Call) Copy() *Call {
	out := new(Call)
	out.Set(&c.Object)
	return out
}

// Stub returns a call of which nothing is known but its id and its start.
func (c *Call) Stub() *Call {
	out := NewCall(string(c.ID()))
	out.Row[colStartAt] = c.Row[colStartAt]
	return out
}

// Transcript returns a call of which nothing is known but its transcript.
func (c *Call) Transcript() *Call {
	out := NewCall("")
	out.Row[colTurnCount] = c.Row[colTurnCount]
	out.Turns().set(c.Turns())
	return out
}

// Same says whether two states of a call are the same to whoever reads the
// warehouse: in all that the service says, and in the call's life. Not looked
// at are when and by which run it was fetched, when it was first seen, and the
// query of recording_url: signed links expire and change without their call.
func Same(a, b *Call) bool { return sameObject(&a.Object, &b.Object) }

// Complete sets user_turns, which follows from the turns: the number of those in
// which the caller says something, null where turn_count is.
func (c *Call) Complete() {
	c.Row[colUserTurns] = parquet.Value{}
	if !c.TurnCount().OK {
		return
	}
	n := int32(0)
	for i := range c.Turns().Len() {
		if ByUser(c.Turns().At(i)) {
			n++
		}
	}
	c.Row[colUserTurns] = parquet.Int32Value(n)
}

// UserTurns returns the number of turns in which the caller says something, as
// Complete has counted it.
func (c *Call) UserTurns() Opt[int32] {
	if v := c.Row[colUserTurns]; !v.IsNull() {
		return Some(v.Int32())
	}
	return Opt[int32]{}
}

// Keeps says whether the call's row holds what must not outlive an opt-out.
func (c *Call) Keeps() bool {
	for i := range Calls.Columns {
		if Calls.Columns[i].Withheld && !c.Row[i].IsNull() {
			return true
		}
	}
	return false
}

// ByUser says whether the caller says something in a turn: its role is user, and
// its content is not blank.
func ByUser(turn Row) bool {
	return string(textOf(turn[colTurnRole])) == "user" && len(bytes.TrimSpace(textOf(turn[colTurnContent]))) > 0
}

// UnknownWords names the columns of the call that hold a word which is not among
// those known for them.
func (c *Call) UnknownWords() (columns []string) {
	for i := range Calls.Columns {
		if col := &Calls.Columns[i]; col.Known != nil && !c.Row[i].IsNull() && !col.known(c.text(i)) {
			columns = append(columns, col.Name)
		}
	}
	return columns
}

// Kind says what a journalled record is.
type Kind uint8

const (
	// KindItem is an item of a list page: everything but the transcript.
	KindItem Kind = iota + 1
	// KindDetail is a call's own record, transcript included.
	KindDetail
	// KindMissing says that the call is listed, but its detail answers 404. No body.
	KindMissing
	// KindCovered says that every call whose start_at lies in a span has been listed.
	// The body is a JSON object of the type [Span].
	KindCovered
	// KindListed says that a resource was listed to its end, or that of one parent, whose
	// key is CallID. The body is a JSON object of the type [Listed].
	KindListed
)

// Record is one fact fetched from the API on its way to the warehouse.
type Record struct {
	// Resource is the name of what the record is of, and CallID then its key; empty: it
	// is of a call.
	Resource  string
	Kind      Kind
	CallID    string // as the service spells it, opaque; empty for KindCovered
	FetchedAt int64  // ms UTC: when the response arrived
	Body      []byte // the JSON of the call or object
}

// Listed says what a complete list held, and when it was begun, in ms since 1970 UTC:
// what it did not name since then is gone.
type Listed struct {
	Begun int64 `json:"begun"`
	Items int64 `json:"items"`
}

// Span is a half-open interval of start_at, [From, To), in ms since 1970 UTC,
// and when it was listed.
type Span struct {
	From     int64 `json:"from"`
	To       int64 `json:"to"`
	ListedAt int64 `json:"listed_at"`
}

// DueScope says which calls' details a run is to fetch.
type DueScope uint8

const (
	// DueTranscripts are the calls that are over and may have a transcript which
	// was not fetched yet: see [Call.DetailDue].
	DueTranscripts DueScope = iota
	// DueUnsettled are these, and the calls which are not settled and of which
	// this run has fetched nothing: for a service whose list does not tell what is
	// filled in later.
	DueUnsettled
)

// Due is a call whose detail is to be fetched.
type Due struct {
	CallID  string
	StartAt Opt[int64]
}
