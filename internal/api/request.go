package api

import (
	"io"
	"net/url"
	"strings"
	"time"
)

// Kind is what a request asks for. Requests are counted by it, and the table of
// failures treats a list and a record differently.
type Kind uint8

// The kinds of requests.
const (
	Page   Kind = iota // a page of a list
	Part               // a part of a page that could not be had as a whole
	Record             // one thing's own record
	Side               // a page of another list than that of calls; a run can do without it
	Bulk               // a page of whole calls, which can be had one by one as well
)

func (k Kind) String() string {
	return [...]string{"page", "part of a page", "detail", "page of another list", "page of whole calls"}[k]
}

// alone says that nothing else waits for the answer: other requests go on meanwhile, and
// it may be left for another night.
func (k Kind) alone() bool { return k == Record || k == Side || k == Bulk }

// Request is one thing to ask the service for.
type Request struct {
	Method  string // empty: GET
	Path    string // below the base URL, escaped: see Segment
	Query   url.Values
	Body    []byte // JSON; nil: none
	Kind    Kind
	Stream  *Stream // what the request belongs to, if the run can do without it
	MaxBody int     // the largest body of an answer that is kept; 0: MaxBody
	WantEnd bool    // of a larger one the end is wanted all the same: see Answer.Tail
	// Read reads the body of a good answer as it comes; there is no Answer.Body then,
	// and no bound on its size. Its error says what is wrong with the body. It is called
	// for every good answer, also for one that is then cut short.
	Read func(body io.Reader) error
}

// MaxBody is the largest body of an answer that is kept, where a request does
// not say another.
const MaxBody = 8 << 20

// Segment escapes a text for a path. Whatever it holds, it stays one segment.
func Segment(text string) string {
	escaped := url.PathEscape(text)
	if strings.Trim(text, ".") == "" { // "." and ".." would mean another path
		escaped = strings.ReplaceAll(text, ".", "%2E")
	}
	return escaped
}

// Answer is what came of a request: a good answer, whole, or with a failure as
// much of it as arrived.
type Answer struct {
	Status int
	Body   []byte
	Tail   []byte    // its end, also of one that was too large to keep; nil: not known
	At     time.Time // when it had arrived

	date    time.Time // by the service's clock; zero: it does not say
	heard   time.Time // when the answer began, by the local clock
	release func()    // lets the next large body in; nil: this one is not large
}

func (a *Answer) done() {
	if a.release != nil {
		a.release()
	}
}
