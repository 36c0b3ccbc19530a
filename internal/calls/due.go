package calls

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"time"

	"callhouse/internal/schema"
)

// DueScope selects the calls whose details a run fetches.
type DueScope uint8

const (
	// DueTranscripts are the calls that are over and may have a transcript not yet fetched: see
	// [Call.DetailDue].
	DueTranscripts DueScope = iota
	// DueUnsettled are these, and all calls that are neither settled nor expired: for a service
	// whose list lacks the fields filled in later.
	DueUnsettled
	// DueWaiting are those of [DueTranscripts] that wait for a transcript or whose record is missing,
	// for a process that follows the service: it requests their records again sooner.
	DueWaiting
	// DueAll are those of [DueTranscripts], and all calls whose record was requested in vain, even if
	// that is final.
	DueAll
)

// Due is a call whose detail must be fetched.
type Due struct {
	CallID  string
	StartAt schema.Opt[int64]
	// Kind decides whether the record is worth a request: see [Kinds].
	Kind Kind
	// AskAt is when it became due, in ms, if its record was requested before, in vain.
	AskAt int64
	// Again is set if its record was requested before and probably has no transcript.
	Again bool
	// Changed is set if its transcript is known, but the list shows another state of the call since.
	Changed bool
	// Final is when an answer about the record becomes final, in ms: see [Call.FinalAt].
	Final int64
	// Settles is set if the record is needed only for the analysis and the cost.
	Settles bool
	// Rank is the number of known calls that started later: two calls whose ranks differ by n are
	// on one page of n+1 calls.
	Rank int64
}

// Asking decides which calls' records are due, both for a run that fetches them and for a plan that
// counts them.
type Asking struct {
	Scope DueScope
	Now   int64 // ms since 1970 UTC
	Kinds Kinds // nil: no call was skipped
}

// Due reports whether the record of a stored call is due, and why. It does not set Rank.
func (a *Asking) Due(c *Call) (due Due, ok bool) {
	due = Due{CallID: string(c.ID()), StartAt: c.StartAt(), Kind: c.Kind(), Final: c.FinalAt()}
	switch {
	case c.TranscriptState() == Skipped && !a.Kinds.NoTranscripts(due.Kind):
	case c.Waits() && c.AskAt(a.Scope) <= a.Now:
		due.AskAt, due.Changed = c.AskAt(a.Scope), c.TranscriptState() == Changed
	case a.Scope == DueUnsettled && c.Unsettled() && c.ExpiresAt() > a.Now:
		due.Settles = true
	case c.Unsure() && c.AskAt(a.Scope) <= a.Now && (a.Scope != DueWaiting || c.TranscriptState() == Missing):
		due.AskAt, due.Again = c.AskAt(a.Scope), true
	case a.Scope == DueAll && c.TranscriptState() != Pending && c.withoutTurns() && c.CanHaveTranscript():
		due.Again = true
	default:
		return Due{}, false
	}
	return due, true
}

// The minimum time after a call's end before its record is requested a second time, if the first
// answer had no transcript. Runs are nightly: firstWait prevents a second request in the same run. A
// process that follows the service requests it sooner.
const (
	firstWait    = 30 * time.Minute
	firstWaiting = time.Minute
)

// AskAt returns when to request the record of a call, in ms since 1970 UTC. That is at once unless
// it was requested in vain. Then it is when the time since the call's end has doubled, and for the
// last time at FinalAt, after which the answer is final.
func (c *Call) AskAt(scope DueScope) int64 {
	if !c.withoutTurns() {
		return 0
	}
	final, end := c.FinalAt(), c.EndOrFirstSeen()
	if c.FetchedAt() >= final {
		return math.MaxInt64
	}
	least := firstWait
	if scope == DueWaiting {
		least = firstWaiting
	}
	return min(end+max(2*(c.FetchedAt()-end), least.Milliseconds()), final)
}

// withoutTurns reports whether the call's record was requested and no turn came of it.
func (c *Call) withoutTurns() bool {
	switch c.TranscriptState() {
	case Missing, Unreadable:
		return true
	}
	return c.TurnCount().OK && c.TurnCount().V == 0
}

// Unsure reports whether the call's record had no transcript, was missing or unreadable, and this
// is not final.
func (c *Call) Unsure() bool {
	switch c.TranscriptState() {
	case Empty, Missing, Unreadable:
		return c.withoutTurns() && c.FetchedAt() < c.FinalAt()
	}
	return false
}

// finalBefore is how long before a call expires an answer about its record is final: nightly runs do
// not begin at the same second.
const finalBefore = time.Hour

// FinalAt returns the time from which an answer about the call's record is final, in ms since 1970
// UTC. Until then the service may still write the record. A record that cannot be read is requested
// for as long after the call was first seen: a broken answer may be chance.
func (c *Call) FinalAt() int64 {
	expires := c.ExpiresAt()
	if c.TranscriptState() == Unreadable {
		expires = max(expires, c.FirstSeenAt()+ExpireAfter.Milliseconds())
	}
	return expires - finalBefore.Milliseconds()
}

// sampled reports whether a call belongs to a sample of one in a hundred. A sample is always the
// same, and differs for each purpose.
func sampled(purpose string, id []byte) bool {
	sum := sha256.Sum256(append([]byte(purpose+" "), id...))
	return binary.BigEndian.Uint64(sum[:])%100 == 0
}

// Place is a part of the list: the calls with From <= start_at < To.
type Place struct {
	From, To int64 // ms since 1970 UTC
	Calls    int64 // number of known calls in it
}
