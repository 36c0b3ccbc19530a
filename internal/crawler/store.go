package crawler

import (
	"context"
	"iter"

	"callhouse/internal/calls"
	"callhouse/internal/crawler/bulk"
	"callhouse/internal/crawler/recordings"
	"callhouse/internal/crawler/resources"
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
	// apart others between them share a place.
	Unsettled(ctx context.Context, from, to, apart int64) ([]calls.Place, error)

	// Between returns the number of known calls with from <= start_at < to, as of the last commit.
	Between(ctx context.Context, from, to int64) (int64, error)
}

// dueCounter is a Store that can count the details due as of the last commit. Progress then
// includes how many are left.
type dueCounter interface {
	DueCount(scope calls.DueScope) int64
}

// kindCounter is a Store that can count which kinds of calls had transcripts in their records.
type kindCounter interface {
	Kinds(ctx context.Context) (calls.Kinds, error)
}

// restStore is a Store that remembers which operations were given up.
type restStore interface {
	// Resting returns the time until which an operation rests, as of the last commit. If it does
	// not rest, only the name is set.
	Resting(of string) schema.Rest
}

// ObjectStore is a Store that also stores objects of resources.
type ObjectStore interface {
	Store
	resources.Store
}

// BulkStore is a Store that also accepts transcripts from pages of v2.
type BulkStore interface {
	Store
	bulk.Store
}

// RecordingStore is a Store that keeps the state of recordings.
type RecordingStore interface {
	Store
	recordings.Store
}

// StoreError means that the store failed: no more data can be stored.
type StoreError struct {
	Op  string
	Err error
}

func (e *StoreError) Error() string { return e.Op + ": " + e.Err.Error() }

func (e *StoreError) Unwrap() error { return e.Err }
