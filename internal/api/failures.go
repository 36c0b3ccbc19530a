// Package api sends requests to the service, one at a time or many at once, whatever they request.
//
// Requests are the scarce resource. Every attempt, including retries, passes one budget
// (budget.go), which never lets the service count more requests than its limits. Every failure is
// looked up in one table (failures.go), which decides whether to retry and what follows.
//
// docs/design/crawler.md has the budget's proof.
package api

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Then is the consequence of a failure that is not retried.
type Then uint8

// Consequences. EndList and Simplify apply to pages, SetAside and Missing to records.
const (
	_           Then = iota
	SetAside         // report it and continue; the next run tries again
	Missing          // the object is listed and has no record
	EndList          // leave the rest of the list to the next run
	Simplify         // request with fewer parameters; else EndList
	stopAddress      // stop the run, *AddressError; or EndList, if there was a good answer before
	stopKey          // stop the run: *AuthError
	askList          // stopKey if the list is refused too, else SetAside
)

// rule is the handling of a kind of failed attempt. Every attempt is charged to the budget, whatever
// its kind.
type rule struct {
	name     string // empty: its status names it
	statuses []int  // its statuses; for all others see ruleOf
	// Of two values, the first is for pages, the second for records.
	tries [2]int // attempts in all; always: without limit, since the request is not at fault
	then  [2]Then
	// pause is the wait before the second attempt: see pauses. It holds no slot of the budget.
	pause time.Duration
	// outage: the whole service may be down. Attempts that fail during an outage do not count
	// against the request: see health.go.
	outage bool
	cursor bool // of a page reached by a cursor: the service may have dropped the cursor
	// stray: which of these answers may come from elsewhere, such as a gateway, if the service has
	// accepted the key before. Such an answer is requested again once, after the pause, and does not
	// count as an attempt.
	stray origin
	// budget reports the failure to the budget, with the wait that the service asks for (0: unspecified). It
	// returns how long all requests are held back. nil: the wait is only this request's.
	budget func(b *budget, t *ticket, retryAfter time.Duration) time.Duration
	count  func(*Counts) *int64 // its counter, in addition to that of its status
}

const always = 0

// origin is where an answer may come from.
type origin uint8

const (
	_       origin = iota // the service
	foreign               // elsewhere, if it is not in the contract's form
	unclear               // elsewhere, whatever its form
)

// strayPause is the pause before a stray answer's request is repeated.
const strayPause = 2 * time.Second

// The table of failures. Two rules override it. If there was never an answer, the run soon stops
// (*UnreachableError, *CertificateError). If there is no good answer for a long time, it stops too
// (*ServiceDownError).
var (
	badRequest = &rule{name: "400 bad request", statuses: []int{400}, tries: [2]int{1, 1}, then: [2]Then{Simplify, SetAside}, cursor: true,
		stray: foreign}
	unauthorized = &rule{name: "401 unauthorized", statuses: []int{401}, tries: [2]int{1, 1}, then: [2]Then{stopKey, askList},
		stray: unclear}
	forbidden = &rule{name: "403 forbidden", statuses: []int{403}, tries: [2]int{1, 1}, then: [2]Then{stopKey, askList},
		stray: unclear, budget: hold(0)} // some services limit requests with it
	notFound = &rule{name: "404 not found", statuses: []int{404}, tries: [2]int{1, 1}, then: [2]Then{stopAddress, Missing}, cursor: true,
		stray: foreign}
	conflict = &rule{name: "409 conflict", statuses: []int{409}, tries: [2]int{5, 3}, then: [2]Then{EndList, SetAside},
		pause: 2 * time.Second}
	cursorGone = &rule{statuses: []int{410}, tries: [2]int{1, 1}, then: [2]Then{stopAddress, SetAside}, cursor: true,
		stray: foreign}
	rateLimited = &rule{name: "429 rate limited", statuses: []int{429}, tries: [2]int{always, always},
		budget: (*budget).limited, count: limited}
	serverError = &rule{name: "500 server error", tries: [2]int{8, 4}, then: [2]Then{EndList, SetAside}, pause: time.Second, outage: true,
		budget: hold(0)}
	unavailable = &rule{statuses: []int{502, 503, 504}, tries: [2]int{8, 5}, then: [2]Then{EndList, SetAside}, pause: 2 * time.Second,
		outage: true, budget: hold(0)}
	redirected   = &rule{tries: [2]int{1, 1}, then: [2]Then{stopAddress, SetAside}, stray: unclear, outage: true}
	refusedValue = &rule{statuses: []int{422}, tries: [2]int{1, 1}, then: [2]Then{stopAddress, SetAside}, stray: foreign}
	// 201 to 299, and 4xx without a rule.
	otherStatus = &rule{tries: [2]int{1, 1}, then: [2]Then{stopAddress, SetAside}, stray: unclear, outage: true}
	timedOut    = &rule{name: "no answer in time", statuses: []int{408}, tries: [2]int{6, 3}, then: [2]Then{EndList, SetAside},
		pause: time.Second, outage: true, count: network}
	noConnection = &rule{name: "no connection, or lost", tries: [2]int{8, 4}, then: [2]Then{EndList, SetAside}, pause: time.Second,
		outage: true, count: network}
	untrusted = &rule{name: "certificate not trusted", tries: [2]int{1, 1}, then: [2]Then{EndList, SetAside}, count: network}
	cutShort  = &rule{name: "body cut short", tries: [2]int{6, 4}, then: [2]Then{EndList, SetAside}, pause: time.Second, outage: true,
		count: network}
	wrongBody = &rule{name: "200 with a wrong body", tries: [2]int{5, 4}, then: [2]Then{stopAddress, SetAside},
		pause: time.Second, count: wrong}
	broken = &rule{name: "200 with a broken page", tries: [2]int{5, 4}, then: [2]Then{EndList, SetAside},
		pause: time.Second, count: wrong}
	tooLarge = &rule{name: "body too large", tries: [2]int{1, 1}, then: [2]Then{EndList, SetAside}, count: wrong}
	canceled = &rule{name: "canceled", tries: [2]int{1, 1}}
	spent    = &rule{name: "given up", tries: [2]int{1, 1}, then: [2]Then{EndList, SetAside}}
)

// rules is the table.
var rules = []*rule{badRequest, unauthorized, forbidden, notFound, conflict, cursorGone, rateLimited, serverError, unavailable,
	redirected, refusedValue, otherStatus, timedOut, noConnection, untrusted, cutShort, wrongBody, broken, tooLarge, canceled, spent}

func limited(n *Counts) *int64 { return &n.RateLimited }
func network(n *Counts) *int64 { return &n.NetworkErrors }
func wrong(n *Counts) *int64   { return &n.WrongBodies }

// hold holds all requests back for as long as the service asks, and at least for least.
func hold(least time.Duration) func(*budget, *ticket, time.Duration) time.Duration {
	return func(b *budget, _ *ticket, retryAfter time.Duration) time.Duration {
		wait := max(retryAfter, least)
		b.hold(wait)
		return wait
	}
}

// attempts returns the number of attempts for a request of this kind.
func (r *rule) attempts(k Kind) int {
	switch k {
	case Page:
		return r.tries[0]
	case Bulk: // a smaller one is tried afterwards
		return min(r.tries[1], 1)
	}
	return r.tries[1]
}

func (r *rule) after(k Kind) Then {
	if k.deferrable() {
		return r.then[1]
	}
	return r.then[0]
}

// maxPause is the longest pause after a failure for which the service specifies no wait.
const maxPause = time.Minute

// pauses returns the pauses after successive failures: each is about twice the previous one.
func pauses(first time.Duration) backoff.BackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.Multiplier, b.MaxInterval = first, 2, maxPause
	return b
}

// RequestError is an attempt without a good answer.
type RequestError struct {
	Then       Then     // the consequence
	Status     int      // 0: none
	Allowed    []string // the query parameters that the service lists as known
	CursorLost bool     // of a page reached by a cursor: the service may have dropped the cursor
	Err        error

	rule     *rule
	code     string        // the service's error code
	message  string        // and message, shortened
	contract bool          // the body was the contract's error envelope
	target   string        // target of a redirect
	limit    int           // for a body that is too large
	wait     time.Duration // that the service asks for; 0: unspecified
	until    time.Time     // when it ends, by the service's clock
}

// Class names the kind of failure in our own words. Unlike Error it repeats nothing from the
// service, whose text may name a call or a person.
func (f *RequestError) Class() string {
	if inner, ok := errors.AsType[*RequestError](f.Err); ok && f.rule == spent {
		return inner.Class()
	}
	if own, ok := errors.AsType[ownWordsError](f.Err); ok {
		return string(own)
	}
	switch name := f.rule.name; {
	case f.TooLarge():
		return fmt.Sprintf("body over %d MiB", f.limit>>20)
	case name == "":
		return fmt.Sprintf("status %d", f.Status)
	default:
		return name
	}
}

// ownWordsError is the reason why a stream ended, without any text from the service.
type ownWordsError string

func (w ownWordsError) Error() string { return string(w) }

func (f *RequestError) Error() string {
	if own, ok := errors.AsType[ownWordsError](f.Err); ok {
		return string(own)
	}
	s := f.Class() + codeText(f.code, f.message)
	if f.Err != nil {
		s += ": " + f.Err.Error()
	}
	return s
}

func (f *RequestError) Unwrap() error { return f.Err }

// Canceled reports whether the attempt ended because its context did.
func (f *RequestError) Canceled() bool { return f.rule == canceled }

// Wait returns how long the service asks to wait; 0: unspecified.
func (f *RequestError) Wait() time.Duration { return f.wait }

// pause is Wait by a clock that may run faster than the service's.
func (f *RequestError) pause() time.Duration {
	if f.wait == 0 {
		return 0
	}
	return f.wait + margin(f.wait)
}

// TooLarge reports whether the body was larger than the limit.
func (f *RequestError) TooLarge() bool { return f.rule == tooLarge }

// ErrBroken is the error of a page of a list that is not valid JSON.
var ErrBroken = errors.New("the page is not valid JSON")

// ruleOf returns the rule of an unsuccessful status.
func (c *Client) ruleOf(status int) *rule {
	for _, r := range rules {
		if slices.Contains(r.statuses, status) {
			return r
		}
	}
	switch status / 100 {
	case 3:
		return redirected
	case 5:
		return serverError
	}
	return otherStatus
}

// ruleOfError returns the rule of an attempt that ended without a complete answer. began reports
// whether an answer had begun.
func ruleOfError(err error, began bool) *rule {
	var cert *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	var record tls.RecordHeaderError
	var network net.Error
	switch {
	case errors.Is(err, errTimeout), errors.Is(err, context.DeadlineExceeded):
		return timedOut
	case errors.As(err, &cert), errors.As(err, &authority), errors.As(err, &record), errors.Is(err, http.ErrSchemeMismatch):
		return untrusted
	case errors.As(err, &network) && network.Timeout():
		return timedOut
	case began, errors.Is(err, io.ErrUnexpectedEOF):
		return cutShort
	}
	return noConnection
}
