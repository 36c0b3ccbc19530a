package schema

// Kind is the kind of a journalled record.
type Kind uint8

const (
	// KindItem is an item of a list page: everything but the transcript.
	KindItem Kind = iota + 1
	// KindDetail is a call's own record, transcript included.
	KindDetail
	// KindMissing means that the call is listed, but the request for its detail returned 404. No
	// body.
	KindMissing
	// KindCovered means that every call whose start_at is in a span has been listed. The body is a
	// JSON object of the type [Span].
	KindCovered
	// KindListed means that the list of a resource, or of the parent whose key is CallID, was read
	// to its end. The body is a JSON object of the type [Listed].
	KindListed
	// KindBulk is a call from a page of v2. Only its transcript is used; everything else stays as
	// in v3. For a resource, it is an object from v2 in the shape of v3.
	KindBulk
	// KindBulkState is the state of the pages of v2. The body is a JSON object of the type [Bulk].
	KindBulkState
	// KindSkipped means that the call's own record is not requested because no call of its kind
	// ever had a transcript. No body.
	KindSkipped
	// KindUnreadable means that the call's own record is too large, or no valid JSON. No body.
	KindUnreadable
	// KindRecording is the state of a call's recording. The body is a JSON object of the type
	// [Recording].
	KindRecording
)

// OfCall reports whether the body of a call's record is the call's JSON.
func (k Kind) OfCall() bool { return k == KindItem || k == KindDetail || k == KindBulk }

// Describes reports whether a record may be the first one of a call.
func (k Kind) Describes() bool { return k == KindItem || k == KindDetail }

// Bodiless reports whether records of this kind have no body.
func (k Kind) Bodiless() bool { return k == KindMissing || k == KindSkipped || k == KindUnreadable }

// Record is one fact fetched from the API on its way to the warehouse.
type Record struct {
	// Resource is the name of the record's resource, whose object has the key CallID. It is empty
	// for records of calls.
	Resource  string
	Kind      Kind
	CallID    string // opaque, spelled as by the service; empty for records of no call: KindCovered, KindBulkState
	FetchedAt int64  // when the response arrived, ms UTC
	Body      []byte // the JSON of the call or object
	// Imported means that the record is from a file: FetchedAt is the latest time at which the call
	// was as in the record.
	Imported bool
	// Started means that the record, of KindItem or KindDetail, has a start_at, which is Start.
	Started bool
	Start   Opt[int64]
}

// Listed describes a complete list, and when it began, in ms since 1970 UTC. Objects missing from
// it no longer exist.
type Listed struct {
	Begun int64 `json:"begun"`
	Items int64 `json:"items"`
	// InParts lists were put in parts: some of their objects may be in earlier commits.
	InParts bool `json:"parted,omitempty"`
}

// Bulk is the state of the pages of v2 as a source of transcripts, its beginning in ms since 1970
// UTC, and the reason. The zero value means that they were never requested.
type Bulk struct {
	State BulkState `json:"state"`
	At    int64     `json:"at"`
	Why   string    `json:"why,omitempty"`
}

// BulkState is whether the pages of v2 can be trusted.
type BulkState string

const (
	// BulkTrusted: their transcripts were compared with those of v3 and are identical.
	BulkTrusted BulkState = "trusted"
	// BulkAbsent: the service has no such pages, or not in a known form.
	BulkAbsent BulkState = "absent"
	// BulkRefuted: a transcript differed from v3's. Transcripts from the pages are no longer
	// trusted.
	BulkRefuted BulkState = "refuted"
)

// Span is a half-open interval of start_at, [From, To), in ms since 1970 UTC, and when it was
// listed.
type Span struct {
	From     int64 `json:"from"`
	To       int64 `json:"to"`
	ListedAt int64 `json:"listed_at"`
}
