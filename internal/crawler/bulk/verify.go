package bulk

import (
	"context"
	"math"
	"time"

	"callhouse/internal/api"
	"callhouse/internal/crawler/streams"
	"callhouse/internal/schema"
)

const (
	// night is the time whose requests Config.Verify is a share of.
	night = 8 * time.Hour
	// verifyRest is how long before the end of the run comparisons stop, so that they do not delay
	// it.
	verifyRest = 5 * time.Second
)

// VerifyStored compares the transcripts that came from v2 in earlier runs with those of v3, which
// replace them, up to the run's limit. If one differs, all are fetched.
func (b *Crawl) VerifyStored(ctx context.Context) error {
	if !b.used {
		b.state = b.Store.Bulk()
	}
	for ctx.Err() == nil {
		wrong := b.wrong()
		n := b.Store.UnverifiedCount()
		if !wrong { // those of this run are left to later ones
			n = max(0, n-b.fresh)
		}
		if n = min(n, b.mostStored(wrong)); n == 0 {
			return nil
		}
		b.Records(n)
		refuted, err := b.verify(ctx, n, wrong)
		if err != nil || wrong || !refuted {
			return err
		}
		if err := b.Commit(ctx); err != nil {
			return err
		}
	}
	return nil
}

// wrong reports whether a transcript of v2 has differed.
func (b *Crawl) wrong() bool { return b.Store.Bulk().State == schema.BulkRefuted }

// verify compares n transcripts. Unless v2 is known to be wrong, it is optional work.
func (b *Crawl) verify(ctx context.Context, n int64, wrong bool) (refuted bool, err error) {
	if wrong {
		return b.compareStored(ctx, b.Store.Unverified(ctx, true), n, api.Backlog, nil, true)
	}
	stream := b.Streams.Of("comparison of v2 with v3", streams.Verify)
	if why := stream.Idle(); why != "" {
		b.Log.Info("transcripts of v2 are not compared", "reason", why)
		return false, nil
	}
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline.Add(-verifyRest))
		defer cancel()
	}
	return b.compareStored(ctx, b.Store.Unverified(ctx, false), n, api.Spare, stream.Stream, false)
}

// mostStored returns the maximum number of stored transcripts that a run compares.
func (b *Crawl) mostStored(wrong bool) int64 {
	switch {
	case wrong || b.Verify > 0 && b.Limit > 0:
		return math.MaxInt64
	case b.Verify > 0:
		return max(1, int64(b.Verify*float64(b.Within(night))))
	}
	return 0
}
