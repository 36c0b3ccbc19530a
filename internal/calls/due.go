package calls

import (
	"crypto/sha256"
	"encoding/binary"
	"time"

	"callhouse/internal/schema"
)

// DueScope says which calls' details a run is to fetch.
type DueScope uint8

const (
	// DueTranscripts are the calls that are over and may have a transcript which
	// was not fetched yet: see [Call.DetailDue].
	DueTranscripts DueScope = iota
	// DueUnsettled are these, and all calls that are neither settled nor expired: for a
	// service whose list does not carry what is filled in later.
	DueUnsettled
	// DueNulls are the calls of some days ago whose record had no transcript, all of which
	// [DueTranscripts] takes a sample: see [Call.Probed].
	DueNulls
)

// Due is a call whose detail is to be fetched.
type Due struct {
	CallID  string
	StartAt schema.Opt[int64]
	// Kind is what tells whether its record is worth a request: see [Kinds].
	Kind Kind
	// Probe says that a record without a transcript was taken for final, and that this is to
	// show whether that was right.
	Probe bool
	// Settles says that the record is wanted for the analysis and the cost alone.
	Settles bool
	// Rank is how many of the known calls started later: two that lie n apart are on one
	// page of n+1 calls.
	Rank int64
}

// Asking decides which calls' records are due: for a run that fetches them and for a plan
// that counts them.
type Asking struct {
	Scope DueScope
	Now   int64 // ms since 1970 UTC
	Kinds Kinds // nil: no call was skipped
}

// Due returns whether the record of a stored call is due, and why. Rank is left to the caller.
func (a *Asking) Due(c *Call) (due Due, ok bool) {
	due = Due{CallID: string(c.ID()), StartAt: c.StartAt(), Kind: c.Kind()}
	switch {
	case c.TranscriptState() == Skipped && !a.Kinds.Barren(due.Kind):
	case c.Waits() && c.AskAt() <= a.Now:
	case a.Scope == DueUnsettled && c.Unsettled() && c.ExpiresAt() > a.Now:
		due.Settles = true
	case c.Probed(a.Now, a.Scope == DueNulls):
		due.Probe = true
	default:
		return Due{}, false
	}
	return due, true
}

// firstWait is how long after a call's end its record is asked for a second time at the
// earliest, if it had no transcript yet.
const firstWait = 30 * time.Minute

// AskAt returns when the record of a call that is due is to be asked for, in ms since 1970
// UTC: at once, unless it was fetched, and its transcript may still be on its way. Then it is
// when twice as much time has passed since the call's end, and for the last time after
// TranscriptGrace.
func (c *Call) AskAt() int64 {
	end := c.endKnown()
	if !c.TurnCount().OK || c.TurnCount().V > 0 || !end.OK {
		return 0
	}
	age := c.FetchedAt() - end.V
	return end.V + min(max(2*age, firstWait.Milliseconds()), TranscriptGrace.Milliseconds())
}

// A record that had no transcript, which was taken for final, is looked at once more when
// it is probeAfter old, for a sample of the calls, and not after probeUntil.
const (
	probeAfter = 72 * time.Hour
	probeUntil = 7 * 24 * time.Hour
)

// ProbedFrom returns from when on a call may have started that [Call.Probed] is true of at
// a time, and before when, in ms since 1970 UTC.
func ProbedFrom(now int64) (from, to int64) {
	return now - (probeUntil + LongestCall).Milliseconds(), now - probeAfter.Milliseconds()
}

// Probed says whether the record of a call is to be fetched once more, to see whether a
// transcript came after it was taken for final that there is none: of a sample of the calls
// once, or of all of them.
func (c *Call) Probed(now int64, all bool) bool {
	end := c.endKnown()
	if c.TranscriptState() != Empty || !c.TurnCount().OK || !end.OK {
		return false
	}
	final := end.V + probeAfter.Milliseconds()
	return final <= now && now < end.V+probeUntil.Milliseconds() && (all || c.FetchedAt() < final && sampled("null", c.ID()))
}

// sampled says whether a call belongs to a sample of one in a hundred. It is the same
// sample every time, and another for each purpose.
func sampled(purpose string, id []byte) bool {
	sum := sha256.Sum256(append([]byte(purpose+" "), id...))
	return binary.BigEndian.Uint64(sum[:])%100 == 0
}

// Place is a part of the list: the calls with From <= start_at < To.
type Place struct {
	From, To int64 // ms since 1970 UTC
	Calls    int64 // that are known there
}
