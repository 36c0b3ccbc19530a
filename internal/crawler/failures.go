package crawler

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// class is a kind of failed attempt.
type class uint8

const (
	badRequest class = iota
	unauthorized
	forbidden
	notFound
	conflict
	rateLimited
	serverError
	unavailable
	redirected
	otherStatus
	timedOut
	noConnection
	untrusted
	cutShort
	wrongBody
	broken
	tooLarge
	canceled
	classes
)

// after is what a failure that is not tried again leads to.
type after uint8

const (
	_        after = iota
	setAside       // a detail: report the call and go on; the next run tries again
	gone           // a detail: the call is listed and has no record, if the service says so in its own words
	endList        // a page: leave the rest of the list to the next run, go on with the details
	narrow         // a page: ask with a smaller limit; one item alone is set aside; see narrow.go
	goAround       // a page: ask with fewer parameters, or from where we are without the cursor; else endList
	badBase        // a page: stop the run, *AddressError; or endList, where the list did answer before
	badKey         // stop the run: *AuthError
	askAgain       // a detail: badKey if the list is refused too, or else setAside
)

// rule is what to do about a class of failure. Every attempt is charged to the
// budget, whatever its class.
type rule struct {
	name     string
	statuses []int // the answers of this class; for those that none names see classOf
	// pages and details are how many attempts a request of that kind gets before
	// what follows; always: as many as it takes, since the request is not at fault.
	pages, details int
	// first is the wait before the second attempt; it doubles up to a minute, with
	// jitter. No wait holds a slot of the budget.
	first            time.Duration
	ofPage, ofDetail after
	// outage: it may be the whole service that is down. Attempts that fail while
	// it is are not held against the request: see outage.go.
	outage bool
	// budget is what the budget learns of it, and of how long the service asks to
	// wait (0: it does not say); nil: nothing.
	budget func(b *budget, t ticket, wait time.Duration)
}

const always = 0

// rules is the one table of failures; docs/crawler.md has it in words. Two things
// stand above it: where nothing ever answered, the run soon stops
// (*UnreachableError), and where nothing answers well for long, it stops too
// (*ServiceDownError).
var rules = [classes]rule{
	badRequest:   {"400 bad request", []int{400}, 1, 1, 0, goAround, setAside, false, nil},
	unauthorized: {"401 unauthorized", []int{401}, 1, 1, 0, badKey, badKey, false, nil},
	forbidden:    {"403 forbidden", []int{403}, 1, 1, 0, badKey, askAgain, false, nil},
	notFound:     {"404 not found", []int{404}, 1, 1, 0, badBase, gone, false, nil},
	conflict:     {"409 conflict", []int{409}, 5, 3, 2 * time.Second, endList, setAside, false, nil},
	rateLimited:  {"429 rate limited", []int{429}, always, always, 0, 0, 0, false, (*budget).limited},
	serverError:  {"500 server error", nil, 8, 4, time.Second, narrow, setAside, true, nil},
	unavailable:  {"502, 503 or 504 unavailable", []int{502, 503, 504}, 8, 5, 2 * time.Second, endList, setAside, true, holdFor},
	redirected:   {"3xx redirect", nil, 1, 1, 0, badBase, setAside, false, nil},
	otherStatus:  {"unknown status", nil, 1, 1, 0, badBase, setAside, false, nil},
	timedOut:     {"no answer in time", []int{408}, 6, 3, time.Second, narrow, setAside, true, nil},
	noConnection: {"no connection, or lost", nil, 8, 4, time.Second, endList, setAside, true, nil},
	untrusted:    {"certificate not trusted", nil, 1, 1, 0, endList, setAside, false, nil},
	cutShort:     {"body cut short", nil, 6, 4, time.Second, narrow, setAside, true, nil},
	wrongBody:    {"200 with a wrong body", nil, 5, 4, time.Second, badBase, setAside, false, nil},
	broken:       {"200 with a page that cannot be taken apart", nil, 1, 3, time.Second, narrow, setAside, false, nil},
	tooLarge:     {fmt.Sprintf("body over %d MiB", maxBody>>20), nil, 1, 1, 0, narrow, setAside, false, nil},
	canceled:     {"canceled", nil, 1, 1, 0, 0, 0, false, nil},
}

// holdFor keeps all requests back for as long as the service asks.
func holdFor(b *budget, _ ticket, wait time.Duration) { b.hold(wait) }

// firstContact is how long, and how often, a service is tried that has not
// answered at all: a wrong address should be said soon.
const (
	firstContact      = 15 * time.Second
	firstContactTries = 4
)

// attempts returns how often a request of this kind is tried.
func (r *rule) attempts(k kind) int {
	switch k {
	case page:
		return r.pages
	case part:
		return min(r.pages, partAttempts)
	}
	return r.details
}

func (r *rule) after(k kind) after {
	if k == detail {
		return r.ofDetail
	}
	return r.ofPage
}

// waits returns the waits between the attempts of one request.
func (r *rule) waits() backoff.BackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.Multiplier, b.MaxInterval = r.first, 2, time.Minute
	return b
}

// failure is one attempt that brought no good answer.
type failure struct {
	class   class
	status  int
	code    string   // the service's error code
	message string   // and message, cut short
	allowed []string // the query parameters that it says it knows
	shaped  bool     // the body was the contract's error envelope
	target  string   // where a redirect points
	wait    time.Duration
	err     error

	// Of a page that has its items, and whose body is no good all the same:
	listed bool   // it is one
	sound  int    // so many items came before the trouble
	told   bool   // it tells the next cursor,
	next   string // which is this
}

func (f *failure) Error() string {
	s := rules[f.class].name
	if f.class == otherStatus || f.class == redirected || f.class == unavailable {
		s = fmt.Sprintf("status %d", f.status)
	}
	s += codeText(f.code)
	if f.message != "" {
		s += ": " + f.message
	}
	if f.err != nil {
		s += ": " + f.err.Error()
	}
	return s
}

func (f *failure) Unwrap() error { return f.err }

// classOf returns the class of a status that is not a success.
func classOf(status int) class {
	for c := range rules {
		if slices.Contains(rules[c].statuses, status) {
			return class(c)
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

// classOfError returns the class of an attempt that ended without a whole
// answer; began says that an answer had begun.
func classOfError(err error, began bool) class {
	var cert *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	var record tls.RecordHeaderError
	var network net.Error
	switch {
	case errors.Is(err, errTimeout), errors.Is(err, context.DeadlineExceeded):
		return timedOut
	case errors.As(err, &cert), errors.As(err, &authority), errors.As(err, &record):
		return untrusted
	case errors.As(err, &network) && network.Timeout():
		return timedOut
	case began, errors.Is(err, io.ErrUnexpectedEOF):
		return cutShort
	}
	return noConnection
}
