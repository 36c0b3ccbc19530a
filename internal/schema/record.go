package schema

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
