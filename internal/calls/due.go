package calls

import "callhouse/internal/schema"

// DueScope says which calls' details a run is to fetch.
type DueScope uint8

const (
	// DueTranscripts are the calls that are over and may have a transcript which
	// was not fetched yet: see [Call.DetailDue].
	DueTranscripts DueScope = iota
	// DueUnsettled are these, and the calls which are not settled and of which
	// this run has fetched nothing: for a service whose list does not tell what is
	// filled in later.
	DueUnsettled
)

// Due is a call whose detail is to be fetched.
type Due struct {
	CallID  string
	StartAt schema.Opt[int64]
	// Rank is how many of the known calls started later: two that lie n apart are on one
	// page of n+1 calls.
	Rank int64
}

// Place is a part of the list: the calls with From <= start_at < To.
type Place struct {
	From, To int64 // ms since 1970 UTC
	Calls    int64 // that are known there
}
