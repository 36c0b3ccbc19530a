package schema

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

// Call is one call as rows: the row of calls, and its rows of transcript_turns
// and analysis_items. Byte slices are nil for null and may alias the body that
// they were decoded from. Timestamps are milliseconds since 1970 UTC.
type Call struct {
	ID                  []byte
	AgentID             []byte
	AgentVersion        []byte
	CallType            []byte
	Status              []byte
	DisconnectionReason []byte
	FromNumber          []byte
	ToNumber            []byte
	PresentationNumber  []byte
	StartAt             Opt[int64]
	EndAt               Opt[int64]
	DurationMS          Opt[int64]   // end - start where the service sends none
	TotalCost           Opt[Decimal] // in the account's currency
	CreditsUsed         Opt[Decimal]
	BilledSeconds       Opt[Decimal]
	Summary             []byte
	UserSentiment       []byte
	Evaluation          []byte // JSON
	Metadata            []byte // JSON
	DynamicVariables    []byte // JSON
	VariantLabel        []byte
	RecordingURL        []byte
	OptOut              Opt[bool]
	TurnCount           Opt[int32] // null: no detail of it was ever decoded
	TranscriptState     TranscriptState
	Settlement          Settlement
	Source              Source
	Extra               []byte // JSON object or nil: see extra.go
	FirstSeenAt         int64
	FetchedAt           int64
	RunID               []byte

	Turns []Turn
	Items []Item

	Lacks *Lacking // what the file had no columns for that it was read from
}

// Turn is one item of a call's transcript.
type Turn struct {
	Role       []byte
	Content    []byte
	StartAt    Opt[int64]
	EndAt      Opt[int64]
	ToolCallID []byte
	ToolName   []byte
	Arguments  []byte // JSON
	Extra      []byte // JSON
}

// Item is one item of a call's custom_analysis_data.
type Item struct {
	Name  []byte
	Type  []byte
	Value []byte // JSON
	Extra []byte // JSON
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
)

// Record is one fact fetched from the API on its way to the warehouse.
type Record struct {
	Kind      Kind
	CallID    string // as the service spells it, opaque; empty for KindCovered
	FetchedAt int64  // ms UTC: when the response arrived
	Body      []byte // the call's JSON
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
