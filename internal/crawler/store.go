package crawler

import (
	"context"
	"iter"

	"callhouse/internal/schema"
)

// Store is where calls are kept, as far as the crawler needs to know.
type Store interface {
	// Put hands over records, in this order. It returns once they are durable, or
	// are no news. It is safe for concurrent use.
	Put(ctx context.Context, recs ...schema.Record) error

	// Checkpoint says that this is a good moment to commit what was put. With wait
	// it returns when everything put before is committed; without, it may commit in
	// the background or not at all.
	Checkpoint(ctx context.Context, wait bool) error

	// Due yields the calls whose detail is to be fetched as of the last commit,
	// newest start first, those without a start before all others.
	Due(ctx context.Context, scope schema.DueScope) iter.Seq2[schema.Due, error]

	// Coverage returns the spans of start_at that have been listed completely,
	// ascending and disjoint.
	Coverage() []schema.Span

	// OldestUnsettled returns the lowest start_at among the calls that are neither
	// settled nor expired; ok is false where there are none.
	OldestUnsettled() (ms int64, ok bool)
}

// A Store may also know how many details are due as of the last commit; then
// Progress can say how much is left.
type dueCounter interface {
	DueCount(scope schema.DueScope) int64
}
