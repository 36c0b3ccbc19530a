// Package intake joins the crawler with the warehouse: it withholds what must not
// be kept, lets no other organisation's calls in, and decides when to commit.
package intake

import (
	"context"
	"sync"
	"time"

	"callhouse/internal/schema"
	"callhouse/internal/sink"
)

// A long run commits in the background, so that what it has fetched can be read while it
// goes on: after someRecords, or after commitAge if fewer come. But it leaves commitRest
// between commits, and restTimes as long as the last one took, so that commits are about one
// percent of the run. commitRecords and commitBytes limit the size of a commit, whatever that
// costs. If records come faster than commits take them, Put waits at mostRecords.
const (
	someRecords   = 500
	commitAge     = 5 * time.Minute
	commitRest    = time.Minute
	restTimes     = 100
	commitRecords = 10_000
	mostRecords   = 2 * commitRecords
	commitBytes   = 256 << 20
	// OfferEvery is how often a run asks whether to commit.
	OfferEvery = time.Second
)

// Store is the crawler's store: a warehouse.
type Store struct {
	*sink.Warehouse
	Gate *Gate                              // nil: all may come in
	Row  func(sink.Stats, int64) schema.Run // the run's row as of now
	Over func() bool                        // the crawl is over, and the run's own last commit follows
	now  func() time.Time

	mu     sync.Mutex
	last   time.Time     // the end of the last commit
	took   time.Duration // how long it took
	busy   chan struct{} // closed when the commit in the background is over; nil: none
	failed error         // of a commit in the background
}

// New returns the store of a run that begins.
func New(w *sink.Warehouse, now func() time.Time) *Store {
	return &Store{Warehouse: w, now: now, last: now()}
}

// Put implements crawler.Store.
func (s *Store) Put(ctx context.Context, recs ...schema.Record) error {
	for i := range recs {
		if recs[i].Resource != "" || !recs[i].Kind.OfCall() {
			continue
		}
		clean, _, err := s.Clean(recs[i].Body)
		if err != nil {
			return err
		}
		recs[i].Body = clean
	}
	if err := s.Gate.admit(recs); err != nil {
		return err
	}
	if records, _ := s.Uncommitted(); records > mostRecords {
		if err := s.Settle(); err != nil {
			return err
		}
	}
	return s.Warehouse.Put(ctx, recs...)
}

// Checkpoint implements crawler.Store.
func (s *Store) Checkpoint(ctx context.Context, wait bool) error {
	records, bytes := s.Uncommitted()
	if wait {
		if err := s.Settle(); err != nil {
			return err
		}
		if records == 0 || s.Over() {
			return nil
		}
		return s.commit(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed != nil {
		return s.failed
	}
	if s.busy != nil || records == 0 || !s.due(records, bytes) {
		return nil
	}
	// In the background, so that the run goes on sending requests.
	busy := make(chan struct{})
	s.busy = busy
	go func() {
		err := s.commit(context.WithoutCancel(ctx))
		s.mu.Lock()
		s.failed, s.busy = err, nil
		s.mu.Unlock()
		close(busy)
	}()
	return nil
}

// due says whether so much that waits is to be committed now.
func (s *Store) due(records, bytes int64) bool {
	since := s.now().Sub(s.last)
	return records >= commitRecords || bytes >= commitBytes ||
		since >= max(commitRest, restTimes*s.took) && (records >= someRecords || since >= commitAge)
}

// Settle waits for the commit in the background, if there is one.
func (s *Store) Settle() error {
	s.mu.Lock()
	busy := s.busy
	s.mu.Unlock()
	if busy != nil {
		<-busy
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

func (s *Store) commit(ctx context.Context) error {
	begun := s.now()
	err := s.Commit(ctx, s.Row)
	s.mu.Lock()
	s.last = s.now()
	s.took = s.last.Sub(begun)
	s.mu.Unlock()
	return err
}
