package schema

import (
	"strings"
	"time"
)

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
	// KindBulk is a call as a page of v2 has it. It tells the transcript; all else stays as v3
	// tells it. Of a resource, it is an object as v2 has it,
	// in the shape of v3.
	KindBulk
	// KindBulkState says what was found of the pages of v2. The body is a JSON object of
	// the type [Bulk].
	KindBulkState
	// KindSkipped says that the call's own record is not asked for, since none of its kind
	// ever had a transcript. No body.
	KindSkipped
	// KindRest says that an operation which a run can do without was given up, or that it works
	// again. The body is a JSON object of the type [Rest].
	KindRest
)

// OfCall says whether the body is the JSON of a call, where the record is of one.
func (k Kind) OfCall() bool { return k == KindItem || k == KindDetail || k == KindBulk }

// Bodiless says whether records of this kind say all by being there.
func (k Kind) Bodiless() bool { return k == KindMissing || k == KindSkipped }

// Record is one fact fetched from the API on its way to the warehouse.
type Record struct {
	// Resource is the name of what the record is of, and CallID then its key; empty: it
	// is of a call.
	Resource  string
	Kind      Kind
	CallID    string // as the service spells it, opaque; empty for what is of no call: KindCovered, KindBulkState, KindRest
	FetchedAt int64  // ms UTC: when the response arrived
	Body      []byte // the JSON of the call or object
}

// Listed says what a complete list held, and when it was begun, in ms since 1970 UTC:
// what it did not name since then is gone.
type Listed struct {
	Begun int64 `json:"begun"`
	Items int64 `json:"items"`
	Brief bool  `json:"brief,omitempty"` // it was v2's: what v3 told is there all the same
}

// Bulk is what is known of the pages of v2 as a source of transcripts, since when, in ms
// since 1970 UTC, and why. The zero value: they were never asked for.
type Bulk struct {
	State BulkState `json:"state"`
	At    int64     `json:"at"`
	Why   string    `json:"why,omitempty"`
}

// Nameless returns the state without the id of a call, which earlier versions kept in Why
// ("call ID: …").
func (b *Bulk) Nameless() *Bulk {
	if b == nil || !strings.HasPrefix(b.Why, "call ") {
		return b
	}
	clean := *b
	clean.Why = "a transcript differs"
	return &clean
}

// BulkState says how far the pages of v2 can be relied on.
type BulkState string

const (
	// BulkTrusted: their transcripts were compared with those of v3, and are the same.
	BulkTrusted BulkState = "trusted"
	// BulkAbsent: the service has no such pages, or not in a form that is understood.
	BulkAbsent BulkState = "absent"
	// BulkRefuted: a transcript was not what v3 has. Those that came from the pages are
	// not believed any more.
	BulkRefuted BulkState = "refuted"
)

// Rest says until when an operation that was given up is left alone. Instants are in ms since
// 1970 UTC.
type Rest struct {
	Of    string `json:"of"`
	At    int64  `json:"at"`    // when it was given up
	Until int64  `json:"until"` // runs that begin earlier do without it
	Times int    `json:"times"` // how often in a row; 0: it works again
	Why   string `json:"why,omitempty"`
}

// restDays are for how many days an operation is left alone that was given up once, twice, and so
// on in a row. The shortest keeps it out of the next night.
var restDays = [...]int{2, 4, 7, 14}

// Again returns the rest of an operation that is given up now, once more. slack is how much
// earlier than after whole days a run may come.
func (r Rest) Again(now int64, slack time.Duration, why string) Rest {
	days := restDays[min(r.Times, len(restDays)-1)]
	until := now + (time.Duration(days)*24*time.Hour - slack).Milliseconds()
	return Rest{Of: r.Of, At: now, Until: until, Times: r.Times + 1, Why: why}
}

// Span is a half-open interval of start_at, [From, To), in ms since 1970 UTC,
// and when it was listed.
type Span struct {
	From     int64 `json:"from"`
	To       int64 `json:"to"`
	ListedAt int64 `json:"listed_at"`
}
