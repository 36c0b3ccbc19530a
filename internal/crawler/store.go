package crawler

import (
	"context"
	"iter"

	"callhouse/internal/calls"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
)

// Store stores calls. It is the crawler's only access to a warehouse.
type Store interface {
	// Put stores records, in this order. It returns once they are durable, or were already stored.
	// It is safe for concurrent use.
	Put(ctx context.Context, recs ...schema.Record) error

	// Checkpoint marks a good moment for a commit. With wait it returns when everything put before
	// is committed; otherwise it may commit in the background or not at all.
	Checkpoint(ctx context.Context, wait bool) error

	// Due yields the calls whose detail is to be fetched as of the last commit,
	// newest start first, those without a start before all others.
	Due(ctx context.Context, scope calls.DueScope) iter.Seq2[calls.Due, error]

	// Coverage returns the spans of start_at that have been listed completely,
	// ascending and disjoint.
	Coverage() []schema.Span

	// Unsettled returns the places of the calls that are neither settled nor expired and started at
	// from or later, but before to, as of the last commit: newest first. Calls with fewer than
	// spacing others between them share a place.
	Unsettled(ctx context.Context, from, to, spacing int64) ([]calls.Place, error)

	// Between returns the number of known calls with from <= start_at < to, as of the last commit.
	Between(ctx context.Context, from, to int64) (int64, error)

	// DueCount returns the maximum number of calls that Due yields.
	DueCount(scope calls.DueScope) int64

	// Kinds counts which kinds of calls had transcripts in their records.
	Kinds(ctx context.Context) (calls.Kinds, error)

	// Bulk returns the state of the pages of v2 as of the last commit.
	Bulk() schema.Bulk

	// FromBulk yields the calls whose transcript came from v2 and was not replaced by v3's, as of
	// the last commit, newest period first.
	FromBulk(ctx context.Context) iter.Seq2[calls.Due, error]

	// RecordingsDue yields the calls whose recording is due as of the last commit, newest period
	// first.
	RecordingsDue(ctx context.Context) iter.Seq2[calls.Recording, error]

	// Committed identifies the last commit.
	Committed() int64

	// Listed returns when the list of a resource was last complete, in ms since 1970 UTC, as of the
	// last commit; 0: never.
	Listed(of *resource.Resource) int64

	// Objects returns the number of known objects of a resource as of the last commit, including
	// those that no longer exist.
	Objects(of *resource.Resource) int64

	// Incomplete yields the keys of the objects whose own record and lists are to be fetched, as of
	// the last commit: those that changed since these were fetched, and those for which due returns
	// true for one of their lists. due receives when the list was last complete, in ms since 1970
	// UTC; 0: never.
	Incomplete(ctx context.Context, of *resource.Resource, due func(list *resource.Resource, listed int64) bool) iter.Seq2[string, error]
}

// StoreError means that the store failed: no more data can be stored.
type StoreError struct {
	Op  string
	Err error
}

func (e *StoreError) Error() string { return e.Op + ": " + e.Err.Error() }

func (e *StoreError) Unwrap() error { return e.Err }
