package calls

import (
	"crypto/sha256"
	"encoding/binary"
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
	// DueNulls are all calls of some days ago whose record had no transcript. [DueTranscripts] has
	// only a sample of them: see [Call.Probed].
	DueNulls
	// DueWaiting are those of [DueTranscripts] that wait for a transcript, without probes, for a
	// process that follows the service: it requests their records again sooner.
	DueWaiting
)

// Due is a call whose detail must be fetched.
type Due struct {
	CallID  string
	StartAt schema.Opt[int64]
	// Kind decides whether the record is worth a request: see [Kinds].
	Kind Kind
	// AskAt is when it became due, in ms, if a record without a transcript was fetched before.
	AskAt int64
	// Probe is set if a record without a transcript was taken as final, and this request checks
	// that.
	Probe bool
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
	due = Due{CallID: string(c.ID()), StartAt: c.StartAt(), Kind: c.Kind()}
	switch {
	case c.TranscriptState() == Skipped && !a.Kinds.Barren(due.Kind):
	case c.Waits() && c.AskAt(a.Scope) <= a.Now:
		due.AskAt = c.AskAt(a.Scope)
	case a.Scope == DueUnsettled && c.Unsettled() && c.ExpiresAt() > a.Now:
		due.Settles = true
	case a.Scope != DueWaiting && c.Probed(a.Now, a.Scope == DueNulls):
		due.Probe = true
	default:
		return Due{}, false
	}
	return due, true
}

// The minimum time after a call's end before its record is requested a second time, if it had no
// transcript. Runs are nightly: firstWait prevents a second request in the same run. A process that
// follows the service requests it sooner.
const (
	firstWait    = 30 * time.Minute
	firstWaiting = time.Minute
)

// AskAt returns when to request the record of a due call, in ms since 1970 UTC. That is at once,
// unless the record was fetched before and its transcript may still come. Then it is when the time
// since the call's end has doubled, and for the last time after TranscriptGrace.
func (c *Call) AskAt(scope DueScope) int64 {
	end := c.endKnown()
	if !c.TurnCount().OK || c.TurnCount().V > 0 || !end.OK {
		return 0
	}
	least := firstWait
	if scope == DueWaiting {
		least = firstWaiting
	}
	age := c.FetchedAt() - end.V
	return end.V + min(max(2*age, least.Milliseconds()), TranscriptGrace.Milliseconds())
}

// A record without a transcript that was taken as final is fetched once more when it is probeAfter
// old, for a sample of the calls, and not after probeUntil.
const (
	probeAfter = 72 * time.Hour
	probeUntil = 7 * 24 * time.Hour
)

// ProbedFrom returns the range of starts, from <= start_at < to, for which [Call.Probed] may be
// true at now, in ms since 1970 UTC.
func ProbedFrom(now int64) (from, to int64) {
	return now - (probeUntil + LongestCall).Milliseconds(), now - probeAfter.Milliseconds()
}

// Probed reports whether to fetch the record of a call once more, to check for a transcript that
// arrived after the call was considered to have none. This applies once to a sample of the calls,
// or to all of them.
func (c *Call) Probed(now int64, all bool) bool {
	end := c.endKnown()
	if c.TranscriptState() != Empty || !c.TurnCount().OK || !end.OK {
		return false
	}
	final := end.V + probeAfter.Milliseconds()
	return final <= now && now < end.V+probeUntil.Milliseconds() && (all || c.FetchedAt() < final && sampled("null", c.ID()))
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
