package crawler

import (
	"context"
	"iter"

	"callhouse/internal/calls"
	"callhouse/internal/crawler/resources"
	"callhouse/internal/schema"
)

// Store keeps calls. It is all that the crawler knows of a warehouse.
type Store interface {
	// Put keeps records, in this order. It returns once they are durable, or were
	// there before. It is safe for concurrent use.
	Put(ctx context.Context, recs ...schema.Record) error

	// Checkpoint says that this is a good moment to commit what was put. With wait
	// it returns when everything put before is committed; without, it may commit in
	// the background or not at all.
	Checkpoint(ctx context.Context, wait bool) error

	// Due yields the calls whose detail is to be fetched as of the last commit,
	// newest start first, those without a start before all others.
	Due(ctx context.Context, scope calls.DueScope) iter.Seq2[calls.Due, error]

	// Coverage returns the spans of start_at that have been listed completely,
	// ascending and disjoint.
	Coverage() []schema.Span

	// Unsettled returns where the calls lie that are neither settled nor expired and
	// started at from or later, but before to, as of the last commit: newest first. Calls
	// between which there are fewer than apart others are in one place.
	Unsettled(ctx context.Context, from, to, apart int64) ([]calls.Place, error)
}

// dueCounter is a Store that also knows how many details are due as of the last
// commit. Then Progress says how much is left.
type dueCounter interface {
	DueCount(scope calls.DueScope) int64
}

// kindCounter is a Store that knows which kinds of calls had transcripts in their records.
type kindCounter interface {
	Kinds(ctx context.Context) (calls.Kinds, error)
}

// restStore is a Store that remembers which operations were given up.
type restStore interface {
	// Resting returns until when an operation is left alone, as of the last commit; the zero
	// value but for its name: it is not.
	Resting(of string) schema.Rest
}

// ObjectStore is a Store that also keeps objects of resources.
type ObjectStore interface {
	Store
	resources.Store
}

// BulkStore is a Store that also takes transcripts from pages of v2.
type BulkStore interface {
	Store

	// Bulk returns what is known of these pages as of the last commit.
	Bulk() schema.Bulk

	// Unlisted leaves of the ids those of calls that no list of v3 has named: they are not
	// among the calls that started from from to to, both included, as of the last commit,
	// nor among those that were forgotten.
	Unlisted(ctx context.Context, from, to int64, ids map[string]bool) error
}

// StoreError says that the store failed: nothing more can be kept.
type StoreError struct {
	Op  string
	Err error
}

func (e *StoreError) Error() string { return e.Op + ": " + e.Err.Error() }

func (e *StoreError) Unwrap() error { return e.Err }
