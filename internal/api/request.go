package api

import (
	"net/url"
	"strings"
	"time"
)

// Kind is the kind of a request. Requests are counted by kind, and the table of failures treats
// lists and records differently.
type Kind uint8

// The kinds of requests.
const (
	Page   Kind = iota // a page of a list
	Record             // the record of one object
	Side               // an optional page of a list other than the calls
	Bulk               // a page of whole calls, which can also be fetched one by one
)

func (k Kind) String() string {
	return [...]string{"page", "detail", "page of another list", "page of whole calls"}[k]
}

// deferrable reports whether nothing waits for the answer: other requests proceed meanwhile, and it may
// be left to another night.
func (k Kind) deferrable() bool { return k == Record || k == Side || k == Bulk }

// Priority is the priority of a request; lower values are sent first.
type Priority uint8

// The priorities of a run's requests.
const (
	Newest    Priority = iota // the newest part of the list, and probes
	Recent                    // transcripts of new calls, pages of whole calls
	Older                     // older parts of the list
	Resources                 // other resources
	Backlog                   // records of older calls
	Spare                     // work that only uses up the rest of the budget
)

// Request is one request to the service.
type Request struct {
	Method string // empty: GET
	Path   string // below the base URL, escaped: see Segment
	Query  url.Values
	Body   []byte // JSON; nil: none
	Kind   Kind
	// Priority orders the requests that wait for the budget.
	Priority Priority
	Stream   *Stream // the stream of an optional request
	MaxBody  int     // the maximum size of an answer's body; 0: MaxBody
}

// MaxBody is the default maximum size of an answer's body.
const MaxBody = 8 << 20

// Segment escapes a text for a path. It always remains one segment.
func Segment(text string) string {
	escaped := url.PathEscape(text)
	if strings.Trim(text, ".") == "" { // "." and ".." would change the path
		escaped = strings.ReplaceAll(text, ".", "%2E")
	}
	return escaped
}

// Answer is a good answer.
type Answer struct {
	Status int
	Body   []byte
	At     time.Time // when it had arrived completely

	date       time.Time // by the service's clock; zero: unspecified
	answeredAt time.Time // when the answer began, by the local clock
	release    func()    // admits the next large body; nil: this one is not large
}

func (a *Answer) done() {
	if a.release != nil {
		a.release()
	}
}
